import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Daemon } from "./daemon";
import { expect, signIn, test } from "./test";

const AGENT = join(import.meta.dirname, "../../tests/acp_agent/agent.py");

test("agents, what they can, what runs for them, and how the daemon does", async ({
  inside,
  daemon,
}) => {
  const { client } = daemon;
  await inside.getByRole("link", { name: "Agents", exact: true }).click();
  const cards = inside.getByRole("list", { name: "Agents" });
  const names = ["Amp", "Claude Code", "Codex", "Grok Build", "Mock", "OpenCode", "Pi"];
  await expect(cards.getByRole("heading")).toHaveText(names);
  await expect(cards.getByRole("region", { name: "Mock" })).toContainText("needs none");
  await expect(cards.getByRole("region", { name: "Codex" })).toContainText("Shared process");

  const steer = inside.getByRole("row", { name: /^Steer a running turn/ });
  const cells = ["not shown", "yes", "yes", "no", "no", "not shown", "yes"];
  await expect(steer.getByRole("cell").nth(6)).toBeVisible();
  const told = await steer.getByRole("cell").allTextContents();
  expect(told.slice(0, names.length)).toEqual(cells); // then the catalogue's, as installed here

  const catalogue = inside.getByRole("list", { name: "Catalogue" });
  const gemini = catalogue.getByRole("region", { name: "Gemini CLI" });
  await expect(gemini).toContainText("the catalogue");

  const about = inside.getByRole("region", { name: "The daemon" });
  await expect(about).toContainText("healthy");
  await expect(about).toContainText((await client.status()).version);
  await expect(about).toContainText(daemon.data);

  await expect(inside.getByText("No agent runs now.")).toBeVisible();
  await client.createSession("busy", { agent: "mock", title: "A busy one" });
  await client.postMessage("busy", "spawn-children");
  const process = inside.getByRole("article", { name: /^Mock, process/ });
  await expect(process).toContainText("MB");
  await expect(process).toContainText("% cpu");
  expect(await process.getByRole("row").count()).toBeGreaterThan(2);
  await process.getByRole("link", { name: "A busy one" }).click();
  await expect(inside).toHaveURL(/#\/sessions\/busy$/);

  await inside.goto(`${daemon.url}/ui/#/agents`);
  await client.terminateSession("busy");
  await expect(inside.getByText("No agent runs now.")).toBeVisible();

  await daemon.kill();
  await expect(about).toContainText("cannot be heard");
  await expect(inside.getByText("The connection is lost")).toBeVisible();
  await expect(inside.getByRole("main").getByText("cannot be reached")).toHaveCount(0);
});

test("an agent that is not there: it is said, and installing shows how it goes", async ({
  page,
}) => {
  // No npm, so that the installation fails, and says why.
  const daemon = new Daemon([], { PATH: "/nowhere", HOME: "/nowhere" });
  daemon.env.DRAGOMAN_AGENTS_DIR = join(daemon.data, "agents");
  await daemon.start();
  try {
    await signIn(page, daemon);
    await page.getByRole("link", { name: "New session" }).click();
    await expect(page.getByRole("radio", { name: /Mock/ })).toBeChecked();
    await page.getByRole("radio", { name: "Claude Code not installed" }).check();
    await expect(page.getByText("It is installed with the session")).toBeVisible();

    await page.getByRole("link", { name: "Agents", exact: true }).click();
    let go = () => {};
    const gate = new Promise<void>((open) => {
      go = open;
    });
    await page.route("**/v1/agents/claude/install", async (route) => {
      await gate;
      await route.continue();
    });
    const card = page.getByRole("region", { name: "Claude Code" });
    await card.getByRole("button", { name: "Install Claude Code" }).click();
    await expect(card.getByRole("progressbar", { name: "Installing Claude Code" })).toBeVisible();
    await expect(card.getByRole("button", { name: "Install Claude Code" })).toBeDisabled();
    go();
    await expect(card.getByRole("alert")).toContainText("npm");
    await expect(card.getByRole("button", { name: "Install Claude Code" })).toBeEnabled();
  } finally {
    await daemon.remove();
  }
});

test("an agent that is too old says so, and what mends it", async ({ page }) => {
  const daemon = new Daemon([]);
  const old = join(daemon.files, "old-claude");
  writeFileSync(old, "#!/bin/sh\necho '2.1.19 (Claude Code)'\n", { mode: 0o755 });
  daemon.env.DRAGOMAN_CLAUDE_COMMAND = old;
  await daemon.start();
  try {
    await signIn(page, daemon);
    const problem = /Claude Code 2\.1\.19 at .* is too old: .* dragoman agents install claude/;
    await page.getByRole("link", { name: "New session" }).click();
    await page.getByRole("radio", { name: /Claude Code/ }).check();
    await expect(page.getByText(problem)).toBeVisible();
    await page.getByRole("link", { name: "Agents", exact: true }).click();
    await expect(page.getByRole("region", { name: "Claude Code" })).toContainText(problem);
  } finally {
    await daemon.remove();
  }
});

test("an agent that speaks ACP is added, used and removed", async ({ inside, daemon }) => {
  await inside.getByRole("link", { name: "Agents", exact: true }).click();
  await inside.getByRole("button", { name: "Add an agent" }).click();
  const form = inside.getByRole("dialog", { name: "Add an agent" });
  await form.getByLabel("Id", { exact: true }).fill("Mine");
  await form.getByLabel("Command", { exact: true }).fill(`python3 -S ${AGENT}`);
  await form.getByRole("button", { name: "Add", exact: true }).click();
  await expect(form.getByRole("alert")).toContainText("lower case");

  await form.getByLabel("Id", { exact: true }).fill("mine");
  await form.getByLabel("Name", { exact: true }).fill("My own");
  await form.getByRole("button", { name: "Add a variable" }).click();
  await form.getByLabel("Name of the variable").fill("MY_KEY");
  await form.getByLabel("Value of the variable MY_KEY").fill("a secret value");
  await form.getByLabel("commands through the daemon").check();
  await form.getByRole("button", { name: "Add", exact: true }).click();
  await expect(form).toHaveCount(0);

  const card = inside.getByRole("region", { name: "My own" });
  for (const fact of ["added over HTTP", "not verified", "MY_KEY", "commands"]) {
    await expect(card).toContainText(fact);
  }
  await expect(inside.getByText("a secret value")).toHaveCount(0);
  await expect(card.getByRole("button", { name: "Install My own" })).toHaveCount(0);

  await inside.getByRole("link", { name: "New session" }).click();
  await inside.getByRole("radio", { name: /My own/ }).check();
  await inside.getByLabel("Folder", { exact: true }).fill(daemon.files);
  await inside.getByRole("button", { name: "Start session" }).click();
  await inside.getByRole("textbox", { name: "Message" }).fill("good morning");
  await inside.keyboard.press("Enter");
  const answer = inside.getByRole("article", { name: "Message from the agent" });
  await expect(answer).toContainText("good morning");

  await inside.getByRole("link", { name: "Agents", exact: true }).click();
  await card.getByRole("button", { name: "Remove My own" }).click();
  const asking = inside.getByRole("dialog", { name: "Remove the agent?" });
  await asking.getByRole("button", { name: "Remove", exact: true }).click();
  await expect(card).toHaveCount(0);
  await expect(inside.getByText("My own is removed.")).toBeVisible();
});

test("who is no admin adds no agent", async ({ page, daemon }) => {
  const { token } = await daemon.client.createToken({ name: "w", scopes: ["write"] });
  await page.goto(`${daemon.url}/ui/`);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("link", { name: "Agents", exact: true }).click();
  const add = page.getByRole("button", { name: "Add an agent" });
  await expect(add).toBeDisabled();
  await expect(add).toHaveAttribute("title", "Your token may not add agents.");
});
