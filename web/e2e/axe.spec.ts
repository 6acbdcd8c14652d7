import type { Page } from "@playwright/test";
import axe, { type AxeResults } from "axe-core";
import type { Daemon } from "./daemon";
import { beginTurn, turnWith, write, writeUntil } from "./files";
import { expect, openSession, signIn, test } from "./test";

/** What is wrong on the screen, as far as a program can see it. */
async function problemsOf(page: Page): Promise<string[]> {
  await settled(page);
  // Given to the debugger and not to the page, whose policy would rightly refuse it.
  await page.evaluate(`window.axe ?? (() => { ${axe.source} })()`);
  const found = (await page.evaluate(
    'window.axe.run(document, { resultTypes: ["violations"] })',
  )) as AxeResults;
  return found.violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) =>
      nodes.map(
        (node) => `${id}: ${node.html.slice(0, 120)} ${node.failureSummary?.slice(0, 240) ?? ""}`,
      ),
    );
}

/** A colour that is still fading is nobody's colour. */
async function settled(page: Page): Promise<void> {
  await page.evaluate(() =>
    Promise.all(
      document
        .getAnimations()
        .filter((animation) => animation.effect?.getTiming().iterations !== Infinity)
        .map((animation) => animation.finished.catch(() => {})),
    ),
  );
}

async function turn(daemon: Daemon, id: string, message: string): Promise<void> {
  for await (const event of daemon.client.streamTurn(id, message)) {
    if (event.type === "turn.ended" || event.type.endsWith(".requested")) return;
  }
}

for (const colorScheme of ["light", "dark"] as const) {
  test(`no screen has a serious problem, ${colorScheme}`, async ({ page, daemon }) => {
    test.setTimeout(180_000);
    await page.emulateMedia({ colorScheme });
    const at = (place: string) => page.goto(`${daemon.url}/ui/#/${place}`);
    const expectGood = (screen: string) =>
      test.step(screen, async () => {
        expect.soft(await problemsOf(page), screen).toEqual([]);
      });

    await page.goto(`${daemon.url}/ui/`);
    await expect(page.getByLabel("Token")).toBeVisible();
    await expectGood("login");

    await signIn(page, daemon);
    await expect(page.getByRole("heading", { name: "Welcome to Dragoman" })).toBeVisible();
    await expectGood("home, without a session");

    await at("inbox");
    await expect(page.getByRole("heading", { name: "Inbox" })).toBeVisible();
    await expectGood("inbox, empty");

    const id = await openSession(page, daemon, "All of it");
    await turn(daemon, id, "demo");
    const log = page.getByRole("log", { name: "Conversation" });
    await expect(log.getByText("Turn ended").or(log.getByRole("article").last())).toBeVisible();
    await expectGood("conversation, its end");
    await log.evaluate((element) => {
      element.scrollTop = element.scrollHeight / 2;
    });
    await expectGood("conversation, its middle");
    await log.evaluate((element) => {
      element.scrollTop = 0;
    });
    await expectGood("conversation, its beginning");

    await page.getByRole("button", { name: "Actions for this session" }).click();
    await expect(page.getByRole("menu")).toBeVisible();
    await expectGood("menu");
    await page.getByRole("menuitem", { name: "Rename…" }).click();
    await expect(page.getByRole("dialog")).toBeVisible();
    await expectGood("a dialog");
    await page.keyboard.press("Escape");

    await at(`sessions/${id}/events/12`);
    await expect(page.getByRole("region", { name: "Event 12" })).toContainText("event_id");
    await expectGood("events, with one in full");
    await page.getByRole("button", { name: "turn.ended", exact: true }).click();
    await expect(page.getByText("1 found")).toBeVisible();
    await expectGood("events that fit");
    await page.getByRole("button", { name: "Export" }).click();
    await expect(page.getByRole("dialog", { name: "Export" })).toBeVisible();
    await expectGood("export");
    await page.keyboard.press("Escape");

    await at(`sessions/${id}/changes`);
    await expect(page.getByRole("heading", { name: "No changes yet" })).toBeVisible();
    await expectGood("changes, none");
    const changed = await openSession(page, daemon, "Changes files");
    await turnWith(daemon, changed, () =>
      write(daemon.files, {
        "src/a.py": `# ${"long ".repeat(80)}\ndef f() -> None: ...\n`,
        "b.bin": Buffer.from([0]),
      }),
    );
    await turnWith(daemon, changed, () => write(daemon.files, { "src/a.py": "f = 1\n" }));
    await at(`sessions/${changed}/changes`);
    await expect(page.getByRole("article", { name: /b\.bin/ })).toBeVisible();
    await expectGood("changes");
    const turns = page.getByRole("navigation", { name: "Whose changes" });
    await turns.getByRole("link", { name: /1 file \+1 −2/ }).click();
    await expect(page.getByRole("article", { name: /a\.py/ })).toContainText("f = 1");
    await expectGood("changes of a turn");
    await at(`sessions/${changed}`);
    await expect(page.getByRole("link", { name: /^1 file changed/ })).toBeVisible();
    await expectGood("a conversation with changes");
    const running = await openSession(page, daemon, "Changes them now");
    const finish = await beginTurn(daemon, running);
    await at(`sessions/${running}/changes`);
    const live = turns.getByRole("link", { name: /running/ });
    await writeUntil(daemon.files, { "live.txt": "1\n" }, live);
    await live.click();
    await expect(page.getByText("its diff comes at its end")).toBeVisible();
    await expectGood("changes of a turn that runs");
    await finish();

    const asked = await openSession(page, daemon, "Asks first");
    await turn(daemon, asked, "permission");
    await expect(page.getByRole("button", { name: /^Allow once/ })).toBeVisible();
    await expectGood("a permission");
    const asking = await openSession(page, daemon, "Has a question");
    await turn(daemon, asking, "questions");
    await expect(page.getByRole("radio").first()).toBeVisible();
    await expectGood("a question");

    await at("inbox");
    await expect(page.getByRole("button", { name: /^Allow once/ })).toBeVisible();
    await expectGood("inbox");
    await at("");
    await expect(page.getByRole("heading", { name: "Sessions", exact: true })).toBeVisible();
    await expectGood("home");
    await at("new");
    await expect(page.getByRole("heading", { name: "New session" })).toBeVisible();
    await expect(page.getByRole("radio", { name: /mock/i }).first()).toBeAttached();
    await expectGood("new session");
    await at("agents");
    await expect(page.getByRole("heading", { name: "Agents", exact: true })).toBeVisible();
    await expect(page.getByRole("list", { name: "Agents" })).toBeVisible();
    await expectGood("agents");
    await at("requests");
    await page.getByRole("button", { name: /^POST \/v1\/login/ }).click();
    await expectGood("requests");
    await page.keyboard.press("?");
    await expect(page.getByRole("dialog", { name: "Keyboard shortcuts" })).toBeVisible();
    await expectGood("shortcuts");
    await page.keyboard.press("Escape");
    await at("sessions/never-was");
    await expect(page.getByRole("heading", { name: "There is no such session" })).toBeVisible();
    await expectGood("a session that is not there");
  });
}
