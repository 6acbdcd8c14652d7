import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Daemon } from "./daemon";
import { expect, signIn, test } from "./test";

test("agents, what they can, what runs for them, and how the daemon does", async ({
  inside,
  daemon,
}) => {
  const { client } = daemon;
  await inside.getByRole("link", { name: "Agents", exact: true }).click();
  const cards = inside.getByRole("list", { name: "Agents" });
  const names = ["Amp", "Claude Code", "Codex", "Mock", "OpenCode", "Pi"];
  await expect(cards.getByRole("heading")).toHaveText(names);
  await expect(cards.getByRole("region", { name: "Mock" })).toContainText("needs none");
  await expect(cards.getByRole("region", { name: "Codex" })).toContainText("Shared process");

  const steer = inside.getByRole("row", { name: /^Steer a running turn/ });
  const cells = ["not shown", "yes", "yes", "no", "not shown", "yes"];
  await expect(steer.getByRole("cell")).toHaveText(cells);

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
