import { expect, test } from "./test";

test("the printed address signs in, once, and the ticket is gone from it", async ({
  page,
  daemon,
  browser,
}) => {
  await page.goto(daemon.address);
  await expect(page.locator("main#main")).toBeVisible();
  expect(page.url()).not.toContain("ticket");

  const stranger = await browser.newPage();
  await stranger.goto(daemon.address);
  await expect(stranger.getByLabel("Token")).toBeVisible();
});

test("a token signs in, and is kept nowhere", async ({ page, daemon }) => {
  await page.goto(`${daemon.url}/ui/`);
  await page.getByLabel("Token").fill("wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("alert")).toBeVisible();
  await page.getByLabel("Token").fill(daemon.token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.locator("main#main")).toBeVisible();
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain(
    daemon.token,
  );
  await page.reload();
  await expect(page.locator("main#main")).toBeVisible();
});
