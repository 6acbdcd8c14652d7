import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type Call,
  DragomanClient,
  DragomanError,
  type Event,
  type EventOf,
  type EventType,
  NoAnswer,
} from "../src/index.js";
import { Daemon } from "./daemon.js";

const daemon = new Daemon();
const calls: Call[] = [];
let client: DragomanClient;
let made = 0;

beforeAll(async () => {
  await daemon.start();
  const onCall = (call: Call) => void calls.push(call);
  client = new DragomanClient({ baseUrl: `${daemon.url}/`, token: daemon.token, onCall });
});

afterAll(() => daemon.remove());

describe("the daemon", () => {
  test("is well, and says how it does", async () => {
    expect(await new DragomanClient({ baseUrl: daemon.url }).health()).toEqual({ status: "ok" });
    expect((await client.status()).version).toMatch(/\d/);
    expect((await client.processes()).processes).toBeInstanceOf(Array);
  });

  test("swaps a ticket for a cookie, once", async () => {
    const { ticket } = await client.createTicket();
    const jar = { cookie: "" };
    const page = new DragomanClient({ baseUrl: daemon.url, fetch: withCookies(jar) });
    await expect(page.listSessions()).rejects.toMatchObject({ status: 401 });
    await page.login(ticket);
    await page.listSessions();
    await expect(page.login(ticket)).rejects.toBeInstanceOf(DragomanError);
    await page.logout();
    await expect(page.listSessions()).rejects.toMatchObject({ status: 401 });
  });

  test("makes tokens, and takes them back", async () => {
    const { token } = await client.createToken({ name: "reader", scopes: ["read"] });
    const reader = new DragomanClient({ baseUrl: daemon.url, token });
    await reader.listSessions();
    await expect(reader.createSession(null, { agent: "mock" })).rejects.toMatchObject({
      status: 403,
      code: "permission_denied",
    });
    expect((await client.listTokens()).tokens.map((each) => each.name)).toContain("reader");
    await client.revokeToken("reader");
    await expect(reader.listSessions()).rejects.toMatchObject({ status: 401 });
  });
});

describe("a daemon that does not answer", () => {
  /** Gives up only when it is told to, as a dead connection does. */
  const silent: typeof fetch = (_, init) =>
    new Promise((_, reject) => {
      if (init?.signal?.aborted) reject(init.signal.reason);
      init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
    });
  const patient = new DragomanClient({ fetch: silent, timeoutMs: 30 });

  test("is given up after a while", async () => {
    await expect(patient.replyPermission("s", "p", "once")).rejects.toEqual(
      new NoAnswer("POST", 30),
    );
    await expect(patient.postMessage("s", "x")).rejects.toBeInstanceOf(NoAnswer);
    const signal = AbortSignal.abort(new Error("left"));
    await expect(patient.getEvents("s", { signal })).rejects.toThrow("left");
  });

  test("may take its time for what takes long", async () => {
    const long = [
      patient.installAgent("codex"),
      patient.createSession(null, { agent: "codex" }),
      patient.files.write("a", "b"),
      patient.streamTurn("s", "x").next(),
    ];
    const late = new Promise((resolve) => setTimeout(() => resolve("still waiting"), 100));
    expect(await Promise.race([...long, late])).toBe("still waiting");
  });
});

describe("agents", () => {
  test("are listed, with their modes and models", async () => {
    const { agents } = await client.listAgents();
    expect(agents.map((agent) => agent.id)).toContain("mock");
    expect((await client.getAgentModes("mock")).modes.map((mode) => mode.id)).toContain("build");
    const { models } = await client.getAgentModels("mock", { refresh: true });
    expect(models.map((model) => model.id)).toContain("mock");
  });

  test("are added and removed while the daemon runs", async () => {
    const command = ["python3", "-c", "input()"];
    const added = await client.addAgent({ id: "mine", command, env: { KEY: "a value" } });
    expect(added).toMatchObject({ id: "mine", source: "api", adapter: "acp", env: ["KEY"] });
    expect((await client.listAgents()).agents).toContainEqual(added);
    await client.removeAgent("mine");
    expect((await client.listAgents()).agents.map(({ id }) => id)).not.toContain("mine");
    await expect(client.removeAgent("mock")).rejects.toMatchObject({ problem: { status: 409 } });
  });

  test("the mock is installed already", async () => {
    await client.installAgent("mock");
  });
});

describe("webhooks", () => {
  test("are added, changed, tested and removed", async () => {
    // Nobody listens there, and nothing of this type comes.
    const url = "http://127.0.0.1:9/hook";
    const { secret, ...added } = await client.addWebhook({ url, types: ["error"] });
    expect(secret).toMatch(/^whsec_/);
    expect(await client.getWebhook(added.id)).toEqual(added);
    expect((await client.listWebhooks()).webhooks).toContainEqual(added);
    const changed = await client.updateWebhook(added.id, { enabled: false });
    expect(changed).toEqual({ ...added, enabled: false });
    expect(await client.testWebhook(added.id)).toMatchObject({ delivered: false });
    await client.removeWebhook(added.id);
    await expect(client.getWebhook(added.id)).rejects.toMatchObject({ problem: { status: 404 } });
  });
});

describe("sessions", () => {
  test("live: created, listed, changed, ended, deleted", async () => {
    const id = await newSession("one of many");
    expect(await client.getSession(id)).toMatchObject({ sessionId: id, title: "one of many" });
    expect((await client.listSessions({ q: "OF MANY" })).sessions).toHaveLength(1);
    const changed = await client.updateSession(id, { title: "renamed" });
    expect(changed.title).toBe("renamed");
    await client.terminateSession(id);
    expect((await client.getSession(id)).status).toBe("ended");
    expect((await client.listSessions({ status: "ended", limit: 1 })).sessions).toHaveLength(1);
    await client.deleteSession(id);
    await expect(client.getSession(id)).rejects.toMatchObject({ code: "session_not_found" });
  });

  test("have a diff, and each of their turns has one", async () => {
    const id = await newSession();
    expect(await client.getDiff(id)).toEqual({ path: ".", diff: "", truncated: false });
    await expect(client.getDiff(id, { turn: "none" })).rejects.toMatchObject({ status: 404 });
  });

  test("get an id of the daemon's where you give none", async () => {
    const { sessionId, healthy } = await client.createSession(null, { agent: "mock" });
    expect(sessionId).not.toBe("");
    expect(healthy).toBe(true);
  });

  test("a list comes in pages", async () => {
    await newSession();
    await newSession();
    const first = await client.listSessions({ limit: 1 });
    const second = await client.listSessions({ limit: 1, cursor: first.nextCursor ?? "" });
    expect(second.sessions[0]?.sessionId).not.toBe(first.sessions[0]?.sessionId);
  });
});

describe("messages and events", () => {
  test("a turn streams, to its end", async () => {
    const id = await newSession();
    const events = await all(client.streamTurn(id, "echo hello", { includeRaw: true }));
    expect(events[0]?.type).toBe("turn.started");
    expect(events.at(-1)?.type).toBe("turn.ended");
    expect(textOf(events)).toBe("hello");
    expect(events.some((event) => event.raw !== null)).toBe(true);
  });

  test("a page is a list, and takes itself apart", async () => {
    const id = await newSession();
    await all(client.streamTurn(id, "echo hello"));
    const page = await client.getEvents(id, { includeRaw: true });
    // What the agent said; nothing that it said caused the start of the session.
    expect(page.find((event) => event.type === "item.delta" && !event.synthetic)?.raw).toEqual({
      type: "delta",
      key: expect.any(String),
      text: "hello",
    });
    expect(page[0]).toMatchObject({ type: "session.started", synthetic: true, raw: null });
    const { events, hasMore } = await client.getEvents(id, { offset: 2, limit: 3 });
    expect(events.map((event) => event.sequence)).toEqual([3, 4, 5]);
    expect(events.every((event) => event.raw === null)).toBe(true);
    expect(hasMore).toBe(true);
  });

  test("the same key never sends twice", async () => {
    const id = await newSession();
    const idempotencyKey = "k1";
    const first = await client.postMessage(id, "echo once", { idempotencyKey });
    expect(first).toMatch(/^msg_/);
    expect(await client.postMessage(id, "echo once", { idempotencyKey })).toBe(first);
    await expect(client.postMessage(id, "other", { idempotencyKey })).rejects.toMatchObject({
      status: 422,
      code: "key_reused",
    });
  });

  test("a message waits, can be taken back, and a turn can be interrupted", async () => {
    const id = await newSession();
    await client.postMessage(id, "hang");
    await until(id, "turn.started");
    const message = { message: "echo later", attachments: [] };
    const waiting = await client.postMessage(id, message, { delivery: "queue" });
    expect((await client.getPending(id)).messages.map((it) => it.messageId)).toEqual([waiting]);
    await client.cancelMessage(id, waiting);
    expect((await client.getPending(id)).messages).toEqual([]);
    await expect(client.postMessage(id, "now", { delivery: "reject" })).rejects.toMatchObject({
      status: 409,
    });
    await client.interruptTurn(id);
    expect(await until(id, "turn.ended")).toMatchObject({ data: { outcome: "interrupted" } });
  });

  test("all sessions are one feed", async () => {
    const id = await newSession();
    const feed = client.streamAll({ cursor: 0, types: ["session.started"], agents: ["mock"] });
    for await (const { cursor, event } of feed) {
      expect(cursor).toBeGreaterThan(0);
      expect(event.type).toBe("session.started");
      if (event.session_id === id) break;
    }
  });
});

describe("requests to people", () => {
  test("a permission is given, and another answer comes too late", async () => {
    const id = await newSession();
    await client.postMessage(id, "permission");
    const { data } = await until(id, "permission.requested");
    await client.replyPermission(id, data.permission_id, "once");
    expect(await until(id, "permission.resolved")).toMatchObject({ data: { status: "accept" } });
    const late = client.replyPermission(id, data.permission_id, { reply: "reject" });
    await expect(late).rejects.toMatchObject({
      status: 409,
      code: "already_resolved",
      problem: { details: { winner: expect.anything() } },
    });
  });

  test("a question is answered, or not", async () => {
    const id = await newSession();
    await client.postMessage(id, "questions");
    const { data } = await until(id, "question.requested");
    await client.replyQuestion(id, data.question_id, [["Red"], ["Apple", "Pear"]]);
    expect(await until(id, "question.resolved")).toMatchObject({
      data: { status: "answered", answers: [["Red"], ["Apple", "Pear"]] },
    });

    const other = await newSession();
    await client.postMessage(other, "questions");
    const asked = await until(other, "question.requested");
    await client.rejectQuestion(other, asked.data.question_id);
    expect(await until(other, "question.resolved")).toMatchObject({ data: { status: "rejected" } });
  });
});

describe("files", () => {
  test("are written, read, listed, moved and removed", async () => {
    const sessionId = await newSession();
    const where = { sessionId };
    await client.files.makeFolder("notes", where);
    await client.files.write("notes/a b.txt", "grüß", where);
    expect(await (await client.files.read("notes/a b.txt", where)).text()).toBe("grüß");
    expect(await client.files.stat("notes/a b.txt", where)).toMatchObject({ size: 6 });
    await client.files.move({ from: "notes/a b.txt", to: "notes/c.txt" }, where);
    const entries = await client.files.list("notes", where);
    expect(entries.map((entry) => entry.name)).toEqual(["c.txt"]);
    await client.files.remove("notes", { ...where, recursive: true });
    await expect(client.files.stat("notes", where)).rejects.toMatchObject({ status: 404 });
  });

  test("an archive is unpacked", async () => {
    const sessionId = await newSession();
    await client.files.upload(new Uint8Array(1024), "unpacked", { sessionId });
  });

  test("an image of a session is served where its address says", async () => {
    const id = await newSession();
    const events = await all(client.streamTurn(id, "image"));
    const path = events
      .flatMap((event) => (event.type === "item.completed" ? event.data.item.content : []))
      .flatMap((part) => (part.type === "image" ? [part.path] : []))[0];
    const name = path?.split("/").at(-1) ?? "";
    const headers = { Authorization: `Bearer ${daemon.token}` };
    const answer = await fetch(client.files.url(id, name), { headers });
    expect(answer.headers.get("Content-Type")).toBe("image/png");
    await answer.body?.cancel();
  });
});

describe("what goes wrong", () => {
  test("is the daemon's problem, as an error", async () => {
    const failed = client.createSession("s", { agent: "nobody" });
    await expect(failed).rejects.toBeInstanceOf(DragomanError);
    await expect(failed).rejects.toMatchObject({
      status: 400,
      code: "unsupported_agent",
      problem: { title: "Unsupported Agent" },
      message: expect.stringContaining("nobody"),
    });
    const id = await newSession();
    await expect(client.createSession(id, { agent: "mock" })).rejects.toMatchObject({
      status: 409,
      code: "session_already_exists",
    });
    const stranger = new DragomanClient({ baseUrl: daemon.url, token: "wrong" });
    await expect(stranger.status()).rejects.toMatchObject({ status: 401, code: "token_invalid" });
  });

  test("also where something in between answers", async () => {
    const answer = async () =>
      new Response("<h1>Bad Gateway</h1>", {
        status: 502,
        statusText: "Bad Gateway",
        headers: { "Retry-After": "3" },
      });
    await expect(new DragomanClient({ fetch: answer }).status()).rejects.toMatchObject({
      status: 502,
      message: "Bad Gateway",
      retryAfterS: 3,
    });
  });

  test("no answer at all is the network's own error", async () => {
    const nowhere = new DragomanClient({ baseUrl: "http://127.0.0.1:9" });
    await expect(nowhere.health()).rejects.toBeInstanceOf(TypeError);
  });

  test("an id is a part of the path, whatever is in it", async () => {
    await expect(client.getSession("../agents")).rejects.toBeInstanceOf(DragomanError);
    expect(calls.at(-1)?.url).toBe(`${daemon.url}/v1/sessions/..%2Fagents`);
  });
});

test("whoever wants hears of every call", async () => {
  const id = await newSession();
  expect(calls.at(-1)).toMatchObject({
    method: "POST",
    url: `${daemon.url}/v1/sessions/${id}`,
    body: JSON.stringify({ agent: "mock", directory: daemon.files }),
    status: 200,
  });
});

async function newSession(title?: string): Promise<string> {
  const id = `client-${++made}`;
  await client.createSession(id, { agent: "mock", directory: daemon.files, title });
  return id;
}

/** The first event of a type, once it is there. */
async function until<T extends EventType>(id: string, type: T): Promise<EventOf<T>> {
  for await (const event of client.streamEvents(id)) {
    if (event.type === type) return event as EventOf<T>;
  }
  throw new Error(`there was no ${type}`);
}

async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const each of stream) found.push(each);
  return found;
}

/** What the agent said. */
function textOf(events: readonly Event[]): string {
  return events
    .flatMap((event) => (event.type === "item.completed" ? [event.data.item] : []))
    .filter((item) => item.role === "assistant")
    .flatMap((item) => item.content.map((part) => (part.type === "text" ? part.text : "")))
    .join("");
}

/** A browser's part: keep the cookie, and send it. */
function withCookies(jar: { cookie: string }): typeof fetch {
  return async (input, init) => {
    const headers = new Headers(init?.headers);
    if (jar.cookie) headers.set("Cookie", jar.cookie);
    // Only a page of the daemon itself may use a cookie.
    headers.set("Origin", daemon.url);
    const answer = await fetch(input, { ...init, headers });
    jar.cookie = answer.headers.get("Set-Cookie")?.split(";")[0] ?? jar.cookie;
    return answer;
  };
}
