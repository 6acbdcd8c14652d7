/** One line for each event: what the list of events shows, finds and filters by. */

import type { ContentPart, Event, EventType, Item, SandboxFile, Usage } from "dragoman-client";
import { nameOf } from "../parts/paths";
import { countChanges } from "../state/changeCount";
import { plural, tokensIn } from "../ui/words";

/** What is kept of an event to show its line. */
export interface Row {
  sequence: number;
  time: string;
  type: string;
  source: Event["source"];
  synthetic: boolean;
  summary: string;
}

export interface Filter {
  /** None: all of them. */
  types: ReadonlySet<string>;
  /** All but the pieces of items. */
  withoutDeltas: boolean;
  text: string;
}

export const NO_FILTER: Filter = { types: new Set(), withoutDeltas: false, text: "" };

/** All types, by what they are about. */
export const FAMILIES: readonly (readonly [string, readonly EventType[]])[] = [
  ["session", ["session.started", "session.updated", "session.ended"]],
  ["turn", ["turn.started", "turn.ended"]],
  ["item", ["item.started", "item.delta", "item.completed"]],
  ["permission", ["permission.requested", "permission.resolved"]],
  ["question", ["question.requested", "question.resolved"]],
  ["queue", ["queue.updated"]],
  ["files", ["sandbox.file", "sandbox.file.diff", "file.changed", "turn.diff"]],
  ["trouble", ["error", "agent.unparsed"]],
];

const LONGEST = 240;

const rows = new WeakMap<Event, Row>();

/** The line of an event, the same one as long as the event is the same. */
export function rowOf(event: Event): Row {
  const known = rows.get(event);
  if (known) return known;
  const { sequence, time, type, source, synthetic } = event;
  const row = { sequence, time, type, source, synthetic, summary: oneLine(summaryOf(event)) };
  rows.set(event, row);
  return row;
}

export const isFiltering = (filter: Filter) =>
  filter.types.size > 0 || filter.withoutDeltas || filter.text.trim() !== "";

/** Whether deltas may be among what is looked for. */
export const takesDeltas = ({ types, withoutDeltas }: Filter) =>
  !withoutDeltas && (types.size === 0 || types.has("item.delta"));

/** Whether an event is among those that are looked for. Its whole content is searched. */
export function fits(event: Event, filter: Filter): boolean {
  if (filter.types.size > 0 && !filter.types.has(event.type)) return false;
  if (filter.withoutDeltas && event.type === "item.delta") return false;
  const text = filter.text.trim().toLowerCase();
  if (text === "") return true;
  const { raw: _, ...rest } = event;
  return JSON.stringify(rest).toLowerCase().includes(escaped(text));
}

/** As the text stands in JSON: a quote in it is an escaped one there. */
const escaped = (text: string) => JSON.stringify(text).slice(1, -1);

/** The time of day to the millisecond, where the reader is. */
export function preciseClock(time: string): string {
  const date = new Date(time);
  const two = (value: number) => `${value}`.padStart(2, "0");
  const day = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
  return `${day}.${`${date.getMilliseconds()}`.padStart(3, "0")}`;
}

/** How a type looks. */
export function moodOf(type: string): string {
  if (type === "error" || type === "agent.unparsed") return "bad";
  if (type === "item.delta") return "faint";
  const family = type.split(".")[0] ?? "";
  return { permission: "wait", question: "wait", turn: "run", session: "accent" }[family] ?? "";
}

/** An event in a few words. */
export function summaryOf(event: Event): string {
  switch (event.type) {
    case "session.started":
      return words(fields(event.data.metadata, ["agent", "model", "directory"]));
    case "session.updated":
      return fieldList(event.data);
    case "session.ended":
      return words([event.data.reason, `by ${event.data.terminated_by}`, event.data.message]);
    case "turn.started":
      return event.data.turn_id ?? "";
    case "turn.ended":
      return words([event.data.outcome, event.data.stop_reason, tokens(event.data.usage)]);
    case "item.started":
    case "item.completed":
      return itemSummary(event.data.item);
    case "item.delta":
      return `${event.data.content_type ?? "text"}: ${event.data.delta}`;
    case "error":
      return words([event.data.code, event.data.message]);
    case "agent.unparsed":
      return words([event.data.location, event.data.error]);
    case "permission.requested":
      return words([event.data.action, ...fields(event.data.metadata, ["command", "path"])]);
    case "permission.resolved":
      return words([event.data.action, event.data.status, by(event.data.approver)]);
    case "question.requested":
      return event.data.prompt;
    case "question.resolved":
      return words([event.data.prompt, event.data.status, event.data.response]);
    case "queue.updated":
      return `${event.data.messages.length} waiting`;
    case "sandbox.file":
      return fileSummary(event.data);
    case "sandbox.file.diff":
      return words([nameOf(event.data.path), diffSummary(event.data)]);
    case "file.changed":
    case "turn.diff":
      return words([diffSummary(event.data), event.data.truncated && "not all of it"]);
    default:
      // A type that is not known here yet.
      return JSON.stringify((event as { data?: unknown }).data ?? null);
  }
}

function fileSummary({ type, path, count }: SandboxFile): string {
  if (count !== undefined) return `${type} ${plural(count, "file")} in ${path}`;
  // The name first: of a long path one would see the folder only.
  return `${type} ${nameOf(path)} in ${path.slice(0, -nameOf(path).length)}`;
}

function diffSummary(data: { diff: string }): string {
  const { files, additions, deletions } = countChanges(data);
  return `${plural(files, "file")}, +${additions} −${deletions}`;
}

function itemSummary(item: Item): string {
  const failed = item.status === "failed" ? words(["failed", item.reason], ", ") : null;
  const whose = item.kind === "message" ? (item.role ?? item.kind) : item.kind;
  const what = words([failed && `(${failed})`, ...item.content.map(partSummary)], " ");
  return words([whose, what], ": ");
}

function partSummary(part: ContentPart): string {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text;
    case "json":
      return JSON.stringify(part.json);
    case "tool_call":
      return `${part.name} ${part.arguments}`;
    case "tool_result":
      return part.output;
    case "file_ref":
      return `${part.action} ${part.path}`;
    case "image":
      return part.path;
    case "status":
      return words([part.label, part.detail]);
    default:
      return JSON.stringify(part);
  }
}

function tokens(usage: Usage | undefined) {
  return usage && `${tokensIn(usage)} in, ${usage.output_tokens ?? 0} out`;
}

function by(approver: { token?: string | null; rule?: string } | undefined) {
  return approver && `by ${approver.rule ?? approver.token ?? "nobody"}`;
}

function fields(value: unknown, names: readonly string[]): (string | null)[] {
  const found = (value ?? {}) as Record<string, unknown>;
  return names.map((name) => (typeof found[name] === "string" ? found[name] : null));
}

function fieldList(data: object): string {
  return Object.entries(data)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}

function words(parts: readonly (string | false | null | undefined)[], between = " · "): string {
  return parts.filter(Boolean).join(between);
}

function oneLine(text: string): string {
  const cut = text.slice(0, LONGEST).replace(/\s+/g, " ").trim();
  return text.length > LONGEST ? `${cut}…` : cut;
}
