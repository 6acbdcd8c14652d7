/** Looks through a whole log for what fits a filter, from its end, and keeps only the lines of it. */

import type { DragomanClient, Event } from "dragoman-client";
import { readRange } from "../state/history";
import { Store } from "../state/store";
import { type Filter, fits, type Row, rowOf, takesDeltas } from "./events";

const PAGE = 2_000;
/** With so many found, it stops: nobody reads more, and memory has an end. */
export const MOST_FOUND = 20_000;

export interface Found {
  /** In the order of the log. */
  rows: readonly Row[];
  /** So many were looked at, of so many. */
  seen: number;
  count: number;
  state: "running" | "done" | "cancelled" | "full" | "failed";
  error: Error | null;
}

export class Scan {
  readonly found: Store<Found>;
  readonly #stop = new AbortController();

  constructor(
    readonly client: DragomanClient,
    readonly sessionId: string,
    readonly filter: Filter,
    count: number,
  ) {
    this.found = new Store<Found>({ rows: [], seen: 0, count, state: "running", error: null });
  }

  async run(): Promise<void> {
    const { count } = this.found.get();
    try {
      for (let end = count; end > 0; end -= PAGE) {
        const from = Math.max(0, end - PAGE);
        const rows = await this.#look(from, end);
        const before = this.found.get();
        const all = [...rows, ...before.rows];
        this.#change({ rows: all.slice(-MOST_FOUND), seen: before.seen + end - from });
        if (all.length > MOST_FOUND) return this.#change({ state: "full" });
      }
      this.#change({ state: "done" });
    } catch (error) {
      this.#change({ state: "failed", error: error as Error });
    }
  }

  /** Events came; those that were not there when this began are looked at now. */
  hear(events: readonly Event[]): void {
    const { count } = this.found.get();
    const fresh = events.filter((event) => event.sequence > count);
    const end = fresh.at(-1)?.sequence;
    if (end === undefined) return;
    const rows = fresh.filter((event) => fits(event, this.filter)).map(rowOf);
    this.found.update((before) => ({
      ...before,
      rows: rows.length > 0 ? [...before.rows, ...rows].slice(-MOST_FOUND) : before.rows,
      count: end,
      seen: before.seen + end - count,
    }));
  }

  cancel(): void {
    if (this.found.get().state === "running") this.#change({ state: "cancelled" });
    this.#stop.abort();
  }

  async #look(from: number, end: number): Promise<Row[]> {
    const range = { from, to: end, isWhole: takesDeltas(this.filter), signal: this.#stop.signal };
    const events = await readRange(this.client, this.sessionId, range);
    return events.filter((event) => fits(event, this.filter)).map(rowOf);
  }

  #change(change: Partial<Found>): void {
    if (!this.#stop.signal.aborted) this.found.update((before) => ({ ...before, ...change }));
  }
}
