import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import type { Daemon } from "./daemon";
import { isMissing, Model } from "./model";
import { test as base, expect } from "./test";

const test = base.extend<{ model: Model }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern here.
  model: async ({}, use) => {
    const model = new Model();
    await use(model);
    await model.stop();
  },
});

/** How long an agent may take to start on a busy machine. */
const STARTS_MS = 45_000;

/** Show the session of a real agent, and send it a first message. */
async function begin(
  page: Page,
  daemon: Daemon,
  model: Model,
  agent: string,
  more: object = {},
): Promise<void> {
  const env = model.environ(agent);
  await daemon.client.createSession("real", { agent, env, directory: daemon.files, ...more });
  await page.goto(`${daemon.url}/ui/#/sessions/real`);
  await page.getByRole("textbox", { name: "Message" }).fill("Please do it");
  await page.getByRole("textbox", { name: "Message" }).press("Enter");
}

test("Claude Code asks, is allowed in the page, and what it did is shown", async ({
  inside: page,
  daemon,
  model,
}) => {
  const missing = isMissing("claude");
  test.skip(missing !== false, missing || "");
  const path = join(daemon.files, "greeting.py");
  const command = "touch made && printf '\\033[31mred\\033[0m \\033[2J'";
  await model.start([
    { blocks: [{ tool: "Write", input: { file_path: path, content: "print('hello')\n" } }] },
    { blocks: [{ tool: "Bash", input: { command, description: "Print in colour" } }] },
    { text: "All **done**." },
  ]);
  await begin(page, daemon, model, "claude");

  const log = page.getByRole("log");
  const preview = log.getByRole("figure", { name: /Changes to .*greeting\.py/ });
  await expect(preview).toContainText("print('hello')");
  await page.getByRole("button", { name: "Allow once" }).click();
  await expect(log.getByRole("button", { name: /^Write .*done/ })).toBeVisible();
  await expect(preview.last()).toContainText("+1");
  expect(readFileSync(path, "utf8")).toBe("print('hello')\n");

  await expect(page.getByText("Print in colour").first()).toBeVisible();
  await page.getByRole("button", { name: "Allow once" }).click();
  const terminal = log.getByRole("figure", { name: /^Command/ });
  await expect(terminal.locator(".ansi-red")).toHaveText("red");
  await expect(terminal).toContainText("␛[2J");
  await expect(log.getByText("done", { exact: true }).last()).toBeVisible();
  await expect(log.getByRole("article", { name: "End of a turn" })).toContainText("Done");
});

test("Codex asks for a patch, is allowed in the page, and its diff is shown", async ({
  inside: page,
  daemon,
  model,
}) => {
  const missing = isMissing("codex");
  test.skip(missing !== false, missing || "");
  const path = join(daemon.files, "poem.txt");
  const patch = `*** Begin Patch\n*** Add File: ${path}\n+roses\n+violets\n*** End Patch\n`;
  await model.start([
    { blocks: [{ custom_tool: "apply_patch", input: patch }] },
    { text: "It is written." },
  ]);
  await begin(page, daemon, model, "codex");

  const log = page.getByRole("log");
  const diff = log.getByRole("figure", { name: /Changes to .*poem\.txt/ });
  await expect(diff.first()).toContainText("violets");
  await page.getByRole("button", { name: "Allow once" }).click();
  await expect(log.getByText("It is written.")).toBeVisible();
  await expect(diff.last()).toContainText("+2");
  expect(readFileSync(path, "utf8")).toBe("roses\nviolets\n");
});

test("OpenCode asks for a command, is allowed in the page, and its output is shown", async ({
  inside: page,
  daemon,
  model,
}) => {
  const missing = isMissing("opencode");
  test.skip(missing !== false, missing || "");
  const path = join(daemon.files, "poem.txt");
  await model.start([
    { blocks: [{ tool: "write", input: { filePath: path, content: "roses\nviolets\n" } }] },
    { blocks: [{ tool: "bash", input: { command: "wc -l poem.txt", description: "Count" } }] },
    { text: "It has **two** lines." },
  ]);
  await begin(page, daemon, model, "opencode");

  const log = page.getByRole("log");
  const diff = log.getByRole("figure", { name: /Changes to .*poem\.txt/ });
  await expect(diff.first()).toContainText("violets", { timeout: STARTS_MS });
  await page.getByRole("button", { name: "Allow once" }).click();
  await expect(log.getByRole("button", { name: /^write [^{]*poem\.txt.*done/i })).toBeVisible();
  expect(readFileSync(path, "utf8")).toBe("roses\nviolets\n");
  await page.getByRole("button", { name: "Allow once" }).click();
  await expect(log.getByRole("figure", { name: /^Command/ })).toContainText("2 poem.txt");
  await expect(log.getByText("two", { exact: true })).toBeVisible();
  await expect(log.getByRole("article", { name: "End of a turn" })).toContainText("Done");
});

const ASKS_THE_WAY = `export default function (pi) {
  pi.on("tool_call", async (event, ctx) => {
    if (event.toolName !== "bash") return;
    const way = await ctx.ui.select("Which way?", ["Left", "Right"]);
    if (way !== "Right") return { block: true, reason: "Only right is right." };
  });
}
`;

test("Pi changes a file, its extension asks, and is answered in the page", async ({
  inside: page,
  daemon,
  model,
}) => {
  const missing = isMissing("pi");
  test.skip(missing !== false, missing || "");
  const extensions = join(model.home, ".pi/agent/extensions");
  mkdirSync(extensions, { recursive: true });
  writeFileSync(join(extensions, "way.ts"), ASKS_THE_WAY);
  const path = join(daemon.files, "poem.txt");
  writeFileSync(path, "roses\nviolets\n");
  const edits = [{ oldText: "violets", newText: "thistles" }];
  await model.start([
    { blocks: [{ tool: "edit", input: { path, edits } }] },
    { blocks: [{ tool: "bash", input: { command: "cat poem.txt" } }] },
    { text: "All changed." },
  ]);
  await begin(page, daemon, model, "pi", { permissionMode: "bypass" });

  const log = page.getByRole("log");
  const diff = log.getByRole("figure", { name: /Changes to .*poem\.txt/ });
  await expect(diff.last()).toContainText("thistles", { timeout: STARTS_MS });
  await expect(page.getByText("Which way?").first()).toBeVisible();
  await page.getByRole("radio", { name: "Right" }).check();
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await expect(log.getByRole("figure", { name: /^Command/ })).toContainText("thistles");
  await expect(log.getByText("All changed.")).toBeVisible();
  expect(readFileSync(path, "utf8")).toBe("roses\nthistles\n");
});
