/** Shows a recording of a real agent as the log of a session, for what the mock agent never says. */

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Page } from "@playwright/test";
import type { Event } from "dragoman-client";
import type { Daemon } from "./daemon";

const RECORDINGS = resolve(import.meta.dirname, "../../tests/agents");

/** The events of a recording, in the order of its log. */
export function recordedEvents(agent: string, name: string): Event[] {
  const text = readFileSync(join(RECORDINGS, agent, name, "events.jsonl"), "utf8");
  const lines = text.trimEnd().split("\n");
  // What stands as raw is the number of a line of the transcript.
  return lines.map((line) => ({ ...JSON.parse(line), raw: null }));
}

/** Make a session whose log the page takes to be these events, and which says nothing more. */
export async function showLog(
  page: Page,
  daemon: Daemon,
  id: string,
  events: readonly Event[],
): Promise<void> {
  await daemon.client.createSession(id, { agent: "mock", directory: daemon.files, title: id });
  const { chain: _, ...info } = await daemon.client.getSession(id);
  const session = `${daemon.url}/v1/sessions/${id}`;
  // Answered from here, not fetched: a fetch under way when the test ends would fail it.
  await page.route(session, (route) =>
    route.fulfill({ json: { ...info, eventCount: events.length } }),
  );
  await page.route(`${session}/events?*`, async (route) => {
    const query = new URL(route.request().url()).searchParams;
    const offset = Number(query.get("offset") ?? 0);
    const limit = Number(query.get("limit") ?? 1000);
    const part = events.slice(offset, offset + limit);
    const hasMore = offset + part.length < events.length;
    await route.fulfill({ json: { events: part, hasMore } });
  });
  await page.route(`${session}/events/sse*`, (route) => route.fulfill({ status: 204 }));
  await page.goto(`${daemon.url}/ui/#/sessions/${id}`);
}
