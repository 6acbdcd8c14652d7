import { expect, openSession, test } from "./test";

test("a connection that is gone is told, and what was sent into it is free again", async ({
  inside: page,
  daemon,
  context,
}) => {
  await page.clock.install();
  await page.reload();
  const id = await openSession(page, daemon, "Cut off");
  await daemon.client.postMessage(id, "permission");
  const card = page.getByRole("log").getByRole("group", { name: "Permission: bash" });
  const once = card.getByRole("button", { name: "Allow once" });
  await expect(once).toBeVisible();
  const lost = page.getByText("The connection is lost");

  await test.step("the browser goes offline, and comes back", async () => {
    await context.setOffline(true);
    await expect(lost).toBeVisible({ timeout: 2_000 });
    await context.setOffline(false);
    await expect(lost).toBeHidden({ timeout: 2_000 });
  });

  await test.step("nothing is heard any more, and nobody says why", async () => {
    // Whatever is asked from now on gets no answer.
    await page.route("**/v1/**", () => {});
    await once.click();
    await expect(card.getByText("Sending your answer…")).toBeVisible();
    await page.clock.fastForward(26_000);
    await expect(lost).toBeVisible();
    await page.clock.fastForward(5_000);
    await expect(card.getByRole("alert")).toHaveText(
      "The daemon did not answer within 30 s. It may have got this, or not. You can answer again.",
    );
    await expect(lost).toBeVisible();
    await page.unrouteAll();
    await once.click();
    await page.clock.fastForward(26_000);
    await expect(lost).toBeHidden();
    await expect(card.getByText("Allowed once")).toBeVisible();
  });
});

/** "The daemon cannot be reached" stood below the message, on cards and pages when it was back. */
test("a daemon that is back is nowhere said to be away", async ({ inside: page, daemon }) => {
  const id = await openSession(page, daemon, "Restarted");
  const turn = daemon.client.streamTurn(id, "demo");
  while (!(await turn.next()).done);
  const away = page.getByText("cannot be reached");
  const lost = page.getByText("The connection is lost");
  const message = page.getByRole("textbox", { name: "Message" });
  await expect(page.getByRole("article", { name: "End of a turn" })).toBeVisible();
  await daemon.kill();
  await expect(lost).toBeVisible();

  await test.step("what one tries meanwhile fails, and says why", async () => {
    await message.fill("Are you there?");
    await message.press("Enter");
    await expect(page.getByText("cannot be reached. Your message may have")).toBeVisible();
    await page.getByRole("button", { name: "Actions for this session" }).click();
    await page.getByRole("menuitem", { name: "Rename…" }).click();
    await page.getByRole("textbox", { name: "Title" }).fill("Renamed");
    await page.getByRole("button", { name: "Rename" }).click();
    await expect(page.getByRole("dialog").getByText("cannot be reached")).toBeVisible();
  });

  await test.step("once it is back, nothing says so any more", async () => {
    await daemon.start();
    await expect(lost).toBeHidden();
    await expect(away).toHaveCount(0);
    await expect(page.getByRole("dialog").getByText("it is back now")).toBeVisible();
    await page.getByRole("button", { name: "Rename" }).click();
    await expect(page.getByRole("heading", { name: "Renamed" })).toBeVisible();
    await message.press("Enter");
    await expect(page.getByRole("log").getByText("Are you there?").first()).toBeVisible();
  });

  await test.step("a session that was opened meanwhile is there by itself", async () => {
    await page.goto(`${daemon.url}/ui/#/agents`);
    await expect(page.getByRole("list", { name: "Agents" })).toBeVisible();
    await daemon.kill();
    await expect(lost).toBeVisible();
    await page.evaluate((hash) => location.replace(hash), `#/sessions/${id}`);
    await expect(away.first()).toBeVisible();
    await daemon.start();
    await expect(lost).toBeHidden();
    await expect(page.getByRole("article", { name: "End of a turn" }).first()).toBeVisible();
    await expect(away).toHaveCount(0);
  });
});

/** The seconds of a running turn were counted on while nobody knew whether it still ran. */
test("the clock of a turn stands still while the daemon is gone", async ({
  inside: page,
  daemon,
}) => {
  await page.clock.install();
  await page.reload();
  const id = await openSession(page, daemon, "Runs");
  await daemon.client.postMessage(id, "hang");
  const clock = page.locator(".conversation-working");
  await expect(clock).toContainText("Working");
  await page.clock.runFor(5_000);
  await expect(clock).toContainText(/Working · \d/);
  await daemon.kill();
  await expect(clock).toContainText(/Connection lost · \d/);
  const stood = await clock.textContent();
  await page.clock.runFor(30_000);
  await expect(clock).toHaveText(stood ?? "");
  await daemon.start();
  await page.clock.runFor(30_000);
  await expect(page.getByRole("article", { name: "End of a turn" })).toContainText(/nterrupted/);
  await expect(clock).toHaveCount(0);
});
