/**
 * Places for the streams of conversations. A browser opens six connections to a host, for all its
 * windows together: one is for the feed, and some must stay free for what people do. So a window
 * that finds no place asks for what is new now and then, until there is one.
 */

import {
  type DragomanClient,
  type Event,
  type FollowOptions,
  isTemporary,
  type Position,
} from "dragoman-client";
import type { Company } from "./feed";

/** So many windows have a stream. */
const PLACES = 3;
/** So long after one look comes the next. */
const LOOK_MS = 1_000;

/** Where windows find places; null where a browser shares one connection for all, or has no locks. */
export function placesOf(company: Company | null): Company | null {
  const [opened] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  return /^h[23]/.test(opened?.nextHopProtocol ?? "") ? null : company;
}

/** The events of a session after a position, as they come, until its end or the signal. */
export async function* follow(
  client: DragomanClient,
  sessionId: string,
  places: Company | null,
  options: FollowOptions & { position: Position; signal: AbortSignal },
): AsyncGenerator<Event> {
  const { position } = options;
  while (!options.signal.aborted) {
    const leave = await take(places);
    if (leave !== null) {
      try {
        yield* client.streamEvents(sessionId, options);
        return;
      } finally {
        leave();
      }
    }
    const { events, hasMore, chain } = await look(client, sessionId, options);
    for (const event of events) {
      if (position.read(event)) yield event;
      if (event.type === "session.ended") return;
    }
    if (chain) position.learn({ sequence: position.sequence, chain });
    if (!hasMore) await pause(options.signal);
  }
}

/** Take a place, if one is free; gives the way to leave it. */
async function take(places: Company | null): Promise<(() => void) | null> {
  if (places === null) return () => {};
  for (let place = 1; place <= PLACES; place++) {
    const leave = await new Promise<(() => void) | null>((resolve, reject) => {
      const name = `${places.name} place ${place}`;
      const hold = (lock: Lock | null) =>
        lock === null ? resolve(null) : new Promise<void>((left) => resolve(left));
      places.locks.request(name, { ifAvailable: true }, hold).catch(reject);
    });
    if (leave !== null) return leave;
  }
  return null;
}

/** What is new; nothing, where the daemon cannot be reached for now. */
async function look(
  client: DragomanClient,
  sessionId: string,
  { position, signal, onConnection }: FollowOptions & { position: Position },
): Promise<{ events: readonly Event[]; hasMore: boolean; chain?: string }> {
  try {
    const page = await client.getEvents(sessionId, { ...position.start, signal });
    onConnection?.("open");
    return page;
  } catch (error) {
    if (!signal?.aborted && !isTemporary(error)) throw error;
    onConnection?.("waiting");
    return { events: [], hasMore: false };
  }
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, LOOK_MS);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
