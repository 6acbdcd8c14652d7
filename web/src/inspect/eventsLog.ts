/** One session's log, any row of it: pages are fetched when they are looked at, and let go again. */

import type { DragomanClient, Event } from "dragoman-client";
import { Store } from "../state/store";

export const PAGE = 500;
const MOST_PAGES = 40;

export interface LogState {
  /** How many events there are; row n is sequence n. */
  count: number;
  /** How many came since the log is shown. */
  heard: number;
  /** Goes up whenever something came that can be shown. */
  version: number;
  error: Error | null;
}

export class EventLog {
  readonly state: Store<LogState>;
  /** Page 0 holds sequences 1 to 500. The one that was looked at last is the last. */
  readonly #pages = new Map<number, Event[]>();
  #stop = new AbortController();
  #wanted: readonly number[] = [];
  #fetching = false;

  constructor(
    readonly client: DragomanClient,
    readonly sessionId: string,
    count: number,
  ) {
    this.state = new Store<LogState>({ count, heard: 0, version: 0, error: null });
  }

  get pagesKept(): number {
    return this.#pages.size;
  }

  at(sequence: number): Event | undefined {
    return this.#pages.get(pageOf(sequence))?.[(sequence - 1) % PAGE];
  }

  /** These rows are looked at: fetch what of them is missing. What was wanted before is not. */
  want(first: number, last: number): void {
    const wanted: number[] = [];
    for (let page = pageOf(first); page <= pageOf(Math.max(first, last)); page++) wanted.push(page);
    this.#wanted = wanted;
    for (const page of wanted) this.#touch(page);
    if (!this.#fetching) void this.#fetch();
  }

  /** There are at least so many. */
  grow(count: number): void {
    if (count > this.state.get().count) this.#change({ count });
  }

  /** Events came. */
  hear(events: readonly Event[]): void {
    for (const event of events) {
      const number = pageOf(event.sequence);
      const page = this.#pages.get(number);
      const place = (event.sequence - 1) % PAGE;
      if (page === undefined && place === 0) this.#keep(number, [event]);
      else if (page?.length === place) page.push(event);
    }
    const { count, heard, version } = this.state.get();
    const end = events.at(-1)?.sequence ?? 0;
    this.#change({
      count: Math.max(count, end),
      heard: heard + events.length,
      version: version + 1,
    });
  }

  /** What could not be fetched is asked for again. */
  again(): void {
    if (this.state.get().error === null) return;
    this.#change({ error: null });
    if (!this.#fetching) void this.#fetch();
  }

  /** Begin, or begin again. */
  open(): void {
    if (this.#stop.signal.aborted) this.#stop = new AbortController();
  }

  close(): void {
    this.#stop.abort();
  }

  /** One page after the other, always of what is looked at now: a long scroll leaves no backlog. */
  async #fetch(): Promise<void> {
    this.#fetching = true;
    try {
      for (let page = this.#missing(); page !== undefined; page = this.#missing()) {
        const known = this.#pages.get(page)?.length ?? 0;
        const events = await this.#load(page * PAGE + known, (page + 1) * PAGE);
        if (events.length === 0) break;
        this.#take(page, events);
        this.#change({ version: this.state.get().version + 1, error: null });
      }
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#change({ error: error as Error });
    } finally {
      this.#fetching = false;
    }
  }

  /** A page may come in pieces where events are large. */
  async #load(offset: number, end: number): Promise<Event[]> {
    const signal = this.#stop.signal;
    const limit = end - offset;
    return [...(await this.client.getEvents(this.sessionId, { offset, limit, signal }))];
  }

  #take(number: number, events: readonly Event[]): void {
    const page = this.#pages.get(number) ?? [];
    // Some may have been heard meanwhile.
    const next = number * PAGE + page.length + 1;
    this.#keep(number, [...page, ...events.filter((event) => event.sequence >= next)]);
  }

  #missing(): number | undefined {
    const { count } = this.state.get();
    return this.#wanted.find((page) => {
      const whole = Math.min(count - page * PAGE, PAGE);
      return (this.#pages.get(page)?.length ?? 0) < whole;
    });
  }

  #keep(number: number, events: Event[]): void {
    this.#pages.delete(number);
    this.#pages.set(number, events);
    for (const oldest of this.#pages.keys()) {
      if (this.#pages.size <= MOST_PAGES) break;
      this.#pages.delete(oldest);
    }
  }

  #touch(number: number): void {
    const page = this.#pages.get(number);
    if (page) this.#keep(number, page);
  }

  #change(change: Partial<LogState>): void {
    if (!this.#stop.signal.aborted) this.state.update((before) => ({ ...before, ...change }));
  }
}

const pageOf = (sequence: number) => Math.floor(Math.max(0, sequence - 1) / PAGE);
