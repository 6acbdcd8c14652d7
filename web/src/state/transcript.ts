/** The part of one session's log that the page holds: a window that grows, moves and follows. */

import {
  type Connection,
  type DragomanClient,
  type Event,
  HistoryDiverged,
  Position,
} from "dragoman-client";
import type { Company } from "./feed";
import { compactLines, emptyView, fold, type View } from "./fold";
import { readPage, readRange } from "./history";
import { follow } from "./places";
import { seen, whileSeen } from "./sight";
import { Slices } from "./slices";
import { Store } from "./store";

/** So many events are asked for at once. */
const PAGE = 2_000;
/** A look back begins with so many, and goes on with twice as many: most may be pieces of a text. */
const FIRST_STEP = 250;
const MOST_STEP = 8_000;
/** No more steps than this for one look back. */
const STEPS_AT_ONCE = 8;
/** So many lines are wanted before the first picture: those on the screen, and some above it. */
const ENOUGH = 30;
/** So many more where one scrolls up. */
const MORE = 100;
/** So many characters of a text fill a line's place. */
const LINE_CHARACTERS = 400;
/** So many wait for the next picture at most: a page that nobody sees draws none. */
const MOST_WAITING = 4 * PAGE;
/** So many events are kept, without the pieces of what is complete; the far end is let go. */
const MOST_KEPT = 12_000;

export interface Window {
  view: View;
  /** The events from this one on are here; 1 is the session's first. */
  first: number;
  /** Up to this one. */
  last: number;
  /** Nothing later is known. */
  atEnd: boolean;
  loading: "first" | "earlier" | "later" | null;
  connection: Connection | "closed";
  error: Error | null;
  /** An older copy of the log was put back meanwhile; what is here was read anew. */
  isReplaced: boolean;
}

const NOTHING: Window = {
  view: emptyView(),
  first: 1,
  last: 0,
  atEnd: false,
  loading: "first",
  connection: "connecting",
  error: null,
  isReplaced: false,
};

export class Transcript {
  readonly window = new Store<Window>(NOTHING);
  /** Counts how often somebody wanted to see the end. */
  readonly wantsEnd = new Store(0);
  #kept: Event[] = [];
  #compactAt = 2 * PAGE;
  #waiting: Event[] = [];
  #frame: number | null = null;
  #moved: Promise<void> = Promise.resolve();
  #step = FIRST_STEP;
  readonly #listeners = new Set<(event: Event) => void>();
  readonly #stop = new AbortController();

  constructor(
    readonly client: DragomanClient,
    readonly sessionId: string,
    readonly places: Company | null = null,
  ) {}

  /** Show the end of the log, and follow it until closed; another log is read from its end too. */
  async open(): Promise<void> {
    try {
      let end = new Position();
      await this.#move("first", async () => {
        end = await this.#showEnd();
      });
      await this.#follow(end);
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      if (!(error instanceof HistoryDiverged)) return this.#change({ error: error as Error });
      this.#waiting = [];
      this.#change({ isReplaced: true, loading: "first" });
      return this.open();
    }
  }

  close(): void {
    this.#stop.abort();
    if (this.#frame !== null) cancelAnimationFrame(this.#frame);
  }

  /** Hear every event that comes from now on, wherever the window is. Gives the way to stop. */
  listen(listener: (event: Event) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Take in what is before the first event here. */
  async earlier(): Promise<void> {
    const { first, loading } = this.window.get();
    if (first <= 1 || loading !== null) return;
    await this.#move("earlier", () => this.#lookBack(linesIn(this.window.get().view) + MORE));
  }

  /** Take in what is after the last event here, where the end was let go. */
  async later(): Promise<void> {
    const { atEnd, loading } = this.window.get();
    if (atEnd || loading !== null) return;
    await this.#move("later", async () => {
      const { last } = this.window.get();
      const page = await this.#page(last, PAGE);
      this.#kept = compactLines([...this.#kept, ...page.events]);
      this.#change({ last: page.end, atEnd: !page.hasMore });
      this.#letGo("early");
      this.#refold();
    });
  }

  /** Show the end of the log, wherever the window is. */
  async toEnd(): Promise<void> {
    if (this.window.get().atEnd) return;
    await this.#move("first", async () => {
      await this.#showEnd();
    });
  }

  /** Make sure that an event is in the window. */
  async show(sequence: number): Promise<void> {
    if (this.#holds(sequence)) return;
    await this.#move("first", async () => {
      if (this.#holds(sequence)) return;
      const from = Math.max(0, sequence - PAGE / 2);
      const page = await this.#page(from, PAGE);
      this.#kept = compactLines(page.events);
      this.#change({ first: from + 1, last: page.end, atEnd: !page.hasMore });
      this.#refold();
    });
  }

  #holds(sequence: number): boolean {
    const { first, last } = this.window.get();
    return sequence >= first && sequence <= last;
  }

  /** Move the window: one move after the other, and what comes meanwhile waits. */
  #move(loading: Window["loading"], work: () => Promise<void>): Promise<void> {
    const moved = this.#moved.then(async () => {
      this.#change({ loading });
      try {
        await work();
      } finally {
        this.#change({ loading: null });
        this.#drain();
      }
    });
    this.#moved = moved.catch(() => {});
    return moved;
  }

  async #showEnd(): Promise<Position> {
    const { eventCount, chain, status } = await this.client.getSession(this.sessionId);
    this.#kept = [];
    this.#change({ first: eventCount + 1, last: eventCount, atEnd: true });
    this.#refold();
    await this.#lookBack(ENOUGH, status === "running" || status === "waiting");
    return new Position(eventCount, chain);
  }

  /** Read backwards until there are enough lines, and nothing open lacks its beginning. */
  async #lookBack(enough: number, isRunning = false): Promise<void> {
    let step = this.#step;
    for (let steps = 0; steps < STEPS_AT_ONCE; steps++) {
      const { first } = this.window.get();
      if (first <= 1) break;
      const from = Math.max(0, first - 1 - step);
      const events = await this.#range(from, first - 1);
      this.#kept = compactLines([...events, ...this.#kept]);
      this.#change({ first: from + 1 });
      this.#refold();
      const { view } = this.window.get();
      const lacksTurn = isRunning && view.state.turnId === null && view.state.lastOutcome === null;
      if (linesIn(view) >= enough && view.headless.size === 0 && !lacksTurn) break;
      step = Math.min(2 * step, MOST_STEP);
    }
    // The next look begins with what this one has needed; who scrolls on and on wants more at once.
    this.#step = Math.max(step, Math.min(2 * this.#step, PAGE));
    this.#letGo("late");
  }

  #range(from: number, to: number): Promise<Event[]> {
    return readRange(this.client, this.sessionId, { from, to, signal: this.#stop.signal });
  }

  #page(offset: number, limit: number) {
    const signal = this.#stop.signal;
    return readPage(this.client, this.sessionId, { offset, limit, signal });
  }

  /** Follow the log from here to its end, as long as somebody is looking. */
  async #follow(position: Position): Promise<void> {
    let ended = this.window.get().view.state.ended;
    while (!ended && !this.#stop.signal.aborted) {
      await seen(this.#stop.signal);
      const signal = whileSeen(this.#stop.signal);
      const onConnection = (connection: Connection) => this.#connected(connection);
      const options = { position, signal, onConnection };
      await this.#hear(follow(this.client, this.sessionId, this.places, options));
      ended = !signal.aborted;
    }
    this.#change({ connection: "closed" });
  }

  /** A connection that was lost is lost until there is another, however often it is tried. */
  #connected(connection: Connection): void {
    const isLost = this.window.get().connection === "waiting" && connection === "connecting";
    if (!isLost) this.#change({ connection });
  }

  /** Take in what a stream says. */
  async #hear(stream: AsyncIterable<Event>): Promise<void> {
    const slices = new Slices();
    for await (const event of stream) {
      for (const listener of this.#listeners) listener(event);
      this.#waiting.push(event);
      // One picture for all that came since the last one.
      this.#frame ??= requestAnimationFrame(() => this.#drain());
      if (this.#waiting.length >= MOST_WAITING) this.#drain();
      const pause = slices.next();
      if (pause !== null) await pause;
    }
  }

  /** Fold in what came meanwhile, if the window is at the end. */
  #drain(): void {
    this.#frame = null;
    const { view, last, atEnd, loading } = this.window.get();
    if (loading !== null) return;
    if (!atEnd) {
      this.#waiting = [];
      return;
    }
    const fresh = this.#waiting.filter((event) => event.sequence > last);
    this.#waiting = [];
    if (fresh.length === 0) return;
    const end = fresh.at(-1)?.sequence ?? last;
    this.#kept.push(...fresh);
    if (this.#kept.length < this.#compactAt) {
      this.#change({ last: end, view: fold(view, fresh) });
      return;
    }
    this.#kept = compactLines(this.#kept);
    this.#compactAt = Math.min(this.#kept.length, MOST_KEPT) + 2 * PAGE;
    this.#change({ last: end });
    this.#letGo("early");
    this.#refold();
  }

  #letGo(end: "early" | "late"): void {
    const over = this.#kept.length - MOST_KEPT;
    if (over <= 0) return;
    if (end === "early") {
      this.#kept = this.#kept.slice(over);
      this.#change({ first: this.#kept[0]?.sequence ?? 1 });
    } else {
      this.#kept = this.#kept.slice(0, MOST_KEPT);
      this.#change({ last: this.#kept.at(-1)?.sequence ?? 0, atEnd: false });
      this.#refold();
    }
  }

  #refold(): void {
    this.#change({ view: fold(emptyView(), this.#kept) });
  }

  #change(change: Partial<Window>): void {
    if (!this.#stop.signal.aborted) this.window.update((before) => ({ ...before, ...change }));
  }
}

/** About how many lines of usual length a view has: a long text fills the place of many. */
function linesIn({ order, entries }: View): number {
  const characters = order.reduce((sum, key) => {
    const entry = entries.get(key);
    if (entry?.kind !== "item") return sum;
    return entry.item.content.reduce(
      (all, part) => all + (part.type === "text" ? part.text.length : 0),
      sum,
    );
  }, 0);
  return order.length + Math.floor(characters / LINE_CHARACTERS);
}
