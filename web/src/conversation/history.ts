/** What was sent from one field, to be called back. Pure. */

export interface History {
  /** The newest last. */
  entries: readonly string[];
  /** Which of them is shown; null: none. */
  at: number | null;
}

const MOST = 50;
const LONGEST = 20_000;

/** With this at its end, once. What is very long would fill the browser's memory, and is left out. */
export function remembering(entries: readonly string[], text: string): readonly string[] {
  if (text.trim() === "" || text.length > LONGEST) return entries;
  return [...entries.filter((entry) => entry !== text), text].slice(-MOST);
}

export function older({ entries, at }: History): History {
  const next = (at ?? entries.length) - 1;
  return { entries, at: next < 0 ? at : next };
}

export function newer({ entries, at }: History): History {
  const next = at === null ? null : at + 1;
  return { entries, at: next === null || next >= entries.length ? null : next };
}

export const shown = ({ entries, at }: History): string => (at === null ? "" : (entries[at] ?? ""));
