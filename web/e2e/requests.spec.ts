import type { Page } from "@playwright/test";
import { DragomanClient } from "dragoman-client";
import type { Daemon } from "./daemon";
import { expect, openSession, signIn, test } from "./test";

test("a permission is given once, always, or refused with a message", async ({
  inside: page,
  daemon,
}) => {
  const id = await openSession(page, daemon);
  const card = page.getByRole("group", { name: "Permission: bash" }).last();
  await daemon.client.postMessage(id, "permission");
  await expect(card.getByText("Wants to run a command")).toBeVisible();
  await expect(card.getByText("make clean")).toBeVisible();
  await expect(card.getByText("It deletes files.")).toBeVisible();
  await expect(card.getByText("for the rest of this session: bash")).toBeVisible();
  // Nobody types, so it takes the focus; its keys are named once they work.
  await expect(card).toBeFocused();
  await expect(card.getByText("y", { exact: true })).toBeVisible();
  await page.keyboard.press("y");
  await expect(card.getByText("Allowed once")).toBeVisible();
  await expect(card.getByText("by you")).toBeVisible();
  await expect(page.getByText("You allowed it, so I ran")).toBeVisible();

  await daemon.client.postMessage(id, "permission");
  await card.getByRole("button", { name: "Reject with a message" }).click();
  await page.getByLabel("What the agent is told").fill("Use git clean.");
  await page.keyboard.press("Enter");
  await expect(card.getByText("Rejected")).toBeVisible();
  await expect(card.getByText("Use git clean.")).toBeVisible();
  await expect(page.getByText("You declined, so I left it: Use git clean.")).toBeVisible();

  await daemon.client.postMessage(id, "permission");
  await card.getByRole("button", { name: "Always" }).click();
  await expect(card.getByText("Always allowed")).toBeVisible();
  await daemon.client.postMessage(id, "permission");
  await expect(card.getByText("by an earlier Always: bash")).toBeVisible();

  await daemon.client.postMessage(id, "edit");
  const edit = page.getByRole("group", { name: "Permission: edit" });
  await expect(edit.getByText("Wants to change a file")).toBeVisible();
  await expect(edit.getByText('"Hello, world"')).toBeVisible();
  await daemon.client.interruptTurn(id);
  await expect(edit.getByText("Withdrawn")).toBeVisible();
  await expect(edit.getByText("the turn was interrupted")).toBeVisible();
});

/**
 * y, a and n were offered while one typed a message, where they are letters, and the hint said that
 * Esc interrupts, although the first one goes to the request.
 */
test("a key is offered where it acts, and answers only what nobody types over", async ({
  inside: page,
  daemon,
}) => {
  const id = await openSession(page, daemon);
  const card = page.getByRole("group", { name: "Permission: bash" }).last();
  const message = page.getByRole("textbox", { name: "Message" });
  const composer = page.getByRole("region", { name: "Your message" });
  const key = card.getByText("n", { exact: true });
  await daemon.client.postMessage(id, "permission");
  await expect(key).toBeVisible();
  await expect(composer).toContainText("Esc interrupts");

  await test.step("while one types, keys are letters, and none is offered", async () => {
    await message.fill("half a sent");
    await expect(key).toBeHidden();
    await expect(composer).toContainText("Esc goes to the request");
    await expect(composer).not.toContainText("Esc interrupts");
    await expect(composer.getByRole("button", { name: "Interrupt" })).not.toHaveAttribute(
      "title",
      /Esc/,
    );
    await page.keyboard.type("ny");
    await expect(message).toHaveValue("half a sentny");
    await expect(card.getByRole("button", { name: "Allow once" })).toBeEnabled();
  });

  await test.step("a menu that is open has the keys", async () => {
    await page.getByRole("button", { name: "Actions for this session" }).click();
    await page.keyboard.press("n");
    await page.keyboard.press("Escape");
    await expect(page.getByRole("menu")).toHaveCount(0);
    await expect(card.getByRole("button", { name: "Allow once" })).toBeEnabled();
  });

  await test.step("Escape leads from the message to the request, and its keys are there", async () => {
    await message.focus();
    await page.keyboard.press("Escape");
    await expect(card).toBeFocused();
    await expect(key).toBeVisible();
    await expect(composer).toContainText("Esc interrupts");
    await page.keyboard.press("n");
    await expect(card.getByText("Rejected")).toBeVisible();
  });

  await test.step("once there, Escape interrupts", async () => {
    await daemon.client.postMessage(id, "permission");
    await expect(card.getByRole("button", { name: "Allow once" })).toBeVisible();
    await message.focus();
    await page.keyboard.press("Escape");
    await expect(card).toBeFocused();
    await page.keyboard.press("Escape");
    await expect(card.getByText("the turn was interrupted")).toBeVisible();
  });
});

test("questions are answered by one, by several, in words, or not at all", async ({
  inside: page,
  daemon,
}) => {
  const id = await openSession(page, daemon);
  const card = page.getByRole("group", { name: "Question: Colour" }).last();
  const answer = card.getByRole("button", { name: "Answer", exact: true });
  await daemon.client.postMessage(id, "questions");
  await expect(answer).toBeDisabled();
  await card.getByRole("radio", { name: "Red" }).check();
  await card.getByRole("radio", { name: "Blue" }).check();
  await expect(card.getByRole("radio", { name: "Red" })).not.toBeChecked();
  await card.getByRole("checkbox", { name: "Apple" }).check();
  await card.getByRole("checkbox", { name: "Plum" }).check();
  await expect(card.getByText("2 of 2 answered")).toBeVisible();
  await answer.click();
  await expect(page.getByText("You answered. Colour: Blue; Fruit: Apple, Plum")).toBeVisible();
  await expect(card.getByText("Answered")).toBeVisible();
  await expect(card.getByText("Apple, Plum")).toBeVisible();

  await daemon.client.postMessage(id, "questions");
  await card.getByRole("radio", { name: "Red" }).check();
  await card.getByRole("textbox", { name: "Other answer" }).fill(" ");
  await expect(card.getByRole("radio", { name: "Red" })).toBeChecked();
  await card.getByRole("textbox", { name: "Other answer" }).fill("Green");
  await expect(card.getByRole("radio", { name: "Red" })).not.toBeChecked();
  await expect(card.getByRole("radio", { name: "Other" })).toBeChecked();
  await page.keyboard.press("Enter");
  await expect(page.getByText("You answered. Colour: Green; Fruit:")).toBeVisible();

  await daemon.client.postMessage(id, "questions");
  await expect(card.getByText("4", { exact: true })).toBeVisible();
  await page.keyboard.press("1");
  await expect(card.getByRole("radio", { name: "Red" })).toBeChecked();
  await page.keyboard.press("4");
  await expect(card.getByRole("checkbox", { name: "Pear" })).toBeChecked();
  await page.keyboard.press("Enter");
  await expect(page.getByText("You answered. Colour: Red; Fruit: Pear")).toBeVisible();

  await daemon.client.postMessage(id, "questions");
  await card.getByRole("button", { name: "Do not answer" }).click();
  await expect(page.getByText("You did not answer.")).toBeVisible();
  await expect(card.getByText("Rejected")).toBeVisible();
});

test("of several who answer, one wins, and everybody hears who", async ({
  inside: one,
  daemon,
  browser,
}) => {
  const id = await openSession(one, daemon);
  const two = await another(browser.newPage(), daemon, id);
  await daemon.client.postMessage(id, "permission");
  const cards = [one, two].map((page) =>
    page.getByRole("group", { name: "Permission: bash" }).last(),
  );
  const [first, second] = cards as [(typeof cards)[0], (typeof cards)[0]];
  await expect(first).toBeVisible();
  // The second answer is held on its way until the first has come back.
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await two.route("**/reply", async (route) => {
    await released;
    await route.continue();
  });
  await second.getByRole("button", { name: "Reject", exact: true }).click();
  await expect(second.getByText("Sending your answer")).toBeVisible();
  await first.getByRole("button", { name: "Allow once" }).click();
  await expect(first.getByText("Allowed once")).toBeVisible();
  release();
  await expect(second.getByRole("alert")).toHaveText("You had answered before: allowed once.");
  await expect(second.getByText("Allowed once", { exact: true })).toBeVisible();
  await expect(first.getByRole("alert")).toBeEmpty();

  await daemon.client.postMessage(id, "permission");
  await expect(first.getByRole("button", { name: "Allow once" })).toBeVisible();
  const phone = await tokenNamed(daemon, "phone");
  const [asked] = (await daemon.client.getPending(id)).permissions;
  await first.getByRole("button", { name: "Reject with a message" }).click();
  await one.keyboard.type("Use git clean.");
  await phone.replyPermission(id, asked?.permission_id ?? "", "once");
  await expect(first.getByText("by the token phone")).toBeVisible();
  await expect(first.getByRole("alert")).toHaveText(
    "This was over before your message was sent: Use git clean.",
  );
  await expect(first).toBeFocused();
  await expect(first.getByRole("button", { name: "Allow once" })).toHaveCount(0);
});

test("a request that is out of sight waits above the field", async ({ inside: page, daemon }) => {
  // As if it were further back than what the page has loaded.
  await page.route("**/events?*", async (route) => {
    const answer = await route.fetch();
    const { events, hasMore } = await answer.json();
    const seen = events.filter(({ type }: { type: string }) => type !== "permission.requested");
    await route.fulfill({ response: answer, json: { events: seen, hasMore } });
  });
  await daemon.client.createSession("far", { agent: "mock", directory: daemon.files });
  await daemon.client.postMessage("far", "permission");
  await expect.poll(async () => (await daemon.client.getSession("far")).status).toBe("waiting");
  await page.goto(`${daemon.url}/ui/#/sessions/far`);
  const dock = page.getByRole("region", { name: "Waiting for you" });
  await expect(dock.getByText("make clean")).toBeVisible();
  await dock.getByRole("button", { name: "Allow once" }).click();
  await expect(dock).toHaveCount(0);
  await expect(page.getByRole("log").getByText("Allowed once")).toBeVisible();
});

test("the inbox has all that waits, and says for a moment what became of it", async ({
  inside: page,
  daemon,
}) => {
  await page.goto(`${daemon.url}/ui/#/inbox`);
  await expect(page.getByText("Nothing waits for you")).toBeVisible();
  const [build, paint, bake] = ["build", "paint", "bake"];
  for (const [id, prompt] of [
    [build, "permission"],
    [paint, "questions"],
    [bake, "permission"],
  ] as const) {
    await daemon.client.createSession(id, { agent: "mock", directory: daemon.files, title: id });
    await daemon.client.postMessage(id, prompt);
    await expect(page.getByRole("region", { name: id })).toBeVisible();
  }
  await expect(page.getByText("3 wait for you")).toBeVisible();
  const permission = page.getByRole("region", { name: build });
  const question = page.getByRole("region", { name: paint });
  await expect(permission.getByText("y", { exact: true })).toBeVisible();
  // How it ended is looked up in the events; what one answered oneself is known before.
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route("**/events?*", async (route) => {
    await released;
    await route.continue();
  });
  // The second press comes before anybody can have seen what is next.
  await page.keyboard.press("y");
  await page.keyboard.press("y");
  await expect(permission.getByText("Allowed once")).toBeVisible();
  await expect(permission.getByText("by you")).toBeVisible();
  await expect(permission.locator("time")).toHaveCount(0);
  release();
  await expect(permission.locator("time")).toBeVisible();
  await expect(page.getByText("2 wait for you")).toBeVisible();
  const next = page.getByRole("region", { name: bake });
  await expect(next.getByRole("button", { name: "Allow once" })).toBeEnabled();
  await expect(next.getByText("n", { exact: true })).toBeVisible();
  await page.keyboard.press("n");
  await expect(next.getByText("Rejected")).toBeVisible();
  await expect(page.getByText("1 waits for you")).toBeVisible();
  await expect(permission).toHaveCount(0);

  const phone = await tokenNamed(daemon, "phone");
  const [asked] = (await daemon.client.getPending(paint)).questions;
  await phone.replyQuestion(paint, asked?.question_id ?? "", [["Red"], ["Pear"]]);
  await expect(question.getByText("by the token phone")).toBeVisible();
  await question.getByRole("link", { name: paint }).click();
  await expect(page).toHaveURL(/#\/sessions\/paint$/);
});

test("no key answers what is out of sight", async ({ inside: page, daemon }) => {
  const ids = Array.from({ length: 10 }, (_, at) => `s${at}`);
  const prompts = ["permission", "edit", "questions"];
  for (const [at, id] of ids.entries()) {
    await daemon.client.createSession(id, { agent: "mock", directory: daemon.files, title: id });
    await daemon.client.postMessage(id, prompts[at % 3] ?? "");
    await expect.poll(async () => (await daemon.client.getSession(id)).status).toBe("waiting");
  }
  const waits = async (id: string) => (await daemon.client.getSession(id)).status === "waiting";
  const marks = page.getByText("y", { exact: true }).filter({ visible: true });
  await page.goto("about:blank");
  await page.goto(`${daemon.url}/ui/#/inbox`);
  await expect(page.getByText("10 wait for you")).toBeVisible();
  const first = page.getByRole("region", { name: "s0", exact: true });
  await expect(first.getByText("y", { exact: true })).toBeVisible();
  await expect(first.getByRole("group")).toBeFocused();
  await expect(first).toBeInViewport();
  await expect(marks).toHaveCount(1);

  await test.step("what is scrolled away is not answered, the mark tells which is", async () => {
    await page.locator(".inbox").evaluate((list) => list.scrollTo(0, list.scrollHeight));
    await page.keyboard.press("y");
    await expect(first).not.toBeInViewport();
    await expect(marks).toHaveCount(1);
    await expect(marks).toBeInViewport({ ratio: 1 });
    const marked = page.getByRole("region").filter({ has: marks });
    const name = (await marked.getAttribute("aria-label")) ?? "";
    expect(await Promise.all(ids.map(waits))).not.toContain(false);
    await page.keyboard.press("y");
    await expect.poll(() => waits(name)).toBe(false);
    expect((await Promise.all(ids.map(waits))).filter((still) => !still)).toHaveLength(1);
  });
});

async function another(opening: Promise<Page>, daemon: Daemon, id: string): Promise<Page> {
  const page = await opening;
  await signIn(page, daemon);
  await page.goto(`${daemon.url}/ui/#/sessions/${id}`);
  return page;
}

/** Somebody else: a token with a name. */
async function tokenNamed(daemon: Daemon, name: string) {
  const { client } = daemon;
  const made = await client.http.json<{ token: string }>("POST", "/v1/tokens", {
    json: { name, scopes: ["read", "write", "approve"] },
  });
  return new DragomanClient({ baseUrl: daemon.url, token: made.token });
}
