import type { Page } from "@playwright/test";
import { expect, openSession, signIn, test } from "./test";

const TRICKS = [
  "<script>alert('script')</script>",
  '<img src="https://evil.example/x.png" onerror="alert(1)">',
  '<iframe src="https://evil.example"></iframe><style>* { display: none }</style>',
  "[press me](javascript:alert(2)) [and me](data:text/html,<script>alert(3)</script>)",
  "![tracked](https://evil.example/pixel.png)",
  "\u001b[31mred\u001b[0m and \u001b]0;title\u0007",
  "invoice\u202efdp.exe and \u2066isolated\u2069 and zero\u200bwidth",
  '```html\n<script>alert("in code")</script>\u202e\n```',
].join("\n\n");

/** Everything that must not happen, as it happens. */
async function watch(page: Page, home: string): Promise<string[]> {
  const seen: string[] = [];
  page.on("dialog", (dialog) => {
    seen.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("popup", (popup) => seen.push(`popup: ${popup.url()}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(home) && !request.url().startsWith("blob:")) {
      seen.push(`request: ${request.url()}`);
    }
  });
  page.on("pageerror", (error) => seen.push(`error: ${error.message}`));
  await page.exposeFunction("violated", (what: string) => seen.push(`policy: ${what}`));
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      const told = window as unknown as { violated: (what: string) => void };
      told.violated(`${event.violatedDirective} ${event.blockedURI}`);
    });
  });
  return seen;
}

test("what an agent or a person says is shown as text, and does nothing", async ({
  page,
  daemon,
}) => {
  const seen = await watch(page, daemon.url);
  await signIn(page, daemon);
  const title = "<img src=x onerror=alert(4)> \u202etitle";
  const id = await openSession(page, daemon, title);
  for await (const event of daemon.client.streamTurn(id, `echo ${TRICKS}`)) {
    if (event.type === "turn.ended") break;
  }

  await expect(page.getByRole("heading", { level: 1 })).toHaveText(
    "<img src=x onerror=alert(4)> ⟨RLO⟩title",
  );
  const answer = page.getByRole("article", { name: "Message from the agent" });
  await expect(answer).toContainText("<script>alert('script')</script>");
  await expect(answer).toContainText("onerror=");
  await expect(answer).toContainText("␛[31mred␛[0m and ␛]0;title␇");
  await expect(answer).toContainText("invoice⟨RLO⟩fdp.exe");
  await expect(answer).toContainText("⟨LRI⟩isolated⟨PDI⟩ and zero⟨ZWSP⟩width");
  await expect(answer).toContainText('<script>alert("in code")</script>⟨RLO⟩');

  const log = page.getByRole("log");
  await expect(log.locator("script, iframe, style, img, object, embed")).toHaveCount(0);
  await expect(log.locator("a[href^='javascript:'], a[href^='data:']")).toHaveCount(0);
  await expect(answer).toContainText("press me javascript:alert(2)");
  await answer.getByText("javascript:alert(2)", { exact: true }).click();
  const image = answer.getByRole("link", { name: "Image: tracked" });
  await expect(image).toHaveAttribute("rel", "noopener noreferrer nofollow");
  await expect(image).toHaveAttribute("target", "_blank");

  await page.getByRole("link", { name: "Events", exact: true }).click();
  await expect(page.getByText("turn.ended").first()).toBeVisible();
  const shown = await page.evaluate(() => {
    const titles = [...document.querySelectorAll("[title]")].map((each) =>
      each.getAttribute("title"),
    );
    return [document.body.textContent, ...titles].join("\n");
  });
  expect(shown).not.toContain("\u202e");
  expect(seen).toEqual([]);
});

test("a huge line is cut, and shown whole on demand, at once and within its column", async ({
  inside: page,
  daemon,
}) => {
  const id = await openSession(page, daemon);
  await daemon.client.postMessage(id, "huge 5242880");
  const more = page.getByRole("log").getByRole("button", { name: /^Show all/ });
  await expect(more).toBeVisible();
  const length = () => page.getByRole("log").evaluate((log) => (log.textContent ?? "").length);
  expect(await length()).toBeLessThan(250_000);
  await more.click({ timeout: 10_000 });
  await expect.poll(length).toBeGreaterThan(5_242_880);
  const log = page.getByRole("log");
  expect(await log.evaluate((it) => it.scrollWidth - it.clientWidth)).toBe(0);
});
