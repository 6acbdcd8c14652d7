/** Folds the events of a session into what the page shows. Pure: the same events, the same view. */

import type {
  Event,
  EventOf,
  Item,
  PermissionRequested,
  PermissionResolved,
  QuestionRequested,
  QuestionResolved,
} from "dragoman-client";
import type { Counts } from "./changeCount";
import { apply, newState, type SessionState } from "./session";

/** What each line of a conversation has: where in the log it began, and where it last changed. */
interface Line {
  key: string;
  sequence: number;
  changed: number;
  time: string;
}

export interface ItemEntry extends Line {
  kind: "item";
  item: Item;
}

/** A call and its result, with what was asked about it, and what its subagent did. */
export interface ToolEntry extends Line {
  kind: "tool";
  call: Item | null;
  result: Item | null;
  callId: string;
  requests: readonly string[];
  children: readonly string[];
}

export interface PermissionEntry extends Line {
  kind: "permission";
  asked: PermissionRequested | null;
  resolved: PermissionResolved | null;
  resolvedAt: string | null;
}

export interface QuestionEntry extends Line {
  kind: "question";
  asked: QuestionRequested | null;
  resolved: QuestionResolved | null;
  resolvedAt: string | null;
}

/** An event that is shown as a line of its own: errors, ends, changes of the session. */
export interface NoteEntry extends Line {
  kind: "note";
  event: EventOf<
    "error" | "agent.unparsed" | "session.started" | "session.ended" | "session.updated"
  >;
}

/** The end of a turn, with what it cost, how long it took, and what it has changed. */
export interface TurnEntry extends Line {
  kind: "turn";
  ended: EventOf<"turn.ended">["data"];
  startedAt: string | null;
  changes: Counts | null;
}

export type Entry = ItemEntry | ToolEntry | PermissionEntry | QuestionEntry | NoteEntry | TurnEntry;

export interface View {
  state: SessionState;
  /** Lines by their key; `order` has the keys of those that stand by themselves. */
  entries: ReadonlyMap<string, Entry>;
  order: readonly string[];
  /** The lines of calls and results, by the ids of their items, and of the newest call of an id. */
  tools: ReadonlyMap<string, string>;
  /** Items that go on here and began before the first event of this view. */
  headless: ReadonlySet<string>;
  /** The last event that was folded in. */
  sequence: number;
}

export function emptyView(state: SessionState = newState()): View {
  return {
    state,
    entries: new Map(),
    order: [],
    tools: new Map(),
    headless: new Set(),
    sequence: 0,
  };
}

/** The view after these events. The view before it stays as it is. */
export function fold(before: View, events: readonly Event[]): View {
  if (events.length === 0) return before;
  const folding = new Folding(before);
  for (const event of events) folding.take(event);
  return folding.view();
}

/** One run of the fold: copies once, then changes its own copies. */
class Folding {
  readonly #entries: Map<string, Entry>;
  readonly #order: string[];
  readonly #tools: Map<string, string>;
  readonly #headless: Set<string>;
  #state: SessionState;
  #sequence: number;

  constructor(before: View) {
    this.#entries = new Map(before.entries);
    this.#order = [...before.order];
    this.#tools = new Map(before.tools);
    this.#headless = new Set(before.headless);
    this.#state = before.state;
    this.#sequence = before.sequence;
  }

  view(): View {
    return {
      state: this.#state,
      entries: this.#entries,
      order: this.#order,
      tools: this.#tools,
      headless: this.#headless,
      sequence: this.#sequence,
    };
  }

  take(event: Event): void {
    const { turnStartedAt: startedAt, turnChanges: changes } = this.#state;
    this.#state = apply(this.#state, event);
    this.#sequence = event.sequence;
    switch (event.type) {
      case "item.started":
      case "item.completed":
        this.#item(event.data.item, event);
        break;
      case "item.delta":
        this.#delta(event);
        break;
      case "permission.requested":
      case "permission.resolved":
        this.#permission(event);
        break;
      case "question.requested":
      case "question.resolved":
        this.#question(event);
        break;
      case "turn.ended":
        this.#put({ ...line(event), kind: "turn", ended: event.data, startedAt, changes });
        break;
      case "session.updated":
        // How full the context is stands in the header, and would be a line for each turn here.
        if (isWorthALine(event)) this.#put({ ...line(event), kind: "note", event });
        break;
      case "error":
      case "agent.unparsed":
      case "session.started":
      case "session.ended":
        this.#put({ ...line(event), kind: "note", event });
    }
  }

  #item(item: Item, event: Event): void {
    this.#headless.delete(item.item_id);
    const part = item.content.find(
      (part) => part.type === "tool_call" || part.type === "tool_result",
    );
    if (part?.type === "tool_call" && item.kind === "tool_call") {
      this.#tool(part.call_id, { call: item }, item, event);
    } else if (part?.type === "tool_result" && item.kind === "tool_result") {
      this.#tool(part.call_id, { result: item }, item, event);
    } else {
      const known = this.#entries.get(item.item_id);
      this.#put({ ...line(event, item.item_id, known), kind: "item", item }, this.#host(item));
    }
  }

  #tool(callId: string, half: { call: Item } | { result: Item }, item: Item, event: Event): void {
    const known = this.#toolAt(this.#tools.get(item.item_id)) ?? this.#toolAt(this.#keyOf(callId));
    // An id that an agent uses again is another call.
    const before = known && isOf(known, half) ? known : null;
    const key = before?.key ?? this.#freeKey(callId, item);
    const entry: ToolEntry = {
      ...line(event, key, before ?? undefined),
      kind: "tool",
      call: before?.call ?? null,
      result: before?.result ?? null,
      callId,
      requests: before?.requests ?? [],
      children: before?.children ?? [],
      ...half,
    };
    this.#tools.set(item.item_id, key);
    if (before === null) this.#tools.set(toolKey(callId), key);
    this.#put(entry, before ? null : this.#host(item));
  }

  /** The line of the newest call of this id. */
  #keyOf(callId: string): string | undefined {
    return this.#tools.get(toolKey(callId));
  }

  #freeKey(callId: string, item: Item): string {
    const key = toolKey(callId);
    return this.#entries.has(key) ? `${key}#${item.item_id}` : key;
  }

  #delta(event: EventOf<"item.delta">): void {
    const { item_id: id, delta, content_type: type } = event.data;
    const known = this.#entries.get(id);
    if (known?.kind === "item") {
      this.#put({ ...known, item: extended(known.item, delta, type), changed: event.sequence });
      return;
    }
    const tool = this.#toolAt(this.#tools.get(id));
    if (tool === null) {
      this.#headless.add(id);
    } else if (tool.call?.item_id === id) {
      this.#put({ ...tool, call: extended(tool.call, delta, type), changed: event.sequence });
    } else if (tool.result?.item_id === id) {
      this.#put({ ...tool, result: extended(tool.result, delta, type), changed: event.sequence });
    }
  }

  #permission(event: EventOf<"permission.requested" | "permission.resolved">): void {
    const key = requestKey(event.data.permission_id);
    const known = this.#entries.get(key);
    const before = known?.kind === "permission" ? known : null;
    const resolved = event.type === "permission.resolved";
    this.#put(
      {
        ...line(event, key, before ?? undefined),
        kind: "permission",
        asked: resolved ? (before?.asked ?? null) : event.data,
        resolved: resolved ? event.data : null,
        resolvedAt: resolved ? event.time : null,
      },
      before ? null : this.#asker(event.data.metadata),
    );
  }

  #question(event: EventOf<"question.requested" | "question.resolved">): void {
    const key = requestKey(event.data.question_id);
    const known = this.#entries.get(key);
    const before = known?.kind === "question" ? known : null;
    const resolved = event.type === "question.resolved";
    this.#put({
      ...line(event, key, before ?? undefined),
      kind: "question",
      asked: resolved ? (before?.asked ?? null) : event.data,
      resolved: resolved ? event.data : null,
      resolvedAt: resolved ? event.time : null,
    });
  }

  /** Take in a line: in place of what it was, else below its host, else at the end. */
  #put(entry: Entry, host: ToolEntry | null = null): void {
    const isNew = !this.#entries.has(entry.key);
    this.#entries.set(entry.key, entry);
    if (!isNew) return;
    const home = host && this.#entries.get(host.key);
    if (home?.kind !== "tool" || home.key === entry.key) {
      this.#order.push(entry.key);
    } else if (entry.kind === "permission") {
      this.#entries.set(home.key, { ...home, requests: [...home.requests, entry.key] });
    } else {
      this.#entries.set(home.key, { ...home, children: [...home.children, entry.key] });
    }
  }

  /** The call that started the subagent which made an item. */
  #host(item: Item): ToolEntry | null {
    if (!item.subagent_id) return null;
    const known = this.#state.hosts[item.subagent_id];
    const host =
      known === undefined
        ? this.#toolAt(this.#tools.get(item.parent_id ?? ""))
        : this.#toolAt(known);
    if (host !== null && known === undefined) {
      const hosts = { ...this.#state.hosts, [item.subagent_id]: host.key };
      this.#state = { ...this.#state, hosts };
    }
    return host;
  }

  #asker(metadata: unknown): ToolEntry | null {
    const callId = (metadata as { call_id?: unknown } | null | undefined)?.call_id;
    return typeof callId === "string" ? this.#toolAt(this.#keyOf(callId)) : null;
  }

  #toolAt(key: string | undefined): ToolEntry | null {
    const entry = key === undefined ? undefined : this.#entries.get(key);
    return entry?.kind === "tool" ? entry : null;
  }
}

const toolKey = (callId: string) => `call:${callId}`;
const requestKey = (id: string) => `request:${id}`;

/** Whether half a call belongs to a line: it is there already, or its place is free. */
function isOf(entry: ToolEntry, half: { call: Item } | { result: Item }): boolean {
  if ("result" in half) return entry.result === null || same(entry.result, half.result);
  return entry.call === null ? entry.result === null : same(entry.call, half.call);
}

const same = (one: Item, other: Item) => one.item_id === other.item_id;

function line(event: Event, key = event.event_id, known?: Line): Line {
  return {
    key,
    sequence: known?.sequence ?? event.sequence,
    changed: event.sequence,
    time: known?.time ?? event.time,
  };
}

function isWorthALine(event: EventOf<"session.updated">): boolean {
  const { model, variant, mode, permission_mode, title, continuity } = event.data;
  const worth = [model, variant, mode, permission_mode, title, continuity];
  return worth.some((value) => value !== undefined);
}

const PART_OF = {
  text: "text",
  reasoning: "reasoning",
  arguments: "tool_call",
  output: "tool_result",
} as const;

/** An item with the next piece of it. */
function extended(item: Item, delta: string, type: keyof typeof PART_OF = "text"): Item {
  const content = item.content.map((part) => {
    if (part.type !== PART_OF[type]) return part;
    if (part.type === "tool_call") return { ...part, arguments: part.arguments + delta };
    if (part.type === "tool_result") return { ...part, output: part.output + delta };
    if (part.type === "text" || part.type === "reasoning") {
      return { ...part, text: part.text + delta };
    }
    return part;
  });
  return { ...item, content };
}

/** Leave out what later events of the same list repeat: the pieces of items that are complete. */
export function compact(events: readonly Event[]): Event[] {
  const complete = new Set<string>();
  for (const event of events) {
    if (event.type === "item.completed") complete.add(event.data.item.item_id);
  }
  return events.filter(
    (event) => !(event.type === "item.delta" && complete.has(event.data.item_id)),
  );
}

/** The same for who shows a conversation: files that change are no lines of it. */
export function compactLines(events: readonly Event[]): Event[] {
  return compact(events).filter(
    ({ type }) => type !== "sandbox.file" && type !== "sandbox.file.diff",
  );
}
