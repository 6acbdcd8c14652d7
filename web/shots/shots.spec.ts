/** Takes the pictures of docs/images: `make shots`. */

import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { DragomanClient } from "dragoman-client";
import type { Daemon } from "../e2e/daemon";
import { expect, signIn, test } from "../e2e/test";

const IMAGES = resolve(import.meta.dirname, "../../docs/images");
const DESK = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };

/** A small working day, with something that waits. */
async function live(daemon: Daemon): Promise<void> {
  const { client } = daemon;
  const directory = join(daemon.files, "greeter");
  mkdirSync(directory);
  const day: readonly (readonly [string, string, readonly string[]])[] = [
    ["parser", "Refactor the parser", ["reasoning", "subagent", "usage"]],
    ["nightly", "Nightly run", ["error"]],
    ["database", "Pick a database", ["question"]],
    ["explore", "Explore the repository", ["tools", "status"]],
    ["greeting", "Make the greeting friendlier", ["markdown", "edit"]],
  ];
  for (const [id, title, prompts] of day) {
    await client.createSession(id, { agent: "mock", title, directory });
    for (const [at, prompt] of prompts.entries()) {
      await client.postMessage(id, prompt);
      const keeps = at === prompts.length - 1 && (id === "greeting" || id === "database");
      await settle(client, id, keeps);
    }
  }
}

/** Wait for the end of the turn, or for what it asks; say yes unless that shall stay. */
async function settle(client: DragomanClient, id: string, keeps: boolean): Promise<void> {
  await expect
    .poll(async () => {
      const { status, lastOutcome } = await client.getSession(id);
      if (status === "waiting" && !keeps) await agree(client, id);
      return status === "waiting" ? keeps : status === "idle" && lastOutcome !== undefined;
    })
    .toBe(true);
}

async function agree(client: DragomanClient, id: string): Promise<void> {
  const { permissions } = await client.getPending(id);
  for (const asked of permissions) await client.replyPermission(id, asked.permission_id, "once");
}

for (const scheme of ["light", "dark"] as const) {
  test(`pictures, ${scheme}`, async ({ browser, daemon }) => {
    await live(daemon);
    for (const [device, viewport] of Object.entries({ desk: DESK, phone: PHONE })) {
      const context = await browser.newContext({ colorScheme: scheme, viewport });
      const page = await context.newPage();
      await signIn(page, daemon);
      const picture = async (name: string, hash: string, sign: string) => {
        await page.goto(`${daemon.url}/ui/${hash}`);
        await expect(page.getByText(sign).first()).toBeVisible();
        await expect(page.locator(".banner")).toHaveCount(0);
        await page.screenshot({ path: join(IMAGES, `${name}-${scheme}-${device}.png`) });
      };
      await picture("conversation", "#/sessions/greeting", "Wants to change a file");
      await picture("tools", "#/sessions/explore", "Run the tests");
      await picture("events", "#/sessions/explore/events/20", "#20");
      await picture("new-session", "#/new", "Permission");
      await picture("inbox", "#/inbox", "Pick a database");
      await context.close();
    }
  });
}
