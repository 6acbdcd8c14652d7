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
