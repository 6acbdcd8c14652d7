/** Finds the line that holds an event. */

import type { Entry, View } from "../state/fold";
import { isShown } from "./entryFacts";

/** The key of the line that an event began, ended or went into; the one before it if there is none. */
export function holderOf(view: View, sequence: number): string | null {
  if (view.sequence < sequence) return null;
  let best: Entry | null = null;
  for (const entry of view.entries.values()) {
    if (isShown(entry) && (best === null || isNearer(entry, best, sequence))) best = entry;
  }
  return best?.key ?? null;
}

function isNearer(entry: Entry, best: Entry, sequence: number): boolean {
  const [mine, theirs] = [distance(entry, sequence), distance(best, sequence)];
  // Of two that were open at the time, the shorter one is the likelier home.
  return mine === theirs ? span(entry) < span(best) : mine < theirs;
}

function distance(entry: Entry, sequence: number): number {
  if (entry.sequence === sequence || entry.changed === sequence) return -1;
  if (entry.sequence > sequence) return entry.sequence - sequence + 0.5;
  return Math.max(0, sequence - entry.changed);
}

const span = (entry: Entry) => entry.changed - entry.sequence;

/** The key of the line of the list that a line is in, itself where it stands by itself. */
export function rowOf(view: View, key: string): string {
  for (const entry of view.entries.values()) {
    if (entry.kind !== "tool" || entry.key === key) continue;
    if (entry.children.includes(key) || entry.requests.includes(key)) {
      return rowOf(view, entry.key);
    }
  }
  return key;
}
