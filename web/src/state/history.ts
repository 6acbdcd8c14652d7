/** Reads what is past of a session's log. */

import type { DragomanClient, Event } from "dragoman-client";

/** What is complete needs no pieces: the daemon leaves them out. */
const WITHOUT_PIECES = { compact: true } as const;

export interface HistoryPage {
  /** In the order of the log; sequences have holes where something is left out. */
  events: readonly Event[];
  /** Everything up to this one was looked at. */
  end: number;
  hasMore: boolean;
}

interface ReadOptions {
  /** Nothing is left out. */
  isWhole?: boolean;
  signal?: AbortSignal;
}

/** A page of a log. */
export async function readPage(
  client: DragomanClient,
  sessionId: string,
  { offset, limit, isWhole = false, signal }: ReadOptions & { offset: number; limit: number },
): Promise<HistoryPage> {
  const query = { offset, limit, signal, ...(isWhole ? {} : WITHOUT_PIECES) };
  const { events, hasMore } = await client.getEvents(sessionId, query);
  // The last event of a page is never left out.
  return { events, end: events.at(-1)?.sequence ?? offset, hasMore };
}

/** The events after `from` up to `to`; a page may end early where events are large. */
export async function readRange(
  client: DragomanClient,
  sessionId: string,
  { from, to, ...options }: ReadOptions & { from: number; to: number },
): Promise<Event[]> {
  const found: Event[] = [];
  for (let offset = from; offset < to; ) {
    const page = await readPage(client, sessionId, { offset, limit: to - offset, ...options });
    if (page.events.length === 0) break;
    found.push(...page.events);
    offset = page.end;
  }
  return found;
}
