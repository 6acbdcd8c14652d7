/** The diff of a session or a turn, read anew when something has changed, and never twice at once. */

import type { SessionDiff } from "dragoman-client";
import { Store } from "./store";

/** So long after something has changed it is read: more may follow. */
const PAUSE_MS = 500;
/** Of a large directory a diff takes its time: so much longer than that is the pause after it. */
const PAUSE_FACTOR = 3;

export interface DiffState {
  /** What was read last; null: nothing yet. */
  diff: SessionDiff | null;
  isReading: boolean;
  error: Error | null;
}

export class DiffReader {
  readonly state = new Store<DiffState>({ diff: null, isReading: true, error: null });
  #timer: ReturnType<typeof setTimeout> | null = null;
  #isReading = false;
  /** Something has changed since the reading began that is under way. */
  #isStale = false;
  #tookMs = 0;
  readonly #stop = new AbortController();

  constructor(readonly read: (signal: AbortSignal) => Promise<SessionDiff>) {}

  open(): void {
    void this.#read();
  }

  close(): void {
    this.#stop.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  /** It is not what it was. */
  refresh(): void {
    if (this.#isReading) this.#isStale = true;
    else this.#timer ??= setTimeout(() => void this.#read(), this.#pauseMs());
  }

  #pauseMs(): number {
    return Math.max(PAUSE_MS, PAUSE_FACTOR * this.#tookMs);
  }

  async #read(): Promise<void> {
    this.#timer = null;
    if (this.#stop.signal.aborted) return;
    this.#isReading = true;
    this.#isStale = false;
    this.state.update((before) => ({ ...before, isReading: true }));
    const began = performance.now();
    const known = this.state.get().diff;
    const next = await this.read(this.#stop.signal).then(
      (diff) => ({ diff: isSame(known, diff) ? known : diff, error: null }),
      (error: Error) => ({ diff: known, error }),
    );
    this.#isReading = false;
    this.#tookMs = performance.now() - began;
    if (this.#stop.signal.aborted) return;
    this.state.set({ ...next, isReading: false });
    if (this.#isStale) this.refresh();
  }
}

function isSame(one: SessionDiff | null, other: SessionDiff): boolean {
  return one?.diff === other.diff && one.truncated === other.truncated;
}
