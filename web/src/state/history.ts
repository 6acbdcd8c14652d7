/** Reads what is past of a session's log. */

import type { DragomanClient, Event } from "dragoman-client";

/** What is complete needs no pieces: the daemon leaves them out. */
const PAST = { compact: true } as const;

export interface Past {
  /** In the order of the log; sequences have holes where something is left out. */
  events: readonly Event[];
  /** Everything up to this one was looked at. */
  end: number;
  hasMore: boolean;
}

interface Reading {
  /** Nothing is left out. */
  isWhole?: boolean;
  signal?: AbortSignal;
}

/** A page of a log. */
export async function readPage(
  client: DragomanClient,
  sessionId: string,
  { offset, limit, isWhole = false, signal }: Reading & { offset: number; limit: number },
): Promise<Past> {
  const options = { offset, limit, signal, ...(isWhole ? {} : PAST) };
  const { events, hasMore } = await client.getEvents(sessionId, options);
  // The last event of a page is never left out.
  return { events, end: events.at(-1)?.sequence ?? offset, hasMore };
}

/** The events after `from` up to `to`; a page may end early where events are large. */
export async function readRange(
  client: DragomanClient,
  sessionId: string,
  { from, to, ...reading }: Reading & { from: number; to: number },
): Promise<Event[]> {
  const found: Event[] = [];
  for (let offset = from; offset < to; ) {
    const page = await readPage(client, sessionId, { offset, limit: to - offset, ...reading });
    if (page.events.length === 0) break;
    found.push(...page.events);
    offset = page.end;
  }
  return found;
}
