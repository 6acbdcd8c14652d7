import type { Page } from "@playwright/test";
import type { Daemon } from "./daemon";
import { turnWith, write } from "./files";
import { recordedEvents, showLog } from "./recording";
import { expect, openSession, signIn, test } from "./test";

/** What stands out of the window or of its card, but for what scrolls by itself, as code does. */
function findOverflow(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const CARDS =
      ".tool, .changes-file, .ask-card, .ask-settled, .card, .diff-file, .entry, dialog, .inbox-line";
    const name = (element: Element) =>
      `${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""} ` +
      `${element.textContent?.trim().slice(0, 60) ?? ""}`;
    /** Whether an element between this one and the bound cuts or scrolls what is in it. */
    const isKept = (element: Element, bound: Element): boolean => {
      let each = element.parentElement;
      for (; each !== null && each !== bound; each = each.parentElement) {
        if (getComputedStyle(each).overflowX !== "visible") return true;
      }
      return false;
    };
    const scrolls = ["auto", "scroll"];
    const found: string[] = [];
    for (const element of document.querySelectorAll("body *")) {
      const { width, height, left, right } = element.getBoundingClientRect();
      if (width === 0 || height === 0 || element.closest(".unseen, .skip, svg")) continue;
      const bound = element.parentElement?.closest(CARDS) ?? document.body;
      const box = bound.getBoundingClientRect();
      if (!isKept(element, bound) && (right > box.right + 1 || left < box.left - 1)) {
        found.push(`stands out of ${bound.className || bound.tagName}: ${name(element)}`);
      }
      const style = getComputedStyle(element);
      const isScreen = element.matches("main, .scroll, .conversation-scroll, .events-list, dialog");
      if (isScreen && element.scrollWidth > element.clientWidth && style.display !== "none") {
        found.push(`${scrolls.includes(style.overflowX) ? "scrolls" : "cuts"}: ${name(element)}`);
      }
    }
    const { scrollWidth } = document.documentElement;
    if (scrollWidth > innerWidth) found.push(`the page is ${scrollWidth} wide`);
    return found;
  });
}

async function turn(daemon: Daemon, id: string, message: string): Promise<void> {
  for await (const event of daemon.client.streamTurn(id, message)) {
    if (event.type === "turn.ended" || event.type.endsWith(".requested")) return;
  }
}

const LONG = "a-very-long-name-without-any-place-to-break-it".repeat(6);
const WIDE = [
  `echo ${LONG}`,
  `echo \`${LONG}\` and **${LONG}** and https://example.com/${LONG}`,
  `echo \`\`\`ts\nconst ${LONG.replaceAll("-", "_")} = "${LONG}";\n\`\`\``,
  `echo | one | two | three |\n| --- | --- | --- |\n| ${LONG} | ${LONG} | ${LONG} |`,
];

for (const [device, viewport] of [
  ["a phone", { width: 390, height: 844 }],
  ["a desk", { width: 1280, height: 800 }],
] as const) {
  const isPhone = viewport.width < 400;

  test.describe(`on ${device}`, () => {
    test.use({ viewport, hasTouch: isPhone, isMobile: isPhone });

    /** The receipt of a patch of two files was one line that did not break, wider than its card. */
    test("the receipt of a permission stays in its card", async ({ inside: page, daemon }) => {
      const events = recordedEvents("codex", "several_files_are_changed_at_once");
      await showLog(page, daemon, "patch", events);
      const receipt = page.getByRole("log").getByText("Allowed once");
      await expect(receipt).toBeVisible();
      expect.soft(await findOverflow(page), "folded").toEqual([]);
      await receipt.click();
      await expect(page.getByRole("figure", { name: /Changes to .*b\.txt/ }).first()).toBeVisible();
      expect.soft(await findOverflow(page), "unfolded").toEqual([]);
      await showLog(page, daemon, "asking", events.slice(0, 12));
      await expect(page.getByRole("button", { name: /^Allow once/ })).toBeVisible();
      expect.soft(await findOverflow(page), "asking").toEqual([]);
    });

    /** On a phone, whatever is wider than the screen made all of it scroll to the side. */
    test("no screen scrolls sideways", async ({ page, daemon }) => {
      test.setTimeout(180_000);
      const at = (place: string) => page.goto(`${daemon.url}/ui/#/${place}`);
      const expectNarrow = (screen: string) =>
        test.step(screen, async () => {
          expect.soft(await findOverflow(page), screen).toEqual([]);
        });
      /** Look at all of a conversation, a screen at a time. */
      const expectAllNarrow = async (screen: string) => {
        const log = page.getByRole("log", { name: "Conversation" });
        const height = await log.evaluate((element) => element.scrollHeight);
        for (let top = height; top > 0; top -= viewport.height / 2) {
          await log.evaluate((element, to) => element.scrollTo(0, to), top);
          await expectNarrow(`${screen}, at ${top}`);
        }
      };

      await page.goto(`${daemon.url}/ui/`);
      await expect(page.getByLabel("Token")).toBeVisible();
      await expectNarrow("login");
      await signIn(page, daemon);
      await expect(page.getByRole("link", { name: "New session" }).first()).toBeVisible();
      await expectNarrow("home, without a session");
      await at("inbox");
      await expect(page.getByText("Nothing waits for you")).toBeVisible();
      await expectNarrow("inbox, empty");

      const id = await openSession(page, daemon, `All of it ${LONG}`);
      for (const message of ["demo", "markdown", "error", "usage"]) await turn(daemon, id, message);
      await expect(page.getByRole("article", { name: "End of a turn" }).last()).toBeVisible();
      await expectAllNarrow("conversation");
      const wide = await openSession(page, daemon, "Wide");
      for (const message of WIDE) await turn(daemon, wide, message);
      await expect(page.getByRole("article", { name: "End of a turn" }).last()).toBeVisible();
      await expectAllNarrow("long words");

      await page.getByRole("button", { name: "Actions for this session" }).click();
      await expect(page.getByRole("menu")).toBeVisible();
      await expectNarrow("menu");
      await page.getByRole("menuitem", { name: "Rename…" }).click();
      await expect(page.getByRole("dialog")).toBeVisible();
      await expectNarrow("a dialog");
      await page.keyboard.press("Escape");

      await at(`sessions/${wide}/events`);
      const rows = page.getByRole("listbox", { name: "Events" }).getByRole("option");
      await expect(rows.first()).toBeVisible();
      await expectNarrow("events");
      await page.getByRole("button", { name: "Export" }).click();
      await expect(page.getByRole("dialog", { name: "Export" })).toBeVisible();
      await expectNarrow("export");
      await page.keyboard.press("Escape");
      await at(`sessions/${wide}/events/6`);
      await expect(page.getByRole("region", { name: "Event 6" })).toContainText("event_id");
      await expectNarrow("one event");

      const changed = await openSession(page, daemon, "Files");
      await turnWith(daemon, changed, () =>
        write(daemon.files, {
          [`${`${LONG.slice(0, 200)}/`.repeat(2)}file.txt`]: `${LONG}\n`,
          [LONG.slice(0, 240)]: Buffer.from([0]),
        }),
      );
      await expect(page.getByRole("link", { name: /^2 files changed/ })).toBeVisible();
      await expectNarrow("a conversation with changes");
      await at(`sessions/${changed}/changes`);
      await expect(page.getByRole("article", { name: /file\.txt/ })).toContainText("+1 −0");
      await expectNarrow("changes");

      for (const [title, prompt] of [
        ["Runs", "permission"],
        ["Changes", "edit"],
        ["Asks", "question"],
      ] as const) {
        const asking = await openSession(page, daemon, title);
        await turn(daemon, asking, prompt);
        await expect(page.getByRole("log").locator(".ask-card")).toBeVisible();
        await expectAllNarrow(title);
      }
      await at("inbox");
      await expect(page.getByText("3 wait for you")).toBeVisible();
      await expectNarrow("inbox");
      await at("");
      await expect(page.getByRole("link", { name: /Wide/ }).first()).toBeVisible();
      await expectNarrow("home");
      await at("new");
      await expect(page.getByRole("radio", { name: /mock/i }).first()).toBeAttached();
      await expectNarrow("new session");
      await page.getByRole("button", { name: "Browse" }).click();
      await expect(page.getByRole("dialog")).toBeVisible();
      await expectNarrow("a folder is chosen");
      await page.keyboard.press("Escape");
      await at("agents");
      await expect(page.getByRole("list", { name: "Agents" })).toBeVisible();
      await expectNarrow("agents");
      await at("requests");
      await page.getByRole("button", { name: /^POST \/v1\/login/ }).click();
      await expectNarrow("requests");
      await page.keyboard.press("?");
      await expect(page.getByRole("dialog", { name: "Keyboard shortcuts" })).toBeVisible();
      await expectNarrow("shortcuts");
      await page.keyboard.press("Escape");
      await at("sessions/never-was");
      await expect(page.getByRole("heading", { name: "There is no such session" })).toBeVisible();
      await expectNarrow("a session that is not there");
    });
  });
}
