import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { expect, signIn, test } from "./test";

const list = (page: Page) => page.getByRole("list", { name: "Sessions" });
const row = (page: Page, title: string) =>
  list(page)
    .getByRole("listitem")
    .filter({ has: page.getByText(title, { exact: true }) });

test("a first look: one click leads to a conversation with the mock agent", async ({ inside }) => {
  await expect(inside.getByRole("heading", { name: "Welcome to Dragoman" })).toBeVisible();
  await expect(inside.getByRole("main").getByText("Claude Code")).toBeVisible();
  await inside.getByRole("button", { name: "Talk to the mock agent" }).click();
  await expect(inside).toHaveURL(/#\/sessions\/.+/);
  const link = list(inside).getByRole("link", { name: /A first look/ });
  await expect(link).toHaveAttribute("aria-current", "page");
  await expect(inside.getByRole("textbox", { name: "Message" })).toBeFocused();
  await inside.keyboard.type("demo");
  await expect(inside.getByRole("textbox", { name: "Message" })).toHaveValue("demo");
  await expect(inside).toHaveTitle("A first look · Dragoman");

  await inside.getByRole("link", { name: "Dragoman", exact: true }).click();
  await expect(inside.getByRole("heading", { name: "Recent" })).toBeVisible();
  await inside
    .getByRole("main")
    .getByRole("link", { name: /A first look/ })
    .click();
  await expect(inside).toHaveURL(/#\/sessions\/.+/);
});

test("the list is live, says what waits, and can be searched and filtered", async ({
  inside,
  daemon,
}) => {
  const { client } = daemon;
  const folder = join(daemon.files, "projects", "apples");
  mkdirSync(folder, { recursive: true });
  await client.createSession("apple", { agent: "mock", title: "Pick apples", directory: folder });
  await client.createSession("pear", { agent: "mock", title: "Pick pears" });
  await client.postMessage("pear", "echo done");
  await expect(row(inside, "Pick apples")).toContainText("mock · …/projects/apples");
  await expect(row(inside, "Pick apples")).toContainText("idle");
  await expect(row(inside, "Pick pears")).toContainText("$0.00");

  await client.postMessage("apple", "permission");
  await expect(row(inside, "Pick apples")).toContainText("waiting for you");
  await expect(inside).toHaveTitle("(1) Dragoman");
  await expect(inside.getByRole("link", { name: /Inbox 1/ })).toBeVisible();
  await expect(inside.getByRole("region", { name: "Waiting for you" })).toContainText(
    "Wants to run a command: make clean",
  );

  await inside.getByLabel("State").selectOption("Waiting for you");
  await expect(list(inside).getByRole("listitem")).toHaveCount(1);
  await inside.getByLabel("State").selectOption("Any state");
  await inside.keyboard.press("Escape");
  await inside.getByRole("heading", { name: "Recent" }).click();
  await inside.keyboard.press("/");
  await inside.keyboard.type("PEAR");
  await expect(row(inside, "Pick apples")).toBeHidden();
  await expect(row(inside, "Pick pears")).toBeVisible();
  await inside.keyboard.press("Escape");
  await expect(inside.getByRole("main")).toBeFocused();
  await inside.getByLabel("Search sessions").fill("nothing like it");
  await expect(inside.getByText("No session fits.")).toBeVisible();
  await inside.getByLabel("Search sessions").fill("");
  await inside.getByLabel("Agent", { exact: true }).selectOption("Codex");
  await expect(inside.getByText("No session fits.")).toBeVisible();
  await inside.getByLabel("Agent", { exact: true }).selectOption("All agents");
  await expect(list(inside).getByRole("listitem")).toHaveCount(2);

  const [asked] = (await client.getPending("apple")).permissions;
  await client.replyPermission("apple", asked?.permission_id ?? "", "once");
  await expect(inside).toHaveTitle("Dragoman");
  await client.terminateSession("apple");
  await expect(row(inside, "Pick apples")).toContainText("ended");
});

test("sessions are walked through, renamed and deleted by keyboard", async ({ inside, daemon }) => {
  const { client } = daemon;
  for (const title of ["third", "second", "first"]) {
    await client.createSession(title, { agent: "mock", title });
    await expect(row(inside, title)).toBeVisible();
  }
  await inside.keyboard.press("j");
  await inside.keyboard.press("j");
  await inside.keyboard.press("k");
  await inside.keyboard.press("ArrowDown");
  await expect(list(inside).getByRole("link", { name: /^second/ })).toBeFocused();
  await inside.keyboard.press("Enter");
  await expect(inside).toHaveURL(/#\/sessions\/second$/);

  await inside.goto(`${daemon.url}/ui/#/`);
  await list(inside)
    .getByRole("link", { name: /^second/ })
    .focus();
  await inside.keyboard.press("Tab");
  await expect(inside.getByRole("button", { name: "Actions for second" })).toBeFocused();
  await inside.keyboard.press("Enter");
  await expect(inside.getByRole("menuitem", { name: "Rename…" })).toBeFocused();
  await inside.keyboard.press("Enter");
  await inside.keyboard.type("better");
  await inside.keyboard.press("Enter");
  await expect(row(inside, "better")).toBeVisible();
  expect((await client.getSession("second")).title).toBe("better");

  await expect(inside.getByRole("button", { name: "Actions for better" })).toBeFocused();
  await inside.keyboard.press("Enter");
  await inside.keyboard.press("End");
  await inside.keyboard.press("Enter");
  const question = inside.getByRole("dialog", { name: "Delete the session?" });
  await question.getByRole("button", { name: "Cancel" }).click();
  await expect(row(inside, "better")).toBeVisible();
  await expect(inside.getByRole("button", { name: "Actions for better" })).toBeFocused();
  await inside.getByRole("button", { name: "Actions for better" }).click();
  await inside.getByRole("menuitem", { name: "Delete…" }).click();
  await question.getByRole("button", { name: "Delete" }).click();
  await expect(row(inside, "better")).toBeHidden();
  await expect(inside.getByRole("main")).toBeFocused();
  await expect(client.getSession("second")).rejects.toThrow(/no session/);

  // Deleted elsewhere, it goes here too.
  await client.deleteSession("third");
  await expect(row(inside, "third")).toBeHidden();
});

test("hundreds of sessions: few are drawn, all can be reached", async ({ page, daemon }) => {
  const ids = Array.from({ length: 250 }, (_, number) => `many-${number}`);
  await Promise.all(ids.map((id) => daemon.client.createSession(id, { agent: "mock" })));
  await signIn(page, daemon);
  await expect(list(page).getByRole("listitem").first()).toBeVisible();
  expect(await list(page).getByRole("listitem").count()).toBeLessThan(60);
  await page.keyboard.press("j");
  const last = list(page).getByRole("listitem").last();
  await expect(async () => {
    await page.keyboard.press("End");
    await expect(last).toHaveAttribute("aria-posinset", "250", { timeout: 500 });
  }).toPass();
  await expect(last.getByRole("link")).toBeFocused();
  await page.keyboard.press("Home");
  await expect(list(page).getByRole("link").first()).toBeFocused();

  // What is looked for is shown from its beginning.
  await page.keyboard.press("End");
  await expect(list(page).locator("[aria-posinset='1']")).not.toBeInViewport();
  await page.getByLabel("Search sessions").fill("many");
  await expect(list(page).locator("[aria-posinset='1']")).toBeInViewport();
});

test("six windows of one browser work side by side, and come back when the daemon does", async ({
  inside,
  context,
  daemon,
}) => {
  const { client } = daemon;
  const ids = ["one", "two", "three", "four", "five", "six"];
  // A browser has six connections: one is the feed, three are streams, and the rest is for people.
  const connections = 4;
  for (const id of ids) await client.createSession(id, { agent: "mock", title: `Window ${id}` });
  const others = await Promise.all(ids.slice(1).map(() => context.newPage()));
  const pages = [inside, ...others].map((page, at) => ({ page, id: ids[at] ?? "" }));
  for (const { page, id } of pages) {
    await page.goto(`${daemon.url}/ui/#/sessions/${id}`);
    await expect(row(page, "Window six")).toBeVisible();
  }
  for (const { page, id } of pages) {
    await page.getByRole("textbox", { name: "Message" }).fill(`echo from ${id}`);
    await page.keyboard.press("Enter");
    await expect(page.getByRole("log").getByText(`from ${id}`, { exact: true })).toBeVisible();
  }
  await expect.poll(async () => (await client.status()).readers).toBe(connections);

  await test.step("all hear what happens, also when the first one is closed", async () => {
    await client.updateSession("one", { title: "Renamed" });
    for (const { page } of pages) await expect(row(page, "Renamed")).toBeVisible();
    await inside.close();
    await expect.poll(async () => (await client.status()).readers).toBe(connections);
    await client.updateSession("one", { title: "Renamed again" });
    for (const page of others) await expect(row(page, "Renamed again")).toBeVisible();
  });

  await test.step("a session that is opened while the daemon is away", async () => {
    const [page] = others as [Page];
    await daemon.kill();
    await expect(page.getByText("The connection is lost")).toBeVisible();
    await row(page, "Renamed again").getByRole("link").click();
    const problem = page.getByRole("alert").filter({ hasText: "cannot be reached" });
    await expect(problem).toBeVisible();
    await expect(page.getByText("Nothing was said yet.")).toBeHidden();
    await daemon.start();
    await expect(page.getByRole("log").getByText("from one", { exact: true })).toBeVisible();
    await expect(problem).toBeHidden();
  });
});

test("a new session gets all that was chosen, and the page remembers it", async ({
  inside,
  daemon,
}) => {
  mkdirSync(join(daemon.files, "projects", "web"), { recursive: true });
  mkdirSync(join(daemon.files, ".hidden"));
  await inside.getByRole("link", { name: "New session" }).click();
  // Where a real agent is signed in, the form begins with that one.
  await inside.getByRole("radio", { name: /Mock/ }).check();
  await inside.getByLabel("Model", { exact: true }).selectOption("Mock Large");
  await inside.getByLabel("Variant").selectOption("high");
  await inside.getByRole("group", { name: "Mode" }).getByLabel(/Plan/).check();
  await inside.getByLabel(/Accept edits/).check();
  await inside.getByLabel("Title").fill("Everything");

  // The daemon says what is wrong, at the field.
  const missing = join(daemon.files, "missing");
  await inside.getByLabel("Folder").fill("/no/such/folder");
  await inside.getByRole("button", { name: "Start session" }).click();
  await expect(inside.getByRole("alert")).toContainText("/no/such/folder is outside of what");
  await inside.getByLabel("Folder").fill(missing);
  await inside.getByRole("button", { name: "Start session" }).click();
  await expect(inside.getByRole("alert")).toContainText(`no directory '${missing}'`);
  await expect(inside.getByLabel("Folder")).toHaveAttribute("aria-invalid", "true");

  // The picker, by keyboard.
  await inside.getByRole("button", { name: "Browse" }).click();
  const picker = inside.getByRole("dialog", { name: "Choose a folder" });
  await expect(picker.getByRole("button", { name: "projects" })).toBeFocused();
  await expect(picker.getByRole("alert")).toContainText(missing);
  await expect(picker.getByRole("button", { name: ".hidden" })).toBeHidden();
  await picker.getByLabel("Hidden folders").check();
  await expect(picker.getByRole("button", { name: ".hidden" })).toBeVisible();
  await picker.getByRole("button", { name: "projects" }).press("ArrowRight");
  await expect(picker.getByRole("button", { name: "The folder above" })).toBeFocused();
  await inside.keyboard.press("ArrowDown");
  await expect(picker.getByRole("button", { name: "web" })).toBeFocused();
  await picker.getByRole("button", { name: "New folder" }).click();
  await inside.keyboard.type("fresh");
  await inside.keyboard.press("Enter");
  await expect(picker.getByRole("button", { name: "fresh" })).toHaveAttribute("aria-current");
  await picker.getByRole("button", { name: "Choose this folder" }).click();
  const folder = join(daemon.files, "projects", "fresh");
  await expect(inside.getByLabel("Folder")).toHaveValue(folder);

  // What is folded away.
  const folded = inside.getByText("MCP servers, skills, environment");
  await folded.click();
  await inside.getByRole("button", { name: "Add a server" }).click();
  await folded.click();
  await expect(inside.getByLabel("Name of the server")).toBeHidden();
  await inside.getByRole("button", { name: "Start session" }).click();
  await expect(inside.getByLabel("Name of the server")).toBeFocused();
  await inside.getByLabel("Name of the server").fill("docs");
  await inside.getByLabel("Command of the server").fill("npx 'docs server'");
  await inside.getByRole("button", { name: "Edit as JSON" }).click();
  const json = inside.getByLabel("MCP servers as JSON");
  await expect(json).toHaveValue(/"docs server"/);
  await json.fill("{");
  await expect(inside.getByText("This is not JSON")).toBeVisible();
  await json.fill(
    `{"docs": {"command": ["npx", "docs server"]},
      "far": {"url": "https://example.com/mcp", "headers": {"Authorization": "hush-1"}}}`,
  );
  await inside.getByRole("button", { name: "Edit in fields" }).click();
  await expect(inside.getByLabel("Address of the server")).toHaveValue("https://example.com/mcp");
  await inside.getByRole("button", { name: "Add a server" }).click();
  await inside.getByRole("button", { name: "Remove the server", exact: true }).click();
  await expect(inside.getByRole("button", { name: "Add a server" })).toBeFocused();
  const environment = inside.getByRole("group", { name: "Environment" });
  await environment.getByRole("button", { name: "Add a variable" }).click();
  await environment.getByLabel("Name of the variable").fill("SECRET");
  await environment.getByLabel("Value of the variable").fill("hush-2");
  await inside.getByRole("button", { name: "Start session" }).click();

  await expect(inside).toHaveURL(/#\/sessions\/.+/);
  const [made] = (await daemon.client.listSessions()).sessions;
  expect(made).toMatchObject({
    agent: "mock",
    model: "mock-large",
    variant: "high",
    agentMode: "plan",
    permissionMode: "acceptEdits",
    directory: folder,
    title: "Everything",
    mcp: { docs: { type: "local" }, far: { type: "remote" } },
  });

  await inside.getByRole("link", { name: "New session" }).click();
  await expect(inside.getByLabel("Model", { exact: true })).toHaveValue("mock-large");
  await expect(inside.getByLabel("Variant")).toHaveValue("high");
  await expect(inside.getByLabel(/Accept edits/)).toBeChecked();
  await expect(inside.getByLabel("Folder")).toHaveValue(folder);
  await expect(inside.getByLabel("Title")).toHaveValue("");
  const kept = await inside.evaluate(() => JSON.stringify({ ...localStorage }));
  expect(kept).toContain("docs server");
  expect(kept).not.toContain("hush");

  // Another model than those that are offered.
  await inside.getByLabel("Model", { exact: true }).selectOption("Another…");
  await inside.getByLabel("Name of the model").fill("mock-of-my-own");
  await inside.getByRole("button", { name: "Start session" }).click();
  await expect
    .poll(async () => (await daemon.client.listSessions()).sessions[0]?.model)
    .toBe("mock-of-my-own");
});

test("the footer: the look, the shortcuts, the version, and the way out", async ({
  inside,
  daemon,
}) => {
  await expect(inside.getByText(/^Dragoman \d+\.\d+/)).toBeVisible();
  await inside.getByRole("button", { name: /^Look: as the system/ }).click();
  await expect(inside.locator("html")).toHaveAttribute("data-theme", "light");
  await inside.getByRole("button", { name: /^Look: light/ }).click();
  await expect(inside.locator("html")).toHaveAttribute("data-theme", "dark");
  await inside.getByRole("button", { name: "Keyboard shortcuts" }).click();
  const sheet = inside.getByRole("dialog", { name: "Keyboard shortcuts" });
  await expect(sheet).toContainText("Search sessions");
  await expect(sheet).toContainText("Allow once, when an agent asks");
  await inside.keyboard.press("Escape");
  await inside.getByRole("button", { name: "Sign out" }).click();
  await expect(inside.getByLabel("Token")).toBeVisible();
  await expect(inside.getByText("no longer good")).toBeHidden();

  // Who is put out is told why.
  const { token } = await daemon.client.createToken({ name: "guest", scopes: ["read"] });
  await inside.getByLabel("Token").fill(token);
  await inside.getByRole("button", { name: "Sign in" }).click();
  await expect(inside.getByText(/^Dragoman \d+\.\d+/)).toBeVisible();
  await daemon.client.revokeToken("guest");
  await expect(inside.getByRole("alert")).toHaveText(
    "Your sign-in is no longer good: it was revoked, or has expired.",
  );
});
