/** Counts what a patch changes, as the daemon does. */

import type { ChangeCount } from "dragoman-client";

/** How much a patch changes. */
export type Counts = Required<ChangeCount>;

const FILE_LINES = ["diff --git ", "Binary files ", "# left out, "];

/** How many files a patch is about, how many lines it adds, and how many it removes. */
export function countLines(patch: string): Counts {
  let files = 0;
  let additions = 0;
  let deletions = 0;
  let isHunk = false;
  for (const line of patch.split("\n")) {
    if (FILE_LINES.some((start) => line.startsWith(start))) {
      files += 1;
      isHunk = false;
    } else if (line.startsWith("@@ ")) isHunk = true;
    else if (isHunk && line.startsWith("+")) additions += 1;
    else if (isHunk && line.startsWith("-")) deletions += 1;
  }
  return { files, additions, deletions };
}

const counts = new WeakMap<object, Counts>();

/** The same for an event that has a diff, counted once: a log is folded again and again. */
export function countChanges(data: { diff: string }): Counts {
  const known = counts.get(data) ?? countLines(data.diff);
  counts.set(data, known);
  return known;
}
