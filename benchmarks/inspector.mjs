// Measures the page in a real browser; prints one JSON object. `inspector.py` starts it.
// Arguments: an address that signs in, the daemon's address, a large session, one that streams,
// how many events the large one has, and how many seconds to look at what moves.

import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const [signIn, url, large, live, events, seconds] = process.argv.slice(2);
const LOOK_MS = Number(seconds) * 1000;
const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = process.env.CHROMIUM ?? CHROMIUM.find((path) => existsSync(path));

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
const devtools = await page.context().newCDPSession(page);

/** The gaps between frames while something happens. */
async function frames(during) {
  await page.evaluate(() => {
    globalThis.gaps = [];
    let last = performance.now();
    const note = (now) => {
      globalThis.gaps.push(now - last);
      last = now;
      globalThis.noting = requestAnimationFrame(note);
    };
    globalThis.noting = requestAnimationFrame(note);
  });
  await during();
  const gaps = await page.evaluate(() => {
    cancelAnimationFrame(globalThis.noting);
    return globalThis.gaps.slice(1);
  });
  gaps.sort((one, other) => one - other);
  const at = (part) => gaps[Math.min(gaps.length - 1, Math.floor(gaps.length * part))];
  return { count: gaps.length, p50: at(0.5), p95: at(0.95), longest: gaps.at(-1) };
}

async function scroll(element, step) {
  await element.hover();
  const end = Date.now() + LOOK_MS;
  while (Date.now() < end) await page.mouse.wheel(0, step);
}

async function heapMb() {
  await devtools.send("HeapProfiler.collectGarbage");
  const { usedSize } = await devtools.send("Runtime.getHeapUsage");
  return usedSize / 1e6;
}

/** How long a new page takes from its address to the moment at which this is true in it. */
async function opens(address, isThere) {
  await page.goto("about:blank");
  await page.goto(address);
  await page.waitForFunction(isThere, null, { polling: "raf" });
  return page.evaluate(() => performance.now());
}

const shown = () =>
  document.querySelectorAll(".conversation-line").length > 3 &&
  document.querySelector(".conversation-edge") === null;

// The limit: what this browser does with a plain page.
const plain = await opens("data:text/html,<p>hello", () => document.querySelector("p") !== null);
await page.setContent(
  `<div style="height:800px;overflow:auto">${"<p>A line of plain text.</p>".repeat(5000)}</div>`,
);
const plainScroll = await frames(() => scroll(page.locator("div"), -300));

await page.goto(signIn);
await page.locator(".sidebar").waitFor();
const open = await opens(`${url}/ui/#/sessions/${large}`, shown);
const openHeap = await heapMb();
const conversation = page.getByRole("log", { name: "Conversation" });
const talk = await frames(() => scroll(conversation, -300));
const talkHeap = await heapMb();

const middle = Math.floor(Number(events) / 2);
const jump = await opens(`${url}/ui/#/sessions/${large}/events/${middle}`, () =>
  document.querySelector('[role="option"][aria-selected="true"]') !== null);
const rows = page.getByRole("listbox", { name: "Events" });
const list = await frames(() => scroll(rows, -600));
const listHeap = await heapMb();

await page.goto(`${url}/ui/#/sessions/${live}`);
await page.locator(".conversation-line").first().waitFor();
const before = await heapMb();
await page.evaluate(
  ([path, message]) =>
    fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ message }),
    }),
  [`${url}/v1/sessions/${live}/messages`, `pace 50 ${seconds}`],
);
const stream = await frames(() => page.waitForTimeout(LOOK_MS));
const streamHeap = await heapMb();

await browser.close();
process.stdout.write(
  JSON.stringify({
    plain_ms: plain,
    plain_scroll: plainScroll,
    open_ms: open,
    open_heap_mb: openHeap,
    talk,
    talk_heap_mb: talkHeap,
    jump_ms: jump,
    list,
    list_heap_mb: listHeap,
    stream,
    stream_heap_mb: streamHeap - before,
  }),
);
