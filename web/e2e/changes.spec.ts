import { execFileSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { Daemon } from "./daemon";
import { beginTurn, turnWith, write } from "./files";
import { expect, openSession, signIn, test } from "./test";

const changesOf = (page: Page) => page.getByRole("region", { name: "Changes", exact: true });
const turnsOf = (page: Page) => page.getByRole("navigation", { name: "Whose changes" });
const fileOf = (page: Page, name: string) =>
  page.getByRole("article", { name: `Changes to ${name}`, exact: true });

test("files are seen while a turn runs, its diff when it ends, and from the conversation", async ({
  inside: page,
  daemon,
}) => {
  write(daemon.files, { "src/greeting.py": 'print("Hi")\n' });
  const id = await openSession(page, daemon, "Greeter");
  await page.getByRole("link", { name: "Changes", exact: true }).click();
  await expect(page).toHaveURL(new RegExp(`#/sessions/${id}/changes$`));
  await expect(page.getByRole("heading", { name: "No changes yet" })).toBeVisible();
  await expect(changesOf(page)).toContainText(daemon.files);

  const finish = await beginTurn(daemon, id);
  write(daemon.files, { "src/greeting.py": 'print("Hello")\n', "notes.txt": "one\ntwo\n" });
  await turnsOf(page)
    .getByRole("link", { name: /permission.*2 files/s })
    .click();
  await expect(fileOf(page, "notes.txt")).toContainText("created");
  await expect(fileOf(page, "src/greeting.py")).toContainText("changed");
  await expect(changesOf(page)).toContainText("its diff comes at its end");
  expect((await daemon.client.getSession(id)).status).toBe("waiting");

  const turnId = await finish();
  await expect(page).toHaveURL(new RegExp(`/changes/${turnId}$`));
  await expect(fileOf(page, "src/greeting.py")).toContainText('print("Hello")');
  await expect(fileOf(page, "src/greeting.py")).toContainText("+1 −1");
  await expect(changesOf(page)).toContainText("2 files changed +3 −1");
  await expect(changesOf(page)).not.toContainText("its diff comes at its end");

  await page.getByRole("link", { name: "Conversation", exact: true }).click();
  const log = page.getByRole("log");
  await expect(log).not.toContainText("notes.txt");
  await log.getByRole("link", { name: "2 files changed +3 −1" }).click();
  await expect(page).toHaveURL(new RegExp(`/changes/${turnId}$`));
  await expect(fileOf(page, "notes.txt")).toContainText("two");
});

test("each turn has its own changes, and the session all, up to now", async ({
  inside: page,
  daemon,
  context,
}) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const { files } = daemon;
  write(files, { "a.txt": "1\n", "old.txt": "same\nlines\nof it\n", "gone.txt": "x\n" });
  const id = await openSession(page, daemon);
  const first = await turnWith(daemon, id, () => write(files, { "a.txt": "2\n" }));
  const second = await turnWith(daemon, id, () => {
    write(files, { "b/new.txt": "n\n", "logo.png": Buffer.from([0, 1, 2, 255, 0]) });
    write(files, { "sub/renamed ä.txt": "same\nlines\nof it\n" });
    rmSync(join(files, "old.txt"));
    rmSync(join(files, "gone.txt"));
  });
  await page.goto(`${daemon.url}/ui/#/sessions/${id}/changes`);

  const turns = turnsOf(page).getByRole("link");
  await expect(turns).toHaveCount(3);
  await expect(turns.nth(0)).toHaveAttribute("aria-current", "page");
  await expect(changesOf(page)).toContainText("5 files changed");
  await expect(fileOf(page, "a.txt")).toContainText("+1 −1");

  await turns.nth(2).click();
  await expect(page).toHaveURL(new RegExp(`/changes/${first}$`));
  await expect(changesOf(page)).toContainText("1 file changed +1 −1");
  await turns.nth(1).click();
  await expect(page).toHaveURL(new RegExp(`/changes/${second}$`));
  await expect(fileOf(page, "logo.png")).toContainText("binary");
  await expect(fileOf(page, "gone.txt")).toContainText("deleted");
  await expect(fileOf(page, "sub/renamed ä.txt")).toContainText("from old.txt");
  await expect(fileOf(page, "a.txt")).toHaveCount(0);

  await page.getByRole("button", { name: "Copy patch" }).click();
  await expect(page.getByRole("button", { name: "Copied" })).toBeVisible();
  const { diff } = await daemon.client.getDiff(id, { turn: second });
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(diff);
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  const saved = await saving;
  expect(saved.suggestedFilename()).toBe(`${id}-${second}.patch`);
  expect(readFileSync(await saved.path(), "utf8")).toBe(diff);

  await turns.nth(0).click();
  write(files, { "by-hand.txt": "now\n" });
  await expect(fileOf(page, "by-hand.txt")).toContainText("now");
  await page.goBack();
  await expect(page).toHaveURL(new RegExp(`/changes/${second}$`));
});

test("a session whose file events are off says so", async ({ inside: page, daemon }) => {
  const { client, files: directory } = daemon;
  await client.createSession("off", { agent: "mock", directory, fileEvents: false });
  await turnWith(daemon, "off", () => write(directory, { "a.txt": "1\n" }));
  await page.goto(`${daemon.url}/ui/#/sessions/off/changes`);
  await expect(page.getByRole("heading", { name: "File events are off" })).toBeVisible();
  await expect(page.getByRole("alert")).toHaveCount(0);
});

test("with diffs of files, a running turn shows them", async ({ inside: page, daemon }) => {
  const { client, files: directory } = daemon;
  write(directory, { "a.txt": "1\n" });
  await client.createSession("live", { agent: "mock", directory, fileEvents: { diff: true } });
  const finish = await beginTurn(daemon, "live");
  await page.goto(`${daemon.url}/ui/#/sessions/live/changes`);
  write(directory, { "a.txt": "1\n2\n" });
  await turnsOf(page)
    .getByRole("link", { name: /running/ })
    .click();
  await expect(fileOf(page, "a.txt")).toContainText("+1 −0");
  await finish();
  await expect(changesOf(page)).toContainText("1 file changed +1 −0");
});

test("many and long files are folded, and come when they are wanted", async ({
  inside: page,
  daemon,
}) => {
  const many = Object.fromEntries(
    Array.from({ length: 300 }, (_, at) => [`many/file-${1000 + at}.txt`, `${at}\n`]),
  );
  const id = await openSession(page, daemon);
  const lines = Array.from({ length: 3_000 }, (_, at) => `line ${at}`).join("\n");
  await turnWith(daemon, id, () => write(daemon.files, { ...many, "a-long.ts": `${lines}\n` }));
  await page.goto(`${daemon.url}/ui/#/sessions/${id}/changes`);
  await expect(changesOf(page)).toContainText("301 files changed");
  expect(await page.getByRole("article").count()).toBeLessThan(60);

  const long = fileOf(page, "a-long.ts");
  await long.getByRole("button", { name: /a-long\.ts/ }).press("Enter");
  await expect(long).toContainText("line 199");
  await expect(long).not.toContainText("line 200");
  await long.getByRole("button", { name: "Show 1000 more lines" }).click();
  await expect(long).toContainText("line 1199");

  const index = page.getByRole("navigation", { name: "Changed files" });
  await index.evaluate((element) => element.scrollTo(0, element.scrollHeight));
  await index.getByRole("button", { name: /file-1299/ }).click();
  await expect(fileOf(page, "many/file-1299.txt")).toContainText("299");
  await expect(fileOf(page, "many/file-1299.txt")).toBeInViewport();
  await page.getByRole("button", { name: "Fold all" }).click();
  await expect(page.getByRole("button", { name: "Unfold all" })).toBeVisible();
  await expect(page.getByRole("button", { expanded: true })).toHaveCount(0);
});

test("what is left out is named, and said", async ({ page }) => {
  const daemon = new Daemon([], { DRAGOMAN_MAX_DIFF_BYTES: "2048" });
  await daemon.start();
  try {
    await signIn(page, daemon);
    const id = await openSession(page, daemon);
    await turnWith(daemon, id, () =>
      write(daemon.files, { "long.txt": "x\n".repeat(5_000), "short.txt": "y\n" }),
    );
    await page.goto(`${daemon.url}/ui/#/sessions/${id}/changes`);
    await expect(changesOf(page)).toContainText("This is not everything.");
    await expect(fileOf(page, "long.txt")).toContainText("left out");
    await expect(fileOf(page, "long.txt")).toContainText(/Left out: its diff has .* KB/);
    await expect(fileOf(page, "short.txt")).toContainText("+1 −0");
  } finally {
    await page.close();
    await daemon.remove();
  }
});

test("in a repository, what a turn has committed is among its changes", async ({
  inside: page,
  daemon,
}) => {
  const directory = daemon.files;
  const git = (...words: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...words], {
      cwd: directory,
    });
  write(directory, { "a.txt": "1\n" });
  git("init", "-q");
  git("add", "-A");
  git("commit", "-qm", "first");
  const id = await openSession(page, daemon);
  await turnWith(daemon, id, () => {
    write(directory, { "a.txt": "2\n" });
    git("commit", "-qam", "second");
  });
  await page.goto(`${daemon.url}/ui/#/sessions/${id}/changes`);
  await expect(fileOf(page, "a.txt")).toContainText("+1 −1");
});

test.describe("on a phone", () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

  test("the turns are a line that scrolls, and the files are the list", async ({
    inside: page,
    daemon,
  }) => {
    const id = await openSession(page, daemon, "From my phone");
    const first = await turnWith(daemon, id, () => write(daemon.files, { "first.txt": "1\n" }));
    const long = `${"a-very-long-folder-name/".repeat(6)}file.ts`;
    await turnWith(daemon, id, () => write(daemon.files, { "a.txt": "1\n", [long]: "2\n" }));
    await turnWith(daemon, id, () => write(daemon.files, { "a.txt": "2\n" }));
    await page.getByRole("link", { name: "Changes", exact: true }).tap();
    await expect(changesOf(page)).toContainText("3 files changed +3 −0");
    await expect(page.getByRole("navigation", { name: "Changed files" })).toBeHidden();
    await turnsOf(page)
      .getByRole("link", { name: /1 file \+1 −1/ })
      .tap();
    await expect(fileOf(page, "a.txt")).toContainText("+1 −1");
    const toggle = fileOf(page, "a.txt").getByRole("button", { name: /a\.txt/ });
    await toggle.tap();
    await expect(toggle).toHaveAttribute("aria-expanded", "false");
    await page.goto(`${daemon.url}/ui/#/sessions/${id}/changes/${first}`);
    await expect(fileOf(page, "first.txt")).toBeVisible();
    await expect(turnsOf(page).locator("[aria-current]")).toBeInViewport();
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(width).toBe(390);
  });
});
