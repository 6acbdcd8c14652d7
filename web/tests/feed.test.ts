import { type Connection, DragomanClient, DragomanError } from "dragoman-client";
import { afterEach, expect, test, vi } from "vitest";
import { type Company, hearAll } from "../src/state/feed";
import { Sessions } from "../src/state/sessions";
import { Memory, until } from "./memory";

/** Locks as a browser has them: one holder, the others in a row. */
function locks(): Company["locks"] {
  let last: Promise<unknown> = Promise.resolve();
  const request = (_: string, { signal }: LockOptions, work: () => Promise<void>) => {
    const turn = last.then(() => {
      signal?.throwIfAborted();
      return work();
    });
    last = turn.catch(() => {});
    const given = new Promise<never>((_, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason));
    });
    return Promise.race([turn, given]);
  };
  return { request } as unknown as Company["locks"];
}

let made = 0;
const stops: AbortController[] = [];

const company = (): Company => ({ name: `feed-${++made}`, locks: locks() });

/** A page that hears. */
function open(memory: Memory, shared: Company | null) {
  const stop = new AbortController();
  stops.push(stop);
  const touched: string[] = [];
  const connections: Connection[] = [];
  const ended = hearAll(
    memory.client,
    shared,
    { touched: (id) => touched.push(id), connected: (now) => connections.push(now) },
    stop.signal,
  );
  return { stop, touched, connections, ended };
}

const isOpen = (page: ReturnType<typeof open>) =>
  vi.waitFor(() => expect(page.connections.at(-1)).toBe("open"));

afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort();
});

test("one page has the stream, and all hear", async () => {
  const memory = new Memory();
  const shared = company();
  const pages = [1, 2, 3].map(() => open(memory, shared));
  for (const page of pages) await isOpen(page);
  expect(memory.streams).toBe(1);
  memory.say();
  for (const page of pages) await vi.waitFor(() => expect(page.touched).toEqual(["s"]));

  const late = open(memory, shared);
  await isOpen(late);
  expect(memory.streams).toBe(1);
  // Who was there is told nothing anew.
  expect(pages[1]?.connections.filter((now) => now === "open")).toHaveLength(1);
});

test("when the leader goes another one leads, and all look again", async () => {
  const memory = new Memory();
  const shared = company();
  const [first, second, third] = [open(memory, shared), open(memory, shared), open(memory, shared)];
  for (const page of [first, second, third]) await isOpen(page);
  first.stop.abort();
  await first.ended;
  for (const page of [second, third]) {
    await vi.waitFor(() =>
      expect(page.connections.filter((now) => now === "open")).toHaveLength(2),
    );
  }
  expect(memory.streams).toBe(1);
  memory.say();
  await vi.waitFor(() => expect(third.touched).toContain("s"));
  second.stop.abort();
  third.stop.abort();
  await Promise.all([second.ended, third.ended]);
  expect(memory.streams).toBe(0);
});

test("the others know when the leader's connection is lost", async () => {
  const memory = new Memory();
  const shared = company();
  const [leader, other] = [open(memory, shared), open(memory, shared)];
  await isOpen(other);
  memory.cut();
  await vi.waitFor(() => expect(other.connections).toContain("waiting"));
  await vi.waitFor(() => expect(other.connections.filter((now) => now === "open")).toHaveLength(2));
  expect(leader.connections.at(-1)).toBe("open");
});

test("without locks each page has its own stream", async () => {
  const memory = new Memory();
  for (const page of [open(memory, null), open(memory, null)]) await isOpen(page);
  expect(memory.streams).toBe(2);
});

test("who is not let in is told so, each in turn", async () => {
  const memory = new Memory();
  const client = new DragomanClient({
    baseUrl: "http://memory",
    fetch: async () => Response.json({ detail: "no" }, { status: 401 }),
  });
  const shared = company();
  const pages = [1, 2].map(() => open({ ...memory, client } as Memory, shared));
  for (const page of pages) await expect(page.ended).rejects.toBeInstanceOf(DragomanError);
});

test("what was deleted while the connection was lost is listed no more", async () => {
  const memory = new Memory();
  let ids = Array.from({ length: 150 }, (_, at) => `s${at}`);
  const asked: number[] = [];
  const client = memory.client;
  vi.spyOn(client, "listSessions").mockImplementation(async ({ limit, cursor, status } = {}) => {
    if (status) return { sessions: [], nextCursor: null };
    asked.push(limit ?? 0);
    const from = Number(cursor ?? 0);
    const part = ids.slice(from, from + (limit ?? 0));
    const next = from + part.length;
    const sessions = part.map((sessionId) => ({ sessionId, createdAt: 0 }) as never);
    return { sessions, nextCursor: next < ids.length ? `${next}` : null };
  });
  const sessions = new Sessions(client);
  const stop = new AbortController();
  stops.push(stop);
  void sessions.run(stop.signal);
  await until(sessions.listing, (listing) => listing.sessions.length === 100);
  const told: Connection[] = [];
  sessions.connection.watch(() => told.push(sessions.connection.get()));
  await sessions.loadMore();
  expect(sessions.listing.get().sessions).toHaveLength(150);
  ids = ids.slice(1);
  memory.cut();
  await until(sessions.listing, (listing) => listing.sessions.length === 149);
  expect(asked).toEqual([100, 100, 150]);
  // While it is tried again it is still lost.
  expect(told).toEqual(["waiting", "open"]);
});

test("sessions that wait stand in the order in which they began to, whichever is read first", async () => {
  // The list had the order in which the daemon's answers came, another one after each start.
  const memory = new Memory();
  const client = memory.client;
  const asked = new Map([
    ["late", ["perm_3"]],
    ["early", ["perm_1", "perm_4"]],
    ["middle", ["perm_2"]],
  ]);
  vi.spyOn(client, "listSessions").mockImplementation(async () => ({
    sessions: [...asked.keys()].map((sessionId) => ({ sessionId, createdAt: 0 }) as never),
    nextCursor: null,
  }));
  vi.spyOn(client, "getSession").mockImplementation(
    async (sessionId) => ({ sessionId, status: "waiting", createdAt: 0 }) as never,
  );
  vi.spyOn(client, "getPending").mockImplementation(
    async (sessionId) =>
      ({
        messages: [],
        permissions: asked.get(sessionId)?.map((permission_id) => ({ permission_id })),
        questions: [],
      }) as never,
  );
  const sessions = new Sessions(client);
  const order = () => [...sessions.waiting.get().keys()];
  for (const id of ["late", "middle", "early"]) await sessions.refresh(id);
  expect(order()).toEqual(["early", "middle", "late"]);
  // The first of its requests is answered: it still waits, and stays where it is.
  asked.set("early", ["perm_4"]);
  await sessions.refresh("early");
  expect(order()).toEqual(["early", "middle", "late"]);
  // It waited no more, and asks again: now it is the last.
  asked.set("early", []);
  await sessions.refresh("early");
  asked.set("early", ["perm_5"]);
  await sessions.refresh("early");
  expect(order()).toEqual(["middle", "late", "early"]);
});
