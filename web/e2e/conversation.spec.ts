import type { Locator, Page } from "@playwright/test";
import type { Daemon } from "./daemon";
import { expect, openSession, test } from "./test";

/** Say something to the agent, and wait until it is done with it. */
async function turn(daemon: Daemon, id: string, message: string): Promise<void> {
  for await (const event of daemon.client.streamTurn(id, message)) {
    if (event.type === "turn.ended") return;
  }
}

const logOf = (page: Page) => page.getByRole("log", { name: "Conversation" });

/** Scroll until a line of the virtual list is there. */
async function find(page: Page, line: Locator): Promise<Locator> {
  const log = logOf(page);
  await expect(async () => {
    if ((await line.count()) === 0) {
      await log.evaluate((element) => {
        const isLow = element.scrollTop <= 0;
        element.scrollTop = isLow
          ? element.scrollHeight
          : element.scrollTop - element.clientHeight / 2;
      });
    }
    // What still comes may take it out of the list again.
    await line.first().scrollIntoViewIfNeeded({ timeout: 500 });
  }).toPass();
  return line.first();
}

/** How far the view is from the end, in pixels. */
const fromEnd = (page: Page) =>
  logOf(page).evaluate((log) => log.scrollHeight - log.scrollTop - log.clientHeight);

/** More columns than fit, and a line that runs from right to left. */
const WIDE = [
  `| ${Array.from({ length: 30 }, (_, at) => `column${at}`).join(" | ")} |`,
  "| --- ".repeat(30).concat("|"),
  `| ${"value | ".repeat(30)}`,
  "",
  "שלום עולם",
].join("\n");

test("everything that an agent may say is shown for what it is", async ({
  inside: page,
  daemon,
}) => {
  const id = await openSession(page, daemon, "All of it");
  await turn(daemon, id, "demo");
  const log = logOf(page);

  await find(page, log.getByRole("article", { name: "Message to the agent" }));
  const thought = await find(page, log.getByRole("button", { name: /^Thought/ }));
  await expect(thought).toHaveAttribute("aria-expanded", "false");
  await thought.click();
  await expect(thought).toHaveAttribute("aria-expanded", "true");

  const patch = await find(
    page,
    log.getByRole("figure", { name: /^Changes to .*greeting\.py$/ }).last(),
  );
  await expect(patch).toContainText('return "Hello, world"');
  await expect(patch).toContainText("+1 −1");
  const search = await find(page, log.getByRole("button", { name: /docs › search dragoman/ }));
  await search.click();
  await expect(log.getByText("An interpreter and guide.")).toBeVisible();

  const failed = await find(page, log.getByRole("button", { name: /^bash Run make lint.*failed/ }));
  await expect(failed).toBeVisible();
  const terminal = log.getByRole("figure", { name: "Command make lint" });
  await expect(terminal).toContainText("missing docstring");
  await expect(terminal).toContainText("exit code 1");

  const plan = await find(page, log.getByRole("region", { name: "Plan" }));
  await expect(plan).toContainText("1 of 3 done");
  await expect(plan.getByRole("listitem").nth(1)).toContainText("Change it");
  await expect(plan.getByRole("img", { name: "in progress" })).toBeVisible();
  await find(page, log.getByText("Making room in the context."));

  await find(page, log.getByRole("heading", { name: "A heading" }));
  await expect(log.getByRole("link", { name: "link" })).toHaveAttribute(
    "href",
    "https://example.com",
  );
  await expect(
    log.getByRole("figure", { name: "Code, python" }).locator(".hljs-string"),
  ).toHaveText('"Hello, world"');

  const picture = await find(page, log.getByRole("button", { name: /^Enlarge image/ }));
  const isLoaded = () =>
    picture.locator("img").evaluate((image: HTMLImageElement) => image.naturalWidth > 0);
  await expect.poll(isLoaded).toBe(true);
  await picture.click();
  await expect(page.getByRole("dialog").getByRole("img")).toBeVisible();
  await page.keyboard.press("Escape");

  const end = await find(page, log.getByRole("article", { name: "End of a turn" }));
  await expect(end).toContainText(/Done.*in ·.*out.*\$/);
  await expect(page.getByRole("banner").or(page.locator("header"))).toContainText("6%");
});

test("subagents, unknown things, errors, crashes, and the events behind them", async ({
  inside: page,
  daemon,
  context,
}) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const id = await openSession(page, daemon);
  for (const message of ["tool", `echo ${WIDE}`, "subagent", "unknown", "unparsed", "error"])
    await turn(daemon, id, message);
  const log = logOf(page);

  const failed = await find(page, log.getByRole("button", { name: /^bash Run make lint/ }));
  await expect(failed).toHaveAttribute("aria-expanded", "true");
  const passed = await find(page, log.getByRole("button", { name: /^bash Run make test/ }));
  await expect(passed).toHaveAttribute("aria-expanded", "false");
  await expect(passed).toContainText(/exit code 0.*40 ms/);
  await passed.click();
  await log.evaluate((element) => element.scrollTo(0, element.scrollHeight));
  await find(page, passed);
  await expect(passed).toHaveAttribute("aria-expanded", "true");

  const table = await find(page, log.getByRole("group", { name: "Table" }).last());
  const isWide = await table.evaluate((each) => each.scrollWidth > each.clientWidth + 500);
  expect(isWide).toBe(true);
  await table.focus();
  await page.keyboard.press("ArrowRight");
  await expect.poll(() => table.evaluate((each) => each.scrollLeft)).toBeGreaterThan(0);
  const space = await log
    .getByText("שלום עולם")
    .last()
    .evaluate((block) => {
      const words = document.createRange();
      words.selectNodeContents(block);
      const [inner, outer] = [words.getBoundingClientRect(), block.getBoundingClientRect()];
      return { left: inner.left - outer.left, right: outer.right - inner.right };
    });
  expect(space.right).toBeLessThan(2);
  expect(space.left).toBeGreaterThan(100);

  const nested = await find(page, log.getByRole("button", { name: "Subagent, 3 steps" }));
  await nested.click();
  await expect(log.getByRole("figure", { name: "Command ls" })).toContainText("greeting.py");
  const unknown = await find(page, log.getByRole("button", { name: /has no name here/ }));
  await unknown.click();
  await expect(log.getByText('"hologram"')).toBeVisible();
  await find(page, log.getByText("The agent said something that could not be read"));
  const problem = await find(page, log.getByText("This went wrong, as you asked."));
  await expect(problem).toBeVisible();
  await log
    .getByRole("article")
    .filter({ hasText: "mock_error" })
    .getByRole("button", { name: "Details" })
    .click();
  await expect(log.getByText("retryable")).toBeVisible();

  const line = log.getByRole("article", { name: "Note" }).filter({ hasText: "mock_error" });
  await line.hover();
  await line.getByRole("button", { name: "Copy" }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toContain("mock_error");
  const behind = line.getByRole("link", { name: /^#\d+$/ });
  const sequence = (await behind.textContent())?.slice(1);
  await behind.click();
  await expect(page).toHaveURL(new RegExp(`/events/${sequence}$`));
  await page.goto(`${daemon.url}/ui/#/sessions/${id}/conversation/${sequence}`);
  await expect(line).toBeInViewport();
  await expect(line).toHaveAttribute("data-marked", "true");

  await page.getByRole("link", { name: "Conversation", exact: true }).click();
  await daemon.client.postMessage(id, "crash");
  await expect(log.getByText("exit code 3").first()).toBeVisible();
});

test("a message streams, and the view sticks to the end until one scrolls up", async ({
  inside: page,
  daemon,
}) => {
  const id = await openSession(page, daemon);
  for (const message of ["markdown", "markdown", "markdown"]) await turn(daemon, id, message);
  const log = logOf(page);
  await expect.poll(() => fromEnd(page)).toBeLessThan(60);

  await daemon.client.postMessage(id, "slow 6000");
  const growing = log.locator("[data-growing=true]");
  await expect(growing).toBeVisible();
  const length = async () => (await growing.textContent())?.length ?? 0;
  const first = await length();
  await expect.poll(length).toBeGreaterThan(first);
  await expect(page.getByRole("status").filter({ hasText: "running" })).toBeVisible();
  await expect.poll(() => fromEnd(page)).toBeLessThan(60);

  const jump = page.getByRole("button", { name: /^Jump to the end/ });
  await log.hover();
  await page.mouse.wheel(0, -20);
  await expect(jump).toBeVisible();
  await expect.poll(() => fromEnd(page)).toBeGreaterThan(60);
  await log.focus();
  await page.keyboard.press("End");
  await expect(jump).toBeHidden();
  const second = await length();
  await expect.poll(length).toBeGreaterThan(second + 300);
  expect(await fromEnd(page)).toBeLessThan(60);

  await log.evaluate((element) => element.scrollBy(0, -600));
  await expect(jump).toBeVisible();
  const line = log.getByRole("article").filter({ hasText: "slow 6000" }).first();
  const top = async () => Math.round((await line.boundingBox())?.y ?? Number.NaN);
  const before = await top();
  await page.getByRole("link", { name: "Events", exact: true }).click();
  await expect(page.getByRole("listbox", { name: "Events" })).toBeVisible();
  await page.getByRole("link", { name: "Conversation", exact: true }).click();
  await expect.poll(async () => Math.abs((await top()) - before)).toBeLessThan(5);
  await expect(jump).toBeVisible();
  const place = await log.evaluate((element) => element.scrollTop);
  await daemon.client.interruptTurn(id);
  await expect(jump).toHaveText(/ new$/);
  expect(Math.abs((await log.evaluate((element) => element.scrollTop)) - place)).toBeLessThan(5);
  await turn(daemon, id, "echo the last word");
  await jump.click();
  await expect(log.getByText("the last word").last()).toBeInViewport();
  await expect(log.getByText("Interrupted", { exact: true })).toBeVisible();
  await expect(jump).toBeHidden();
});

test("a long conversation opens at its end and goes back to its beginning", async ({
  inside: page,
  daemon,
}) => {
  const id = "long";
  await daemon.client.createSession(id, { agent: "mock", directory: daemon.files });
  await turn(daemon, id, "burst 1500 20");
  for (let at = 1; at <= 60; at++) await turn(daemon, id, `echo number ${at}.`);
  await turn(daemon, id, "burst 1500 20");
  await turn(daemon, id, "echo the end");
  await page.goto(`${daemon.url}/ui/#/sessions/${id}`);
  const log = logOf(page);
  await expect(log.getByText("the end", { exact: true }).last()).toBeInViewport();
  await expect(log.getByText("Session started")).toBeHidden();

  await log.focus();
  await expect(async () => {
    await page.keyboard.press("Home");
    await expect(log.getByText("Session started")).toBeInViewport({ timeout: 500 });
  }).toPass();

  await page.goto(`${daemon.url}/ui/#/sessions/${id}/conversation/1520`);
  await expect(log.locator("[data-marked=true]")).toBeInViewport();
  await page.getByRole("button", { name: "Jump to the end" }).click();
  await expect(log.getByText("the end", { exact: true }).last()).toBeInViewport();
});

test("an event that is asked for is on the screen, and stays there", async ({
  inside: page,
  daemon,
}) => {
  const id = "deep";
  // Without diffs, which would be made three hundred times.
  const create = { agent: "mock", directory: daemon.files, fileEvents: false };
  await daemon.client.createSession(id, create);
  for (let at = 1; at <= 300; at++) await turn(daemon, id, `echo number ${at}.`);
  const { eventCount } = await daemon.client.getSession(id);
  const log = logOf(page);
  const marked = log.locator("[data-marked=true]");
  const expectShown = async (sequence: number) => {
    await expect(marked).toBeInViewport();
    const [near] = (await marked.getByRole("link", { name: /^#\d+$/ }).allTextContents()) ?? [];
    expect(Math.abs(Number(near?.slice(1)) - sequence)).toBeLessThan(9);
  };
  // The second is near to where what is loaded begins: more is loaded while it is shown.
  for (const sequence of [300, eventCount - 230, eventCount - 1500, eventCount - 40]) {
    await page.goto("about:blank");
    await page.goto(`${daemon.url}/ui/#/sessions/${id}/conversation/${sequence}`);
    await expectShown(sequence);
    await expect(page.getByText("Loading earlier lines…")).toBeHidden();
    await expectShown(sequence);
  }

  await page.goto(`${daemon.url}/ui/#/sessions/${id}/events/1000`);
  await page.getByRole("link", { name: "In the conversation" }).click();
  await expectShown(1000);

  await test.step("also when what is around it comes late", async () => {
    await page.goto("about:blank");
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const first = eventCount - 250;
    await page.route("**/events?*", async (route) => {
      const offset = Number(new URL(route.request().url()).searchParams.get("offset"));
      if (offset < first) await held;
      await route.continue();
    });
    await page.goto(`${daemon.url}/ui/#/sessions/${id}/conversation/${first + 20}`);
    await expectShown(first + 20);
    await expect(page.getByText("Loading earlier lines…")).toBeVisible();
    const more = page.waitForResponse((answer) => answer.url().includes(`offset=${first - 500}`));
    release();
    await more;
    await expect(page.getByText("Loading earlier lines…")).toBeHidden();
    await expectShown(first + 20);
  });
});

test("a session is renamed, ended and deleted from its header", async ({
  inside: page,
  daemon,
}) => {
  const id = await openSession(page, daemon);
  const menu = page.getByRole("button", { name: "Actions for this session" });
  await expect(logOf(page)).toContainText("Session started");
  await menu.click();
  await page.getByRole("menuitem", { name: "Rename…" }).click();
  await page.getByLabel("Title").fill("A better name");
  await page.getByRole("button", { name: "Rename", exact: true }).click();
  await expect(page.getByRole("heading", { level: 1, name: "A better name" })).toBeVisible();
  await expect(logOf(page)).toContainText("Title: A better name");
  await expect(menu).toBeFocused();

  await menu.click();
  await page.getByRole("menuitem", { name: "End the session…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "End the session" }).click();
  await expect(logOf(page)).toContainText("The session was ended by a person");
  await expect(page.getByRole("status").filter({ hasText: "ended" })).toBeVisible();
  await expect(menu).toBeFocused();

  await daemon.client.deleteSession(id);
  await page.reload();
  await expect(page.getByRole("heading", { name: "There is no such session" })).toBeVisible();
  await page.locator("main").getByRole("link", { name: "All sessions" }).click();
  await expect(page).toHaveURL(/#\/$/);
});

/** The bar with the time and the number of the event lay over the end of the line above it. */
test("the bar of a line covers no text", async ({ inside: page, daemon }) => {
  const id = await openSession(page, daemon);
  for (const message of ["tools", "subagent", "permission"]) {
    await daemon.client.postMessage(id, message);
    const settled = ["idle", "waiting"];
    await expect
      .poll(async () => (await daemon.client.getSession(id)).status)
      .toMatch(new RegExp(settled.join("|")));
  }
  await expect(page.getByRole("button", { name: "Allow once" })).toBeVisible();
  const log = page.getByRole("log", { name: "Conversation" });
  const coveredTexts = () =>
    log.evaluate((element) => {
      const found: string[] = [];
      const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
      const boxes: [string, DOMRect][] = [];
      for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
        if (node.parentElement?.closest(".entry-tools, .unseen")) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        for (const box of range.getClientRects()) boxes.push([node.textContent ?? "", box]);
      }
      for (const bar of element.querySelectorAll(".entry-tools")) {
        const { left, right, top, bottom } = bar.getBoundingClientRect();
        for (const [text, box] of boxes) {
          const isBeside = box.right <= left + 1 || box.left >= right - 1;
          const isAbove = box.bottom <= top + 3 || box.top >= bottom - 3;
          if (!isBeside && !isAbove) found.push(`${bar.textContent}: ${text.slice(0, 60)}`);
        }
      }
      return found;
    });
  expect(await coveredTexts()).toEqual([]);
  await log.evaluate((element) => element.scrollTo(0, 0));
  await expect(log.getByText("Session started")).toBeVisible();
  expect(await coveredTexts()).toEqual([]);
  const line = page.getByRole("article", { name: "Message to the agent" }).first();
  await line.hover();
  await expect(line.getByRole("link", { name: /^#\d+/ })).toBeVisible();
});
