/** The page's one client, and what it has called. */

import { type Call, DragomanClient } from "dragoman-client";
import { companyOf } from "../state/feed";
import { placesOf } from "../state/places";
import { Sessions } from "../state/sessions";
import { Store } from "../state/store";

const MOST_CALLS = 300;
/** Longer than the daemon takes for anything that does not take its time. */
const TIMEOUT_MS = 30_000;

/** What the page called, the newest last. */
export const calls = new Store<readonly Call[]>([]);

/** The page is at PREFIX/ui/, so the daemon is one up, behind whatever proxy. */
export const baseUrl = new URL("..", document.baseURI).href.replace(/\/$/, "");

/** A client that sends its requests by this. */
export const clientWith = (send?: typeof fetch) =>
  new DragomanClient({
    baseUrl,
    fetch: send,
    timeoutMs: TIMEOUT_MS,
    onCall: (call) => calls.update((before) => [...before, call].slice(-MOST_CALLS)),
  });

export const client = clientWith();

const company = companyOf(baseUrl);

/** Where conversations find a connection for their stream. */
export const places = placesOf(company);

/** All sessions, for every part of the page. */
export const sessions = new Sessions(client, company);

/** Sign in with a token: it is swapped for a cookie at once, and kept nowhere. */
export async function signIn(token: string): Promise<void> {
  const { ticket } = await new DragomanClient({
    baseUrl,
    token,
    timeoutMs: TIMEOUT_MS,
  }).createTicket();
  await client.login(ticket);
}
