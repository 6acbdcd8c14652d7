// Measures the page in a real browser; prints one JSON object. `inspector.py` starts it.
// Arguments: an address that signs in, the daemon's address, a large session, a small one, one that
// streams, how many events the large one has, how many come in a burst, and how many seconds to look
// at what moves.

import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const [signIn, url, large, small, live, events, burst, seconds] = process.argv.slice(2);
const LOOK_MS = Number(seconds) * 1000;
/** So long without a request, and a session is open. */
const QUIET_MS = 1000;
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

/** What the daemon answers to the page while something happens, as it comes over the wire. */
async function read(during) {
  const answers = new Map();
  let lastAt = Date.now();
  const note = ({ requestId, request, dataLength = 0, encodedDataLength }, isWhole) => {
    if (request && new URL(request.url).pathname.startsWith("/v1/")) answers.set(requestId, 0);
    if (!answers.has(requestId)) return;
    lastAt = Date.now();
    // A stream has no end: what it has said counts as it is.
    answers.set(requestId, isWhole ? encodedDataLength : answers.get(requestId) + dataLength);
  };
  const onEnd = (event) => note(event, true);
  await devtools.send("Network.enable");
  devtools.on("Network.requestWillBeSent", note);
  devtools.on("Network.dataReceived", note);
  devtools.on("Network.loadingFinished", onEnd);
  await during();
  while (Date.now() - lastAt < QUIET_MS) await page.waitForTimeout(QUIET_MS / 10);
  devtools.off("Network.requestWillBeSent", note);
  devtools.off("Network.dataReceived", note);
  devtools.off("Network.loadingFinished", onEnd);
  await devtools.send("Network.disable");
  const bytes = [...answers.values()].reduce((sum, each) => sum + each, 0);
  return { bytes, requests: answers.size };
}

/** The longest task while something happens; the browser tells of none below 50 ms. */
async function longestTask(during) {
  await page.evaluate(() => {
    globalThis.longest = 0;
    globalThis.watcher = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) {
        globalThis.longest = Math.max(globalThis.longest, duration);
      }
    });
    globalThis.watcher.observe({ type: "longtask" });
  });
  await during();
  return page.evaluate(() => globalThis.longest);
}

/** Say something to a session, as the page does. */
const say = (session, message) =>
  page.evaluate(
    ([path, text]) =>
      fetch(path, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ message: text }),
      }),
    [`${url}/v1/sessions/${session}/messages`, message],
  );

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
const smallRead = await read(() => opens(`${url}/ui/#/sessions/${small}`, shown));
const largeRead = await read(() => opens(`${url}/ui/#/sessions/${large}`, shown));
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
await say(live, `pace 50 ${seconds}`);
const stream = await frames(() => page.waitForTimeout(LOOK_MS));
const streamHeap = await heapMb();
const ended = page.getByRole("article", { name: "End of a turn" });
await ended.waitFor();
const burstTask = await longestTask(async () => {
  await say(live, `pace ${burst} 1`);
  await ended.nth(1).waitFor();
});

await browser.close();
process.stdout.write(
  JSON.stringify({
    plain_ms: plain,
    plain_scroll: plainScroll,
    small_read: smallRead,
    large_read: largeRead,
    open_ms: open,
    open_heap_mb: openHeap,
    talk,
    talk_heap_mb: talkHeap,
    jump_ms: jump,
    list,
    list_heap_mb: listHeap,
    stream,
    stream_heap_mb: streamHeap - before,
    burst_task_ms: burstTask,
  }),
);
