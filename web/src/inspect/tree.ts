/** Processes, from parents to children. */

import type { AgentProcess, ProcessInfo } from "dragoman-client";

export interface Branch {
  process: ProcessInfo;
  depth: number;
}

/** A tree in the order in which it is read: each process followed by what it has started. */
export function branches(tree: readonly ProcessInfo[]): Branch[] {
  const pids = new Set(tree.map(({ pid }) => pid));
  const isTop = (each: ProcessInfo) => !pids.has(each.parentPid) || each.parentPid === each.pid;
  const found: Branch[] = [];
  const seen = new Set<number>();
  const visit = (process: ProcessInfo, depth: number) => {
    // Pids are given anew, and a list that was read while they were may have a loop.
    if (seen.has(process.pid)) return;
    seen.add(process.pid);
    found.push({ process, depth });
    for (const child of tree) if (child.parentPid === process.pid) visit(child, depth + 1);
  };
  for (const top of tree.filter(isTop)) visit(top, 0);
  for (const rest of tree) visit(rest, 0);
  return found;
}

/** What was seen at one moment: how much processor time each process had used. */
export interface Sample {
  at: number;
  cpuMs: ReadonlyMap<number, number>;
}

export function sampleOf(processes: readonly AgentProcess[], at: number): Sample {
  return { at, cpuMs: new Map(processes.map(({ pid, cpuMs }) => [pid, cpuMs])) };
}

/** How busy a process was between two samples, in percent of one processor. */
export function busy(pid: number, before: Sample | null, after: Sample): number | null {
  const from = before?.cpuMs.get(pid);
  const to = after.cpuMs.get(pid);
  if (before === null || from === undefined || to === undefined || after.at <= before.at) {
    return null;
  }
  return Math.max(0, Math.round((100 * (to - from)) / (after.at - before.at)));
}
