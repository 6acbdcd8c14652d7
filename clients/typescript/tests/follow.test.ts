import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { type Connection, DragomanClient, DragomanError, type Event } from "../src/index.js";
import { Daemon } from "./daemon.js";
import { CuttingProxy } from "./proxy.js";

const daemon = new Daemon();
let proxy: CuttingProxy;
let client: DragomanClient;
let made = 0;

beforeAll(() => daemon.start());
afterAll(() => daemon.remove());

beforeEach(async () => {
  proxy = new CuttingProxy(daemon.url);
  await proxy.start();
  client = new DragomanClient({ baseUrl: proxy.url, token: daemon.token });
});

afterEach(() => proxy.close());

test("a stream that is cut anywhere goes on, and gives each event once", async () => {
  const id = await spoken("slow 30");
  await daemon.client.terminateSession(id);
  const stored = [...(await daemon.client.getEvents(id))];
  for (const bytes of [1, 40, 700, 5_000]) {
    proxy.cutAfter(bytes);
    expect(await all(client.streamEvents(id))).toEqual(stored);
  }
  const resumed = proxy.asked.filter((path) => path.includes("/sse?offset="));
  expect(resumed.length).toBeGreaterThan(0);
}, 30_000);

test("it says how the connection does, and a live stream survives cuts", async () => {
  const id = await spoken("echo one");
  const told: Connection[] = [];
  const texts: string[] = [];
  const onConnection = (connection: Connection) => void told.push(connection);
  for await (const event of client.streamEvents(id, { onConnection })) {
    if (event.type === "turn.ended" && texts.push("turn") === 1) {
      proxy.cut();
      await daemon.client.postMessage(id, "echo two");
    } else if (texts.length === 2) {
      break;
    } else if (event.type === "turn.ended") {
      await daemon.client.terminateSession(id);
    }
  }
  expect(told).toEqual(["connecting", "open", "waiting", "connecting", "open"]);
}, 30_000);

test("a daemon that is gone for a while is waited for", async () => {
  const other = new Daemon();
  await other.start();
  await other.client.createSession("s", { agent: "mock", directory: other.files });
  const seen: Event[] = [];
  const told: Connection[] = [];
  const stream = other.client.streamEvents("s", { onConnection: (it) => void told.push(it) });
  for await (const event of stream) {
    seen.push(event);
    if (seen.length > 1) continue;
    await other.kill();
    await other.start();
    await other.client.terminateSession("s");
  }
  expect(seen.map((event) => event.sequence)).toEqual([1, 2]);
  expect(seen.at(-1)?.type).toBe("session.ended");
  expect(told).toContain("waiting");
  await other.remove();
}, 30_000);

test("of a session that has ended there is an end, also for who has seen all", async () => {
  const id = await spoken("end");
  const seen = await all(client.streamEvents(id));
  expect(seen.at(-1)?.type).toBe("session.ended");
  expect(await all(client.streamEvents(id, { offset: seen.length }))).toEqual([]);
});

test("a connection in which nothing is heard is given up", async () => {
  const id = await spoken("echo quiet");
  const stop = new AbortController();
  const told: Connection[] = [];
  const onConnection = (connection: Connection) => {
    told.push(connection);
    if (connection === "waiting") stop.abort();
  };
  const options = { silenceMs: 50, signal: stop.signal, onConnection };
  const seen = await all(client.streamEvents(id, options));
  expect(seen.length).toBeGreaterThan(0);
  expect(told).toEqual(["connecting", "open", "waiting"]);
});

test("a browser that comes or goes offline makes it try again at once", async () => {
  const browser = new EventTarget();
  vi.stubGlobal("addEventListener", browser.addEventListener.bind(browser));
  vi.stubGlobal("removeEventListener", browser.removeEventListener.bind(browser));
  const stop = new AbortController();
  const told: Connection[] = [];
  let isThere = true;
  let attempts = 0;
  const send: typeof fetch = (input, init) => {
    attempts += 1;
    return isThere ? fetch(input, init) : Promise.reject(new TypeError("offline"));
  };
  const onConnection = (connection: Connection) => void told.push(connection);
  const lone = new DragomanClient({ baseUrl: proxy.url, token: daemon.token, fetch: send });
  const feed = all(lone.streamAll({ signal: stop.signal, onConnection }));
  await vi.waitFor(() => expect(told).toEqual(["connecting", "open"]));

  isThere = false;
  browser.dispatchEvent(new Event("offline"));
  // Pauses of 0.25, 0.5 and 1 second; the next would be 2 seconds.
  await vi.waitFor(() => expect(attempts).toBe(5), 5_000);
  expect(told.slice(2, 5)).toEqual(["waiting", "connecting", "waiting"]);
  isThere = true;
  browser.dispatchEvent(new Event("online"));
  await vi.waitFor(() => expect(told.at(-1)).toBe("open"), 1_000);
  stop.abort();
  await feed;
  vi.unstubAllGlobals();
}, 30_000);

test("a signal ends it, quietly", async () => {
  const id = await spoken("echo x");
  const stop = new AbortController();
  for await (const _ of client.streamEvents(id, { signal: stop.signal })) stop.abort();
});

test("what will not pass is thrown", async () => {
  await expect(all(client.streamEvents("nope"))).rejects.toMatchObject({ status: 404 });
  const stranger = new DragomanClient({ baseUrl: proxy.url, token: "wrong" });
  await expect(all(stranger.streamAll())).rejects.toBeInstanceOf(DragomanError);
});

test("the feed of all sessions goes on after a cut", async () => {
  const id = await spoken("echo first");
  const stop = new AbortController();
  const cursors: number[] = [];
  let turns = 0;
  const feed = client.streamAll({
    cursor: 0,
    sessionIds: [id],
    types: ["turn.ended"],
    signal: stop.signal,
  });
  for await (const { cursor, event } of feed) {
    cursors.push(cursor);
    expect(event).toMatchObject({ type: "turn.ended", session_id: id });
    if (++turns === 2) break;
    proxy.cut();
    await daemon.client.postMessage(id, "echo second");
  }
  expect(cursors).toEqual([...new Set(cursors)].sort((one, other) => one - other));
});

/** A session in which something was said. */
async function spoken(message: string): Promise<string> {
  const id = `follow-${++made}`;
  await daemon.client.createSession(id, { agent: "mock", directory: daemon.files });
  await all(daemon.client.streamTurn(id, message));
  return id;
}

async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const each of stream) found.push(each);
  return found;
}
