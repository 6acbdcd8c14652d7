/** What is to be known about a line before it is drawn. */

import type { ContentPart, Item } from "dragoman-client";
import { isRecord } from "../parts/steps";
import { shortPath } from "../sessions/paths";
import type { Entry, ToolEntry, View } from "../state/fold";

export type ToolState =
  | "running"
  | "waiting"
  | "done"
  | "failed"
  | "refused"
  | "cut off"
  | "runs on";

/** Some agents send messages that hold nothing but the calls that follow them. */
export function isShown(entry: Entry | undefined): entry is Entry {
  if (entry?.kind !== "item" || entry.item.kind !== "message") return entry !== undefined;
  return entry.item.content.some((part) => part.type !== "text" || part.text.trim() !== "");
}

/** A line and all lines below it are the same in both views. */
export function isSame(entry: Entry | undefined, one: View, other: View): boolean {
  if (entry?.kind !== "tool") return true;
  return [...entry.children, ...entry.requests].every((key) => {
    const before = one.entries.get(key);
    return before === other.entries.get(key) && isSame(before, one, other);
  });
}

const CUT_OFF = ["interrupted", "turn_end", "process_exit", "session_end", "restart"];

export function toolState(entry: ToolEntry, view: View): ToolState {
  const { call, result, requests } = entry;
  const asks = requests.map((key) => view.entries.get(key));
  if (asks.some((ask) => ask?.kind === "permission" && ask.resolved === null)) return "waiting";
  if (result === null || result.status === "in_progress") {
    return call?.status === "failed" ? "failed" : "running";
  }
  if (result.reason === "declined") return "refused";
  // Its turn ended before it did, which is no failure.
  if (result.reason === "runs on") return "runs on";
  if (result.status === "failed" && CUT_OFF.includes(result.reason ?? "")) return "cut off";
  return result.status === "failed" || (result.exit_code ?? 0) !== 0 ? "failed" : "done";
}

type PartOf<T extends ContentPart["type"]> = Extract<ContentPart, { type: T }>;

export function partOf<T extends ContentPart["type"]>(
  item: Item | null,
  type: T,
): PartOf<T> | undefined {
  return item?.content.find((part): part is PartOf<T> => part.type === type);
}

/** The arguments of a call as a value, as soon as they are complete. */
export function argumentsOf(call: Item | null): Record<string, unknown> | null {
  const part = partOf(call, "tool_call");
  if (!part) return null;
  try {
    const value: unknown = JSON.parse(part.arguments);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

const PATHS = ["file_path", "filePath", "path", "notebook_path"];
const TELLING = ["query", "pattern", "url", "prompt", "skill", "description"];
const SHELL = /^(?:\S*\/)?(?:ba|z|da)?sh -l?c (['"])([\s\S]*)\1$/;

export interface Summary {
  text: string;
  /** Words of a machine, not for people. */
  isCode: boolean;
}

/** What a call is about, in one line. */
export function summaryOf(call: Item | null): Summary {
  if (!call) return { text: "It began before what is shown here.", isCode: false };
  if (call.title) return { text: call.title, isCode: false };
  if (call.command) return { text: SHELL.exec(call.command)?.[2] ?? call.command, isCode: true };
  const given = argumentsOf(call);
  const paths = pathsOf(given);
  if (paths.length > 0) return { text: paths.map(shortPath).join(", "), isCode: true };
  const telling = firstText(given, TELLING);
  if (telling !== null) return { text: telling, isCode: false };
  const text = partOf(call, "tool_call")?.arguments ?? "";
  return { text: text === "{}" ? "" : text.slice(0, 200), isCode: true };
}

function pathsOf(given: Record<string, unknown> | null): string[] {
  const path = firstText(given, PATHS);
  if (path !== null) return [path];
  const changes = Array.isArray(given?.changes) ? given.changes : [];
  return changes.map((change: unknown) => isRecord(change) && change.path).filter(isText);
}

const isText = (value: unknown): value is string => typeof value === "string";

function firstText(given: Record<string, unknown> | null, names: readonly string[]): string | null {
  return names.map((name) => given?.[name]).find(isText) ?? null;
}

/** The name of a tool, without the prefix that says whose it is. */
export function toolName(call: Item | null): string {
  const name = partOf(call, "tool_call")?.name ?? "tool";
  return call?.server ? name.replace(`mcp__${call.server}__`, "") : name;
}

/** The command that a call runs, if it runs one. */
export function commandOf(call: Item | null): string | null {
  if (call?.command) return call.command;
  if (!/^(bash|shell|commandexecution)$/i.test(toolName(call))) return null;
  const command = argumentsOf(call)?.command;
  return typeof command === "string" ? command : null;
}
