import { readFile } from "node:fs/promises";
import type { Download, Page } from "@playwright/test";
import type { Event } from "dragoman-client";
import type { Daemon } from "./daemon";
import { expect, openSession, test } from "./test";

const listOf = (page: Page) => page.getByRole("listbox", { name: "Events" });
const rowsOf = (page: Page) => listOf(page).getByRole("option");
const rowOf = (page: Page, sequence: number) =>
  listOf(page).locator("[role=option]", { has: page.getByText(`${sequence}`, { exact: true }) });
const detailOf = (page: Page, sequence: number) =>
  page.getByRole("region", { name: `Event ${sequence}`, exact: true });

async function turn(daemon: Daemon, id: string, message: string): Promise<void> {
  for await (const event of daemon.client.streamTurn(id, message)) {
    if (event.type === "turn.ended") return;
  }
}

async function countOf(daemon: Daemon, id: string): Promise<number> {
  return (await daemon.client.getSession(id)).eventCount;
}

test("every event is a row; the list follows, pauses, and holds any number", async ({
  inside: page,
  daemon,
}) => {
  const id = await openSession(page, daemon);
  await turn(daemon, id, "burst 5000 20");
  await page.getByRole("link", { name: "Events", exact: true }).click();
  const count = await countOf(daemon, id);
  expect(count).toBeGreaterThan(5000);
  await expect(rowOf(page, count)).toContainText("turn.ended");
  await expect(rowOf(page, count)).toContainText("agent");
  expect(await rowsOf(page).count()).toBeLessThan(80);

  await test.step("it grows, and stays at the end", async () => {
    await turn(daemon, id, "echo again");
    const grown = await countOf(daemon, id);
    await expect(rowOf(page, grown)).toBeInViewport();
    await expect(page.getByRole("button", { name: "Following" })).toHaveAttribute(
      "aria-pressed",
      "true",
    );
  });

  await test.step("who scrolls up stays there, and hears of what is new", async () => {
    await listOf(page).hover();
    await page.mouse.wheel(0, -2_000);
    const follow = page.getByRole("button", { name: /^Follow/ });
    await expect(follow).toHaveAttribute("aria-pressed", "false");
    const top = await listOf(page).evaluate((list) => list.scrollTop);
    await turn(daemon, id, "echo once more");
    await expect(follow).toHaveText(/Follow, \d+ new/);
    expect(await listOf(page).evaluate((list) => list.scrollTop)).toBe(top);
    await follow.click();
    await expect(rowOf(page, await countOf(daemon, id))).toBeInViewport();
  });

  await test.step("any event can be gone to", async () => {
    await page.getByLabel("Go to event number").fill("2500");
    await page.keyboard.press("Enter");
    await expect(rowOf(page, 2500)).toBeInViewport();
    await expect(rowOf(page, 2500)).toHaveAttribute("aria-selected", "true");
    await expect(detailOf(page, 2500)).toContainText("item.delta");
  });
});

test("an event in full, with what the agent itself had said; and events that fit", async ({
  inside: page,
  daemon,
}) => {
  const id = await openSession(page, daemon);
  await turn(daemon, id, "demo");
  const events = await daemon.client.getEvents(id, { includeRaw: true });
  const spoken = events.find((event) => event.type === "item.delta" && !event.synthetic) as Event;
  const { sequence } = spoken;
  await page.goto(`${daemon.url}/ui/#/sessions/${id}/events/${sequence}`);
  await page.reload();
  const detail = detailOf(page, sequence);
  await expect(detail).toContainText(spoken.event_id);
  await expect(detail).toContainText('"content_type"');

  await test.step("nothing is new to who comes by an address", async () => {
    await expect(page.getByRole("button", { name: /^Follow/ })).toHaveText("Follow");
    await turn(daemon, id, "echo more");
    await expect(page.getByRole("button", { name: /^Follow, \d new/ })).toBeVisible();
  });

  await test.step("raw is the agent's own message", async () => {
    await detail.getByRole("button", { name: "Raw" }).click();
    await expect(detail.locator("pre")).toHaveText(
      new RegExp((spoken.raw as { type: string }).type),
    );
    await expect(detail).not.toContainText('"content_type"');
  });

  await test.step("keys lead to the next and the previous one", async () => {
    await page.keyboard.press("ArrowRight");
    await expect(detailOf(page, sequence + 1)).toBeVisible();
    await listOf(page).focus();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    await expect(detailOf(page, sequence - 1)).toBeVisible();
    await page.keyboard.press("Home");
    await expect(detailOf(page, 1)).toContainText("No message of the agent caused this event.");
    await expect(page.getByRole("button", { name: "Previous event" })).toBeDisabled();
    await page.keyboard.press("Escape");
    await expect(page.getByRole("region", { name: /^Event \d/ })).toHaveCount(0);
    await expect(rowOf(page, 1)).toHaveAccessibleName(/session.started daemon synthetic/);
  });

  await test.step("a type, or a text, leaves only what fits", async () => {
    await page.getByRole("button", { name: "turn.ended", exact: true }).click();
    await expect(page.getByText("2 found")).toBeVisible();
    await expect(rowsOf(page)).toHaveCount(2);
    await turn(daemon, id, "echo a needle in the hay");
    await expect(rowsOf(page)).toHaveCount(3);
    await page.getByRole("button", { name: "turn.ended", exact: true }).click();
    await page.getByLabel("Find in all events").fill("NEEDLE IN");
    await expect(page.getByText(/^\d+ found$/)).toBeVisible();
    for (const row of await rowsOf(page).all()) await expect(row).toContainText("needle");
    await page.getByLabel("Find in all events").fill("nowhere at all");
    await expect(page.getByText("Nothing found")).toBeVisible();
    await page.getByRole("button", { name: "Show all events" }).click();
    await expect(rowsOf(page).nth(5)).toBeVisible();
  });

  await test.step("all but deltas is one click, and one more back", async () => {
    const all = await daemon.client.getEvents(id);
    const others = all.filter(({ type }) => type !== "item.delta").length;
    const button = page.getByRole("button", { name: "all but deltas" });
    await button.click();
    await expect(page.getByText(`${others} found`)).toBeVisible();
    await button.click();
    await expect(page.getByText(`${others} found`)).toHaveCount(0);
  });

  await test.step("and back to where it stands in the conversation", async () => {
    await page.getByLabel("Go to event number").fill(`${sequence}`);
    await page.keyboard.press("Enter");
    await detailOf(page, sequence).getByRole("link", { name: "In the conversation" }).click();
    await expect(page).toHaveURL(new RegExp(`/sessions/${id}/conversation/${sequence}$`));
  });
});

test("a session is saved as a file, and what the page asked is a command", async ({
  inside: page,
  daemon,
  context,
}) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const id = await openSession(page, daemon, "To be kept");
  await turn(daemon, id, "demo");
  await page.goto(`${daemon.url}/ui/#/sessions/${id}/events`);

  await test.step("as JSON lines, without raw and with it", async () => {
    const plain = await linesOf(await save(page, "JSON lines Every event"));
    expect(plain).toEqual([...(await daemon.client.getEvents(id))]);
    const raw = await linesOf(await save(page, "JSON lines with raw"));
    expect(raw).toEqual([...(await daemon.client.getEvents(id, { includeRaw: true }))]);
  });

  await test.step("as Markdown", async () => {
    const download = await save(page, "Markdown");
    expect(download.suggestedFilename()).toBe(`${id}.md`);
    const text = await readFile(await download.path(), "utf8");
    expect(text).toMatch(/^# To be kept\n/);
    expect(text).toContain("## You\n\ndemo");
    expect(text).toContain("```diff");
  });

  await test.step("requests are listed, and copied as curl", async () => {
    await page.getByRole("link", { name: "Requests" }).click();
    const line = page.getByRole("button", {
      name: new RegExp(`GET /v1/sessions/${id}/events/sse\\?.*include_raw=true 200`),
    });
    await line.first().click();
    await page.getByRole("button", { name: "Copy as curl" }).click();
    const command = await page.evaluate(() => navigator.clipboard.readText());
    expect(command).toMatch(/^curl -N 'http:.*include_raw=true' \\\n/);
    expect(command).toContain('-H "Authorization: Bearer $DRAGOMAN_TOKEN"');
    // Without HTTPS a browser has no clipboard for pages.
    await page.evaluate(() => {
      const { clipboard } = navigator;
      Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true });
      Object.assign(window, { clipboard });
      return clipboard.writeText("nothing");
    });
    await page.getByRole("button", { name: "Copy as curl" }).click();
    await expect(page.getByRole("button", { name: "Copied" })).toBeFocused();
    const again = () =>
      page.evaluate(() => (window as unknown as { clipboard: Clipboard }).clipboard.readText());
    expect(await again()).toBe(command);
    await line.first().click();
    await page.getByRole("button", { name: "POST /v1/login 204" }).click();
    await expect(page.getByText("Secrets are left out")).toBeVisible();
    await expect(page.getByRole("figure", { name: "As curl" })).toContainText('{"ticket":"•••"}');
    await page.getByRole("button", { name: "Clear" }).click();
    await expect(page.getByText("Nothing yet.")).toBeVisible();
  });
});

async function save(page: Page, format: string): Promise<Download> {
  await page.getByRole("button", { name: "Export" }).click();
  const dialog = page.getByRole("dialog", { name: "Export" });
  await dialog.getByRole("radio", { name: format }).check();
  const download = page.waitForEvent("download");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog).toBeHidden();
  await expect(page.getByRole("button", { name: "Export" })).toBeFocused();
  return download;
}

async function linesOf(download: Download): Promise<unknown[]> {
  const text = await readFile(await download.path(), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}
