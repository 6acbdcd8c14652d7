/** What the turns of a session have done to its files, from its events. Pure. */

import type { Event, EventOf, Item } from "dragoman-client";
import { type Counts, countChanges } from "./changeCount";

/** A file that something happened to during a turn. */
export interface TouchedFile {
  /** Absolute. */
  path: string;
  change: "create" | "change" | "delete";
  /** So many files beneath the path, which were not told one by one. */
  count: number | null;
  /** How it differs from the commit that the turn began at, where the session tells that. */
  diff: string | null;
}

/** A turn that something happened to files in. */
export interface TurnChanges {
  turnId: string;
  /** The first words of what was asked. */
  prompt: string | null;
  startedAt: string | null;
  isRunning: boolean;
  /** What its diff counts; null: it has none, or none yet. */
  counts: Counts | null;
  /** As long as there is no diff: what is known of its files. */
  files: readonly TouchedFile[];
}

/** What is kept of an event. */
export type ChangeFact =
  | { is: "start"; turnId: string; time: string }
  | { is: "prompt"; text: string }
  | { is: "file"; path: string; change: TouchedFile["change"]; count: number | null }
  | { is: "file diff"; path: string; diff: string }
  | { is: "diff"; turnId: string; counts: Counts }
  | { is: "end"; turnId: string };

/** So many characters of a message name its turn. */
const PROMPT = 200;

/** What an event says about turns and files; null: nothing. */
export function factOf(event: Event): ChangeFact | null {
  switch (event.type) {
    case "turn.started":
      return { is: "start", turnId: event.data.turn_id ?? "", time: event.time };
    case "turn.ended":
      return { is: "end", turnId: event.data.turn_id ?? "" };
    case "item.completed":
      return promptOf(event.data.item);
    case "sandbox.file":
      return fileOf(event.data);
    case "sandbox.file.diff":
      return { is: "file diff", path: event.data.path, diff: event.data.diff };
    case "turn.diff":
      return { is: "diff", turnId: event.data.turn_id, counts: countChanges(event.data) };
    default:
      return null;
  }
}

function promptOf(item: Item): ChangeFact | null {
  if (item.kind !== "message" || item.role !== "user") return null;
  const texts = item.content.map((part) => (part.type === "text" ? part.text : ""));
  const text = texts
    .join(" ")
    .slice(0, 2 * PROMPT)
    .replace(/\s+/g, " ")
    .trim();
  return text === "" ? null : { is: "prompt", text: text.slice(0, PROMPT) };
}

function fileOf({ path, type, count }: EventOf<"sandbox.file">["data"]): ChangeFact {
  return { is: "file", path, change: type, count: count ?? null };
}

/** What the facts say so far about one turn. */
interface Draft extends Omit<TurnChanges, "files"> {
  files: Map<string, TouchedFile>;
}

/** The turns that something happened to files in, the newest first. */
export function turnsOf(facts: readonly ChangeFact[]): TurnChanges[] {
  const turns: Draft[] = [];
  let current: Draft | null = null;
  // What is known may begin in the middle of a turn: then the first thing that names it is its end.
  let early: Map<string, TouchedFile> | null = new Map();
  for (const fact of facts) {
    if (fact.is === "start") {
      current = newTurn(fact.turnId, fact.time);
      turns.push(current);
      early = null;
    } else if (fact.is === "prompt") {
      if (current) current.prompt ??= fact.text;
    } else if (fact.is === "file" || fact.is === "file diff") {
      touch(current?.files ?? early, fact);
    } else {
      if (current === null && early !== null) {
        current = { ...newTurn(fact.turnId, null), files: early };
        turns.push(current);
        early = null;
      }
      if (fact.is === "diff" && current) current.counts = fact.counts;
      if (fact.is === "end" && current) current.isRunning = false;
      if (fact.is === "end") current = null;
    }
  }
  return turns
    .reverse()
    .map((turn) => ({ ...turn, files: turn.counts ? [] : [...turn.files.values()] }))
    .filter(({ counts, files }) => counts !== null || files.length > 0);
}

function newTurn(turnId: string, startedAt: string | null): Draft {
  return { turnId, prompt: null, startedAt, isRunning: true, counts: null, files: new Map() };
}

type FileFact = Extract<ChangeFact, { is: "file" | "file diff" }>;

/** Take in what happened to a file; outside of a turn it is nobody's. */
function touch(files: Map<string, TouchedFile> | null, fact: FileFact): void {
  const known = files?.get(fact.path);
  if (fact.is === "file diff") {
    if (known) files?.set(fact.path, { ...known, diff: fact.diff });
    return;
  }
  const change = known ? joined(known.change, fact.change) : fact.change;
  const { path } = fact;
  if (change === null) files?.delete(path);
  else {
    const count = fact.count === null ? null : fact.count + (known?.count ?? 0);
    files?.set(path, { path, change, count, diff: known?.diff ?? null });
  }
}

/** Two changes of a file as one; null: it is as it was. */
function joined(
  before: TouchedFile["change"],
  after: TouchedFile["change"],
): TouchedFile["change"] | null {
  if (before === "create") return after === "delete" ? null : "create";
  if (before === "delete") return after === "delete" ? "delete" : "change";
  return after === "delete" ? "delete" : "change";
}

/** Leave out what no later fact can make worth telling: files outside of turns, and of a diff. */
export function compactFacts(facts: readonly ChangeFact[]): ChangeFact[] {
  const kept: ChangeFact[] = [];
  let files: FileFact[] = [];
  let isTurn = false;
  let hasDiff = false;
  for (const fact of facts) {
    if (fact.is === "file" || fact.is === "file diff") {
      files.push(fact);
      continue;
    }
    if (fact.is === "diff") hasDiff = true;
    if (fact.is === "start" || fact.is === "end") {
      // Whatever stands before a start, outside of a turn, belongs to none.
      if (!hasDiff && (isTurn || fact.is === "end")) kept.push(...mergedFiles(files));
      files = [];
      isTurn = fact.is === "start";
      hasDiff = false;
    }
    kept.push(fact);
  }
  return [...kept, ...mergedFiles(files)];
}

/** One or two facts for each file. */
function mergedFiles(facts: readonly FileFact[]): ChangeFact[] {
  const files = new Map<string, TouchedFile>();
  for (const fact of facts) touch(files, fact);
  return [...files.values()].flatMap(({ path, change, count, diff }): ChangeFact[] => {
    const file: ChangeFact = { is: "file", path, change, count };
    return diff === null ? [file] : [file, { is: "file diff", path, diff }];
  });
}

/** Whether the facts begin in the middle of a turn. */
export function lacksStart(facts: readonly ChangeFact[]): boolean {
  const first = facts.find(({ is }) => is === "start" || is === "end" || is === "diff");
  return first !== undefined && first.is !== "start";
}
