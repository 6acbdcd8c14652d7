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
  // Of a browser that keeps nothing for pages.
  await stranger.addInitScript(() => {
    const get = () => {
      throw new DOMException("Access is denied.", "SecurityError");
    };
    Object.defineProperty(window, "localStorage", { get });
    Object.defineProperty(window, "sessionStorage", { get });
  });
  await stranger.goto(daemon.address);
  await stranger.getByLabel("Token").fill(daemon.token);
  expect(stranger.url()).not.toContain("ticket");
  await stranger.getByRole("button", { name: "Sign in" }).click();
  await stranger.getByRole("link", { name: "New session" }).first().click();
  await stranger.getByRole("radio", { name: /Mock/ }).check();
  await stranger.getByRole("button", { name: "Start session" }).click();
  await expect(stranger.getByRole("textbox", { name: "Message" })).toBeVisible();
});

test("a token signs in, and is kept nowhere", async ({ page, daemon }) => {
  await page.goto(`${daemon.url}/ui/`);
  await page.getByLabel("Token").fill("wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("alert")).toContainText("The daemon does not know this token.");
  await page.getByLabel("Token").fill(daemon.token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.locator("main#main")).toBeVisible();
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain(
    daemon.token,
  );
  await page.reload();
  await expect(page.locator("main#main")).toBeVisible();
});

test("who may only read is offered nothing else, and leaves when the token does", async ({
  page,
  daemon,
}) => {
  const { client } = daemon;
  const { token } = await client.createToken({ name: "guest", scopes: ["read"] });
  await client.createSession("asked", { agent: "mock", title: "Asked" });
  await client.postMessage("asked", "permission");
  await page.goto(`${daemon.url}/ui/#/sessions/asked`);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();

  const card = page.getByRole("log").getByRole("group", { name: /Permission/ });
  await expect(card).toContainText("Your token may not answer.");
  await expect(card.getByRole("button", { name: "Allow once" })).toBeHidden();
  await expect(page.getByText("Your token sends no messages.")).toBeVisible();
  await expect(page.getByRole("textbox", { name: "Message" })).toBeHidden();
  await page.getByRole("button", { name: "Actions for this session" }).click();
  await expect(page.getByRole("menuitem")).toHaveText(["Copy id", "Export…"]);
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "New session" }).first().click();
  await expect(page.getByText("Your token may not start sessions.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Start session" })).toBeDisabled();

  await client.revokeToken("guest");
  await expect(page.getByLabel("Token")).toBeVisible();
});

test("nothing is offered before the daemon has said what one may do", async ({
  inside: page,
  daemon,
}) => {
  // Before, a status that failed offered everything to everybody.
  await page.route("**/v1/status", (route) => route.fulfill({ status: 500, body: "{}" }));
  await daemon.client.createSession("unsure", { agent: "mock", title: "Unsure" });
  await daemon.client.postMessage("unsure", "permission");
  await page.goto(`${daemon.url}/ui/#/sessions/unsure`);
  await page.reload();

  const card = page.getByRole("log").getByRole("group", { name: /Permission/ });
  await expect(card).toContainText("Asking the daemon what you may do here…");
  await expect(card.getByRole("button", { name: "Allow once" })).toBeHidden();
  await expect(page.getByRole("textbox", { name: "Message" })).toBeHidden();

  await page.unrouteAll();
  await expect(card.getByRole("button", { name: "Allow once" })).toBeVisible();
  await expect(page.getByRole("textbox", { name: "Message" })).toBeVisible();
});
