/** Which tools are so new that what came of them is shown without asking. */

import { useState } from "react";
import type { View } from "../state/fold";

const LAST = 3;

/** The number of the event from which on tools are among the last ones, those of subagents too. */
export function recentFrom({ order, entries }: View): number {
  const found: number[] = [];
  for (let at = order.length - 1, tools = 0; at >= 0 && tools < LAST; at--) {
    const entry = entries.get(order[at] ?? "");
    if (entry?.kind !== "tool") continue;
    tools += 1;
    const children = entry.children.map((key) => entries.get(key));
    for (const tool of [entry, ...children]) if (tool?.kind === "tool") found.push(tool.sequence);
  }
  return found.sort((one, other) => other - one)[LAST - 1] ?? 0;
}

/** The same, but as it was while one is not at the end: nothing folds under the eyes of a reader. */
export function useRecent(view: View, isAtEnd: boolean): number {
  const [before, setBefore] = useState(Number.POSITIVE_INFINITY);
  const now = isAtEnd ? recentFrom(view) : before;
  if (now !== before) setBefore(now);
  return now;
}
