import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { expect, openSession, signIn, test } from "./test";

const field = (page: Page) => page.getByRole("textbox", { name: "Message" });
const sendButton = (page: Page) => page.getByRole("button", { name: "Send", exact: true });

test("a message has many lines, is called back, and waits as a draft", async ({
  inside: page,
  daemon,
}) => {
  const other = await openSession(page, daemon);
  await field(page).fill("not yet");
  const id = await openSession(page, daemon);
  await expect(field(page)).toHaveValue("");
  await expect(sendButton(page)).toBeDisabled();
  const before = await field(page).boundingBox();
  await field(page).pressSequentially("echo one");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("two");
  await expect(field(page)).toHaveValue("echo one\ntwo");
  const after = await field(page).boundingBox();
  expect(after?.height).toBeGreaterThan((before?.height ?? 0) + 10);
  await page.keyboard.press("Enter");
  await expect(field(page)).toHaveValue("");
  await expect(field(page)).toBeFocused();
  await expect(page.getByText("one two").or(page.getByText("one\ntwo")).last()).toBeVisible();

  // What a person typed is no Markdown.
  const typed = "echo * one\n    two\n\n# three: https://example.com/a_b.";
  await daemon.client.postMessage(id, typed);
  const words = page.getByRole("article", { name: "Message to the agent" }).last();
  await expect(words.getByRole("link", { name: "https://example.com/a_b" })).toHaveAttribute(
    "href",
    "https://example.com/a_b",
  );
  expect(await words.locator(".words").innerText()).toBe(typed);

  await field(page).fill("echo three");
  await sendButton(page).click();
  await expect(field(page)).toHaveValue("");
  await page.keyboard.press("ArrowUp");
  await expect(field(page)).toHaveValue("echo three");
  await page.keyboard.press("ArrowUp");
  await expect(field(page)).toHaveValue("echo one\ntwo");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await expect(field(page)).toHaveValue("");

  // Who has scrolled up sees what they say all the same.
  await daemon.client.postMessage(id, `echo ${"tall\n\n".repeat(60)}end`);
  await expect(page.getByText("end", { exact: true }).last()).toBeInViewport();
  await page.getByRole("log").evaluate((log) => log.scrollTo(0, 0));
  await expect(page.getByRole("button", { name: "Jump to the end" })).toBeVisible();
  await field(page).fill("echo four");
  await page.keyboard.press("Enter");
  await expect(page.getByText("four", { exact: true })).toBeInViewport();

  await page.goto(`${daemon.url}/ui/#/sessions/${other}`);
  await expect(field(page)).toHaveValue("not yet");
});

test("messages wait for the turn, can be taken back, and the turn can be interrupted", async ({
  inside: page,
  daemon,
}) => {
  await openSession(page, daemon);
  const interrupt = page.getByRole("button", { name: "Interrupt" });
  await field(page).fill("hang");
  await page.keyboard.press("Enter");
  await expect(interrupt).toBeVisible();
  for (const text of ["echo first", "echo second"]) {
    await field(page).fill(text);
    await page.keyboard.press("Enter");
  }
  const queue = page.getByRole("region", { name: "Queue" });
  await expect(queue.getByText("2 messages wait")).toBeVisible();
  await expect(page.getByText("Esc interrupts")).toBeVisible();
  // Escape closes a menu, and does no more than that.
  await page.getByRole("button", { name: "Actions for this session" }).click();
  await expect(page.getByRole("menu")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("menu")).toHaveCount(0);
  await queue.getByRole("button", { name: "Cancel: echo first" }).click();
  await expect(queue.getByText("1 message waits")).toBeVisible();
  await expect(queue.getByText("echo second")).toBeVisible();
  await expect(queue.getByRole("button", { name: "Cancel: echo second" })).toBeFocused();

  // A page that comes later sees the queue too.
  await page.reload();
  await expect(queue.getByText("echo second")).toBeVisible();
  await interrupt.click();
  await expect(page.getByText("Interrupted").first()).toBeVisible();
  await expect(page.getByText("second", { exact: true })).toBeVisible();
  await expect(queue).toHaveCount(0);
  await expect(interrupt).toHaveCount(0);

  await field(page).fill("hang");
  await page.keyboard.press("Enter");
  await expect(interrupt).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(interrupt).toHaveCount(0);
});

test("an agent that takes its time to come up is said to start", async ({ page, daemon }) => {
  await daemon.kill("SIGTERM");
  daemon.env.DRAGOMAN_CLAUDE_COMMAND = "sh -c 'exec sleep 1000' claude";
  await daemon.start();
  await signIn(page, daemon);
  await daemon.client.createSession("slow", { agent: "claude", directory: daemon.files });
  await page.goto(`${daemon.url}/ui/#/sessions/slow`);
  await field(page).fill("Hello");
  await page.keyboard.press("Enter");
  await expect(page.getByText("starting Claude Code…")).toBeVisible();
  await expect(page.getByText("1 message waits for its agent to start")).toBeVisible();
});

test("where the agent can, a message joins the running turn", async ({ page, daemon }) => {
  await page.route("**/v1/agents", async (route) => {
    const answer = await route.fetch();
    const body = await answer.json();
    for (const agent of body.agents) agent.capabilities.steer = true;
    await route.fulfill({ response: answer, json: body });
  });
  await signIn(page, daemon);
  const id = await openSession(page, daemon);
  await daemon.client.postMessage(id, "hang");
  const steer = page.getByRole("button", { name: "Send into the running turn" });
  await field(page).fill("echo one");
  const clicked = page.waitForRequest("**/messages?delivery=steer");
  await steer.click();
  await clicked;
  await field(page).fill("echo two");
  const typed = page.waitForRequest("**/messages?delivery=steer");
  await page.keyboard.press("Control+Enter");
  await typed;
  await daemon.client.interruptTurn(id);
  await expect(steer).toHaveCount(0);
});

test("files are attached by button, paste and drop, and replace nothing", async ({
  inside: page,
  daemon,
}) => {
  const uploads = join(daemon.files, ".dragoman-uploads");
  mkdirSync(uploads);
  writeFileSync(join(uploads, "notes.txt"), "mine");
  await openSession(page, daemon);
  const files = page.getByRole("list", { name: "Attachments" });

  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Attach files" }).click();
  await (await chooser).setFiles([
    { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("theirs") },
    { name: "unwanted.txt", mimeType: "text/plain", buffer: Buffer.from("x") },
  ]);
  await give(page, "paste", "shot.png", "image/png", PIXEL);
  await give(page, "drop", "dropped.md", "text/markdown", btoa("# Dropped"));
  await expect(files.getByRole("listitem")).toHaveCount(4);
  await expect(files.getByRole("img", { name: "shot.png" })).toBeVisible();
  await expect(files.getByRole("progressbar")).toHaveCount(0);
  await files.getByRole("button", { name: "Remove unwanted.txt" }).click();
  await expect.poll(() => existsSync(join(uploads, "unwanted.txt"))).toBe(false);

  await field(page).fill("look");
  await page.keyboard.press("Enter");
  await expect(files).toHaveCount(0);
  for (const name of ["notes-2.txt", "shot.png", "dropped.md"]) {
    await expect(page.getByText(name).first()).toBeVisible();
  }
  const shot = page.getByRole("log").getByRole("img", { name: "Attached: shot.png" });
  await expect(shot).toHaveJSProperty("naturalWidth", 1);
  expect(readFileSync(join(uploads, "notes.txt"), "utf8")).toBe("mine");
  expect(readFileSync(join(uploads, "notes-2.txt"), "utf8")).toBe("theirs");
  expect(readFileSync(join(uploads, "shot.png")).toString("base64")).toBe(PIXEL);

  // Where nothing takes a file, the browser would go and open it.
  await page.goto(`${daemon.url}/ui/#/inbox`);
  await expect(field(page)).toHaveCount(0);
  for (const type of ["dragover", "drop"]) {
    expect(await page.evaluate(dropSomewhere, type)).toBe("refused");
  }
});

test("an ended session goes on in a new one, with the words that were left", async ({
  inside: page,
  daemon,
}) => {
  const id = await openSession(page, daemon, "Long talk");
  await daemon.client.postMessage(id, "echo hello");
  await expect(page.getByText("hello", { exact: true })).toBeVisible();
  await field(page).fill("echo still here");
  await daemon.client.terminateSession(id);
  await expect(page.getByText("This session has ended")).toBeVisible();
  await page.getByRole("button", { name: "Continue in a new session" }).click();
  await expect(field(page)).toHaveValue("echo still here");
  expect(page.url()).not.toContain(id);
  await expect(field(page)).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByText("still here", { exact: true })).toBeVisible();
});

test("a killed daemon costs nothing: the page says so, comes back, and sends once", async ({
  inside: page,
  daemon,
}) => {
  const id = await openSession(page, daemon);
  await field(page).fill("echo before");
  await page.keyboard.press("Enter");
  await expect(page.getByText("before", { exact: true })).toBeVisible();

  // The daemon takes the message, and dies before the page hears of it.
  await page.route("**/messages*", async (route) => {
    await route.fetch();
    await daemon.kill("SIGKILL");
    await route.abort("connectionreset");
  });
  await field(page).fill("echo between");
  await page.keyboard.press("Enter");
  await expect(page.getByText("The connection is lost")).toBeVisible();
  await expect(page.getByText("Send it again: it cannot arrive twice.")).toBeVisible();
  await expect(field(page)).toHaveValue("echo between");
  await page.unroute("**/messages*");

  await daemon.start();
  await expect(page.getByText("The connection is lost")).toHaveCount(0);
  const log = page.getByRole("log");
  await expect(log.getByText("echo between", { exact: true })).toBeVisible();
  await sendButton(page).click();
  await expect(field(page)).toHaveValue("");
  await field(page).fill("echo after");
  await page.keyboard.press("Enter");
  await expect(page.getByText("after", { exact: true })).toBeVisible();

  const { events } = await daemon.client.getEvents(id);
  const said = events.flatMap((event) =>
    event.type === "item.completed" && event.data.item.role === "user"
      ? event.data.item.content.map((part) => (part.type === "text" ? part.text : ""))
      : [],
  );
  expect(said).toEqual(["echo before", "echo between", "echo after"]);
  for (const text of said) await expect(log.getByText(text, { exact: true })).toHaveCount(1);
});

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/** Paste or drop a file onto the field, as a browser would. */
async function give(page: Page, how: "paste" | "drop", name: string, type: string, base64: string) {
  await field(page).evaluate(
    (element, [how, name, type, base64]) => {
      const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
      const data = new DataTransfer();
      data.items.add(new File([bytes], name, { type }));
      const about = { bubbles: true, cancelable: true };
      const event =
        how === "paste"
          ? new ClipboardEvent("paste", { ...about, clipboardData: data })
          : new DragEvent("drop", { ...about, dataTransfer: data });
      element.dispatchEvent(event);
    },
    [how, name, type, base64] as const,
  );
}

/** What the page does with a file above no field. */
function dropSomewhere(type: string): "refused" | "opened" {
  const data = new DataTransfer();
  data.items.add(new File(["x"], "x.txt"));
  const event = new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: data });
  return document.body.dispatchEvent(event) ? "opened" : "refused";
}
