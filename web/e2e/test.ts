/** What every browser test begins with: a daemon, and a page that is signed in. */

import { test as base, type Page } from "@playwright/test";
import { Daemon } from "./daemon";

export { expect } from "@playwright/test";

export const test = base.extend<{ daemon: Daemon; inside: Page }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern here.
  daemon: async ({}, use) => {
    const daemon = new Daemon();
    await daemon.start();
    await use(daemon);
    await daemon.remove();
  },
  /** It asks until it is closed: the daemon ends after it, and a route under way fails no test. */
  page: async ({ page, daemon: _ }, use) => {
    await use(page);
    if (!page.isClosed()) await page.unrouteAll({ behavior: "ignoreErrors" });
  },
  /** The page, signed in, at its beginning. */
  inside: async ({ page, daemon }, use) => {
    await signIn(page, daemon);
    await use(page);
  },
});

/** Come in by a ticket. Who goes elsewhere before the cookie is there has lost both. */
export async function signIn(page: Page, daemon: Daemon): Promise<void> {
  const cookie = page.waitForResponse("**/v1/login");
  await page.goto(await daemon.signIn());
  await cookie;
}

let made = 0;

/** A session of the mock agent, and the page that shows it. */
export async function openSession(page: Page, daemon: Daemon, title?: string): Promise<string> {
  const id = `s${process.pid}-${++made}`;
  await daemon.client.createSession(id, { agent: "mock", directory: daemon.files, title });
  await page.goto(`${daemon.url}/ui/#/sessions/${id}`);
  return id;
}
