import type { Page } from "@playwright/test";
import { expect, test } from "./test";

test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

/** Nothing stands out to the side, and the page itself does not scroll. */
async function expectFits(page: Page, screen: string): Promise<void> {
  const size = await page.evaluate(() => {
    const wide = [...document.querySelectorAll("button, input, textarea, h1, h2, select")].filter(
      (element) => {
        const { right, width, left } = element.getBoundingClientRect();
        const isCut = element.closest("[class*=types], pre, .scroll-x, .unseen") !== null;
        return width > 0 && !isCut && (right > innerWidth + 1 || left < -1);
      },
    );
    const { scrollWidth, scrollHeight } = document.documentElement;
    return { scrollWidth, scrollHeight, wide: wide.map((each) => each.outerHTML.slice(0, 120)) };
  });
  expect(size, screen).toEqual({ scrollWidth: 390, scrollHeight: 844, wide: [] });
}

test("on a phone, by touch: start, talk, answer, look at events, go back", async ({
  inside: page,
}) => {
  await test.step("the list comes first", async () => {
    await expect(page.getByRole("complementary", { name: "Sessions" })).toBeVisible();
    await expectFits(page, "the list");
  });

  await test.step("a session is started", async () => {
    await page.getByRole("link", { name: "New session" }).tap();
    await expect(page.getByRole("heading", { name: "New session" })).toBeVisible();
    await page.getByRole("radio", { name: /mock/i }).check({ force: true });
    await page.getByLabel("Title").fill("From my phone");
    await expectFits(page, "new session");
    await page.getByRole("button", { name: "Start session" }).tap();
    await expect(page.getByRole("heading", { name: "From my phone" })).toBeVisible();
  });

  const log = page.getByRole("log", { name: "Conversation" });
  const say = async (text: string) => {
    await page.getByLabel("Message", { exact: true }).fill(text);
    await page.getByRole("button", { name: "Send", exact: true }).tap();
  };

  await test.step("one talks, and answers", async () => {
    await say("demo");
    await expect(log.getByText(/tokens|in ·/).last()).toBeVisible();
    await expectFits(page, "conversation");
    await say("permission");
    await page.getByRole("button", { name: /^Allow once/ }).tap();
    await expect(page.getByRole("button", { name: /^Allow once/ })).toHaveCount(0);
    await say("questions");
    await page.getByRole("radio", { name: /Red/ }).check({ force: true });
    await expectFits(page, "question");
  });

  await test.step("what has changed", async () => {
    await page.getByRole("link", { name: "Changes", exact: true }).tap();
    await expect(page.getByRole("heading", { name: "No changes yet" })).toBeVisible();
    await expectFits(page, "changes");
  });

  await test.step("events, and one of them in full", async () => {
    await page.getByRole("link", { name: "Events", exact: true }).tap();
    const list = page.getByRole("listbox", { name: "Events" });
    const row = list.getByRole("option", { name: /question\.requested/ });
    await expectFits(page, "events");
    await row.tap();
    const detail = page.getByRole("region", { name: /^Event \d+$/ });
    await expect(detail).toContainText("question.requested");
    await expect(list).toBeHidden();
    await expectFits(page, "an event");
    await detail.getByRole("button", { name: "Raw" }).tap();
    await expect(detail.locator("pre")).toContainText("colour");
    await page.goBack();
    await expect(detail).toBeHidden();
    await expect(row).toBeInViewport();
  });

  await test.step("what waits is in the inbox, one tap from the list", async () => {
    await page.getByRole("link", { name: "All sessions" }).tap();
    await expect(page.getByRole("link", { name: /From my phone/ })).toBeVisible();
    await page.getByRole("link", { name: /Inbox 1/ }).tap();
    await expect(page.getByRole("heading", { name: "Inbox" })).toBeVisible();
    await expectFits(page, "inbox");
    const session = page.getByRole("main").getByRole("link", { name: /From my phone/ });
    expect((await session.boundingBox())?.height).toBeGreaterThanOrEqual(44);
    await page.getByRole("link", { name: "Sessions", exact: true }).tap();
    for (const place of ["Agents", "Requests"]) {
      await page.getByRole("link", { name: place }).tap();
      await expect(page.getByRole("heading", { name: place, exact: true })).toBeVisible();
      await expectFits(page, place);
      await page.getByRole("link", { name: "Sessions", exact: true }).tap();
    }
  });
});
