/**
 * What happens in all sessions, by one stream for all pages of a browser: it opens six connections
 * to a host, and each page needs one for its conversation. The page that holds the lock leads: it
 * has the stream, and tells the others. When it goes, the lock passes on.
 */

import type { Connection, DragomanClient, EventType } from "dragoman-client";

/** What changes how a session is listed, or whether it waits for somebody. */
const TYPES: readonly EventType[] = [
  "session.started",
  "session.updated",
  "session.ended",
  "turn.started",
  "turn.ended",
  "permission.requested",
  "permission.resolved",
  "question.requested",
  "question.resolved",
  "queue.updated",
];

export interface Hearer {
  /** Something about this session changed. */
  touched: (sessionId: string) => void;
  /** After "open" nothing is missed; what was before is not told. */
  connected: (connection: Connection) => void;
}

/** How the pages of a browser find one another. */
export interface Company {
  name: string;
  locks: Pick<LockManager, "request">;
}

/** What pages tell one another; "how" asks the leader for its connection. */
type Told =
  | { is: "how" }
  | { is: "connected"; connection: Connection }
  | { is: "touched"; sessionId: string };

/** The pages of one daemon; null where the browser has no locks, which is so without HTTPS. */
export function companyOf(baseUrl: string): Company | null {
  // Not in every context, whatever its type says.
  const locks = navigator.locks as LockManager | undefined;
  return locks ? { name: `dragoman feed ${baseUrl}`, locks } : null;
}

/** Hear what happens until the signal. Throws where the daemon lets nobody in. */
export async function hearAll(
  client: DragomanClient,
  company: Company | null,
  hearer: Hearer,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return;
  if (company === null) return stream(client, hearer, signal);
  const { name, locks } = company;
  const channel = new BroadcastChannel(name);
  try {
    listen(channel, hearer);
    await locks.request(name, { signal }, () => lead(client, channel, hearer, signal));
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    channel.close();
  }
}

function listen(channel: BroadcastChannel, hearer: Hearer): void {
  let now: Connection = "connecting";
  hearer.connected(now);
  channel.onmessage = ({ data }: MessageEvent<Told>) => {
    if (data.is === "touched") hearer.touched(data.sessionId);
    // The answer to another page's question is no news.
    if (data.is !== "connected" || data.connection === now) return;
    now = data.connection;
    hearer.connected(now);
  };
  tell(channel, { is: "how" });
}

async function lead(
  client: DragomanClient,
  channel: BroadcastChannel,
  hearer: Hearer,
  signal: AbortSignal,
): Promise<void> {
  let now: Connection = "connecting";
  channel.onmessage = ({ data }: MessageEvent<Told>) => {
    if (data.is === "how") tell(channel, { is: "connected", connection: now });
  };
  const connected = (connection: Connection) => {
    now = connection;
    hearer.connected(connection);
    tell(channel, { is: "connected", connection });
  };
  const touched = (sessionId: string) => {
    hearer.touched(sessionId);
    tell(channel, { is: "touched", sessionId });
  };
  await stream(client, { connected, touched }, signal);
}

async function stream(client: DragomanClient, hearer: Hearer, signal: AbortSignal): Promise<void> {
  const onConnection = hearer.connected;
  const feed = client.streamAll({ types: TYPES, signal, onConnection });
  for await (const { event } of feed) hearer.touched(event.session_id);
}

function tell(channel: BroadcastChannel, told: Told): void {
  channel.postMessage(told);
}
