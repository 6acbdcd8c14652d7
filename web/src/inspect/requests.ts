/** What the page called, as its list shows it. */

import type { Call } from "dragoman-client";

/** A call, and how often the very same one was made. */
export interface Shown {
  call: Call;
  times: number;
}

const ids = new WeakMap<Call, number>();
let count = 0;

/** A number for each call, the same as long as it is kept. */
export function idOf(call: Call): number {
  const id = ids.get(call) ?? ++count;
  ids.set(call, id);
  return id;
}

/** The newest first. Folded, reading the same again and again is one line. */
export function listed(calls: readonly Call[], folded: boolean): Shown[] {
  const shown: Shown[] = [];
  const seen = new Map<string, Shown>();
  for (const call of calls.toReversed()) {
    const key = `${call.method} ${call.url}`;
    const known = folded && call.method === "GET" ? seen.get(key) : undefined;
    if (known) {
      known.times += 1;
      continue;
    }
    const line = { call, times: 1 };
    seen.set(key, line);
    shown.push(line);
  }
  return shown;
}

/** The path of a call below where the daemon is. */
export function pathOf(call: Call, baseUrl: string): string {
  return call.url.startsWith(baseUrl) ? call.url.slice(baseUrl.length) : call.url;
}

/** How well it went. */
export function moodOfStatus(status: number | null): "good" | "wait" | "bad" {
  if (status === null || status >= 500) return "bad";
  return status >= 400 ? "wait" : "good";
}
