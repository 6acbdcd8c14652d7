/** Reads a session's log for what its turns have changed, from the end back, and hears the rest. */

import type { DragomanClient, Event } from "dragoman-client";
import {
  type ChangeFact,
  compactFacts,
  factOf,
  lacksStart,
  type TurnChanges,
  turnsOf,
} from "./changes";
import { readRange } from "./history";
import { Store } from "./store";

const PAGE = 2_000;
/** So many more turns are looked for at once, */
const ENOUGH = 10;
/** in so many pages at most. */
const PAGES_AT_ONCE = 5;
/** More facts than this are made fewer. */
const MOST_FACTS = 8_000;

export interface ChangesState {
  /** Those that something happened to files in, the newest first. */
  turns: readonly TurnChanges[];
  /** The events from this one on were read; 1 is the session's first. */
  first: number;
  isReading: boolean;
  /** Goes up when files were touched, or a turn has ended. */
  version: number;
  error: Error | null;
}

export class ChangesLog {
  readonly state = new Store<ChangesState>({
    turns: [],
    first: Number.POSITIVE_INFINITY,
    isReading: true,
    version: 0,
    error: null,
  });
  #facts: ChangeFact[] = [];
  #last = 0;
  #work: Promise<void> = Promise.resolve();
  readonly #stop = new AbortController();

  constructor(
    readonly client: DragomanClient,
    readonly sessionId: string,
  ) {}

  /** Read the end of the log. */
  open(): Promise<void> {
    return this.#look(async () => {
      const { eventCount } = await this.client.getSession(this.sessionId);
      this.#last = eventCount;
      this.#facts = [];
      this.#change({ first: eventCount + 1 });
      await this.#lookBack();
    });
  }

  close(): void {
    this.#stop.abort();
  }

  /** Look for turns further back. */
  earlier(): Promise<void> {
    return this.#look(() => this.#lookBack());
  }

  /** What could not be read is asked for again. */
  again(): void {
    if (this.state.get().error !== null) void this.open();
  }

  /** Events came, in the order of the log. */
  hear(events: readonly Event[]): Promise<void> {
    return this.#then(async () => {
      const fresh = events.filter(({ sequence }) => sequence > this.#last);
      const next = fresh[0]?.sequence ?? this.#last + 1;
      // Who listens may have begun to do so a little later than this was opened.
      const missed = next > this.#last + 1 ? await this.#range(this.#last, next - 1) : [];
      this.#take([...missed, ...fresh]);
    });
  }

  /** There are events up to this one, of which nobody may hear any more. */
  reach(sequence: number): Promise<void> {
    return this.#then(async () => {
      if (sequence > this.#last) this.#take(await this.#range(this.#last, sequence));
    });
  }

  #take(events: readonly Event[]): void {
    const last = events.at(-1)?.sequence;
    if (last === undefined) return;
    this.#last = last;
    const facts = factsOf(events);
    if (facts.length === 0) return;
    const hasEnd = facts.some(({ is }) => is === "end");
    this.#facts.push(...facts);
    if (hasEnd || this.#facts.length > MOST_FACTS) this.#facts = compactFacts(this.#facts);
    const isNews = hasEnd || facts.some(({ is }) => is === "file");
    const { version } = this.state.get();
    this.#change({ turns: turnsOf(this.#facts), version: version + (isNews ? 1 : 0) });
  }

  async #lookBack(): Promise<void> {
    const enough = this.state.get().turns.length + ENOUGH;
    for (let pages = 0; pages < PAGES_AT_ONCE; pages++) {
      const { first } = this.state.get();
      if (first <= 1) break;
      const from = Math.max(0, first - 1 - PAGE);
      const events = await this.#range(from, first - 1);
      this.#facts = compactFacts([...factsOf(events), ...this.#facts]);
      const turns = turnsOf(this.#facts);
      this.#change({ first: from + 1, turns });
      if (turns.length >= enough && !lacksStart(this.#facts)) break;
    }
  }

  #range(from: number, to: number): Promise<Event[]> {
    return readRange(this.client, this.sessionId, { from, to, signal: this.#stop.signal });
  }

  #look(work: () => Promise<void>): Promise<void> {
    return this.#then(async () => {
      this.#change({ isReading: true, error: null });
      await work().finally(() => this.#change({ isReading: false }));
    });
  }

  /** One thing after the other. */
  #then(work: () => Promise<void>): Promise<void> {
    this.#work = this.#work
      .then(() => (this.#stop.signal.aborted ? undefined : work()))
      .catch((error: unknown) => this.#change({ error: error as Error }));
    return this.#work;
  }

  #change(change: Partial<ChangesState>): void {
    if (!this.#stop.signal.aborted) this.state.update((before) => ({ ...before, ...change }));
  }
}

function factsOf(events: readonly Event[]): ChangeFact[] {
  return events.map(factOf).filter((fact) => fact !== null);
}
