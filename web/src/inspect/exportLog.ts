/** Reads a whole session, page by page, into a file. */

import type { DragomanClient, Event, SessionInfo } from "dragoman-client";
import { compact, emptyView, fold } from "../state/fold";
import { toMarkdown } from "./export";

const PAGE = 1_000;

export type Format = "jsonl" | "raw" | "markdown";

export interface Telling {
  signal: AbortSignal;
  /** Told how many events are in the file so far. */
  onProgress: (done: number) => void;
}

/** The session as a file of this format. What comes while it is read is not in it. */
export async function exported(
  client: DragomanClient,
  session: SessionInfo,
  format: Format,
  telling: Telling,
): Promise<Blob> {
  return format === "markdown"
    ? markdown(client, session, telling)
    : lines(client, session, format === "raw", telling);
}

export function nameOf(session: SessionInfo, format: Format): string {
  return `${session.sessionId}.${format === "markdown" ? "md" : "jsonl"}`;
}

async function lines(
  client: DragomanClient,
  { sessionId, eventCount: end }: SessionInfo,
  includeRaw: boolean,
  { signal, onProgress }: Telling,
): Promise<Blob> {
  const pages: Blob[] = [];
  let page: string[] = [];
  let done = 0;
  for await (const line of client.streamLines(sessionId, { includeRaw, signal })) {
    page.push(line, "\n");
    done += 1;
    if (done < end && page.length < 2 * PAGE) continue;
    // A Blob for each page: the browser may keep it on disk, and a long string it may not.
    pages.push(new Blob(page));
    page = [];
    onProgress(done);
    if (done === end) break;
  }
  signal.throwIfAborted();
  return new Blob(pages, { type: "application/x-ndjson" });
}

async function markdown(
  client: DragomanClient,
  session: SessionInfo,
  telling: Telling,
): Promise<Blob> {
  let kept: Event[] = [];
  for await (const events of pagesOf(client, session, telling)) {
    kept = compact([...kept, ...events]);
  }
  const text = toMarkdown(fold(emptyView(), kept), session);
  return new Blob([text], { type: "text/markdown" });
}

async function* pagesOf(
  client: DragomanClient,
  session: SessionInfo,
  { signal, onProgress }: Telling,
): AsyncGenerator<Event[]> {
  const end = session.eventCount;
  for (let offset = 0; offset < end; ) {
    const limit = Math.min(PAGE, end - offset);
    const events = await client.getEvents(session.sessionId, { offset, limit, signal });
    if (events.length === 0) return;
    yield events;
    offset = events.at(-1)?.sequence ?? end;
    onProgress(offset);
  }
}
