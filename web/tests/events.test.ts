import { execFileSync } from "node:child_process";
import type { Call, Event } from "dragoman-client";
import { describe, expect, test } from "vitest";
import { movedTo } from "../src/inspect/EventsList";
import { FAMILIES, fits, isFiltering, NO_FILTER, preciseClock, rowOf } from "../src/inspect/events";
import { EventLog } from "../src/inspect/eventsLog";
import { search } from "../src/inspect/eventsPlaces";
import { MOST_FOUND, Scan } from "../src/inspect/eventsScan";
import { listed, moodOfStatus, pathOf } from "../src/inspect/requests";
import { curlOf } from "../src/inspect/requestsCurl";
import { MASK, masked } from "../src/inspect/requestsSecrets";
import { Memory, message, messageInPieces, until } from "./memory";
import { recordings } from "./recordings";

const DIFF = "diff --git a/a b/a\n@@ -1 +1,2 @@\n-1\n+2\n+3\n";

describe("a line", () => {
  test("is one short line for every event there is", () => {
    const types = new Set<string>();
    for (const event of recordings().flatMap(({ events }) => events)) {
      const { summary } = rowOf(event);
      expect(summary).not.toMatch(/\n|undefined|\[object/);
      expect(summary.length).toBeLessThanOrEqual(241);
      types.add(event.type);
    }
    const known: string[] = FAMILIES.flatMap(([, all]) => all);
    expect([...types].filter((type) => !known.includes(type))).toEqual([]);
  });

  test("of a type that is not known yet shows its data", () => {
    const later = { ...message(1), type: "moon.risen", data: { phase: "full" } };
    expect(rowOf(later as unknown as Event).summary).toBe('{"phase":"full"}');
  });

  test("of a turn counts all tokens that went in", () => {
    const usage = { input_tokens: 2, cached_input_tokens: 30, output_tokens: 4 };
    const ended = { ...message(1), type: "turn.ended", data: { outcome: "completed", usage } };
    expect(rowOf(ended as unknown as Event).summary).toBe("completed · 32 in, 4 out");
  });

  test.each([
    ["sandbox.file", { type: "create", path: "/w/a", timestamp: 1 }, "create a in /w/"],
    [
      "sandbox.file",
      { type: "change", path: "/w", timestamp: 1, count: 1200 },
      "1,200 files in /w",
    ],
    ["sandbox.file.diff", { path: "/w/a", diff: DIFF }, "a · 1 file, +2 −1"],
    ["file.changed", { path: ".", diff: DIFF }, "1 file, +2 −1"],
    ["turn.diff", { turn_id: "t", diff: DIFF, truncated: true }, "1 file, +2 −1 · not all of it"],
  ])("of %s says what changed, not how", (type, data, summary) => {
    expect(rowOf({ ...message(1), type, data } as Event).summary).toContain(summary);
  });

  test("has a time to the millisecond", () => {
    expect(preciseClock(new Date(2026, 0, 2, 3, 4, 5, 6).toISOString())).toBe("03:04:05.006");
  });
});

describe("a filter", () => {
  test.each([
    [NO_FILTER, false],
    [{ ...NO_FILTER, withoutDeltas: true }, true],
    [{ ...NO_FILTER, types: new Set(["turn.ended"]) }, true],
    [{ ...NO_FILTER, types: new Set(["turn.ended", "item.delta"]) }, false],
  ])("reads no pieces of what is complete where it takes none: %#", async (filter, isCompact) => {
    const memory = new Memory();
    memory.events.push(...messageInPieces(1, 3_000));
    const scan = new Scan(memory.client, "s", { ...filter, text: "work" }, 3_002);
    await scan.run();
    expect(scan.found.get()).toMatchObject({ state: "done", seen: 3_002 });
    expect(memory.asked.every((path) => path.includes("compact=true") === isCompact)).toBe(true);
  });

  const event = message(7, 'He said "Hello",\nand left');

  test("finds text anywhere in the event, in any case", () => {
    expect(fits(event, { ...NO_FILTER, text: '"hello"' })).toBe(true);
    expect(fits(event, { ...NO_FILTER, text: "itm_7" })).toBe(true);
    expect(fits(event, { ...NO_FILTER, text: "goodbye" })).toBe(false);
  });

  test("takes the types that are chosen, and both must fit", () => {
    const types = new Set(["item.completed"]);
    expect(fits(event, { ...NO_FILTER, types })).toBe(true);
    expect(fits(event, { ...NO_FILTER, types: new Set(["error"]), text: "hello" })).toBe(false);
    expect(isFiltering(NO_FILTER)).toBe(false);
    expect(isFiltering({ ...NO_FILTER, types })).toBe(true);
  });

  test("takes all but deltas, also types that are not known yet", () => {
    // To see a log without its deltas one had to choose every other type, a click for each.
    const filter = { ...NO_FILTER, withoutDeltas: true };
    const later = { ...event, type: "moon.risen" } as unknown as Event;
    const delta = { ...event, type: "item.delta", data: { item_id: "i", delta: "x" } };
    expect(fits(event, filter)).toBe(true);
    expect(fits(later, filter)).toBe(true);
    expect(fits(delta as unknown as Event, filter)).toBe(false);
    expect(isFiltering(filter)).toBe(true);
  });
});

describe("the log", () => {
  test("fetches the pages that are looked at, and lets old ones go", async () => {
    const memory = new Memory(100_000);
    const log = new EventLog(memory.client, "s", 100_000);
    for (let first = 1; first <= 100_000; first += 1_000) {
      log.want(first, first + 30);
      await until(log.state, () => log.at(first + 30) !== undefined);
    }
    expect(log.pagesKept).toBe(40);
    expect(log.at(1)).toBeUndefined();
    expect(memory.asked).toHaveLength(100);
  });

  test("a long scroll leaves no backlog: only what is looked at now is fetched", async () => {
    const memory = new Memory(100_000);
    const log = new EventLog(memory.client, "s", 100_000);
    for (let first = 1; first <= 100_000; first += 500) log.want(first, first + 30);
    await until(log.state, () => log.at(99_600) !== undefined);
    expect(memory.asked.length).toBeLessThanOrEqual(2);
  });

  test("grows by what it hears, and fetches what it missed", async () => {
    const memory = new Memory(10);
    const log = new EventLog(memory.client, "s", 10);
    log.want(1, 10);
    await until(log.state, () => log.at(10) !== undefined);
    memory.say();
    log.hear([message(11)]);
    expect(log.at(11)?.sequence).toBe(11);
    for (const _ of [12, 13, 14]) memory.say();
    log.hear([message(14)]);
    expect(log.state.get().count).toBe(14);
    log.grow(20);
    expect(log.state.get().heard).toBe(2);
    expect(log.at(14)).toBeUndefined();
    log.want(1, 14);
    await until(log.state, () => log.at(14) !== undefined);
    expect(log.at(12)?.sequence).toBe(12);
  });

  test("goes from page to page as it grows", () => {
    const log = new EventLog(new Memory().client, "s", 0);
    for (let sequence = 1; sequence <= 1_200; sequence++) log.hear([message(sequence)]);
    expect([500, 501, 1_000, 1_001, 1_200].map((at) => log.at(at)?.sequence)).toEqual([
      500, 501, 1_000, 1_001, 1_200,
    ]);
  });
});

describe("a search", () => {
  test("goes through all, from the end, and hears what comes", async () => {
    const memory = new Memory(5_000);
    const scan = new Scan(memory.client, "s", { ...NO_FILTER, text: "line 49" }, 5_000);
    await scan.run();
    expect(scan.found.get()).toMatchObject({ state: "done", seen: 5_000, count: 5_000 });
    const sequences = scan.found.get().rows.map((row) => row.sequence);
    expect(sequences[0]).toBe(49);
    expect(sequences.at(-1)).toBe(4_999);
    expect(sequences).toHaveLength(111);
    expect(memory.asked[0]).toContain("offset=3000");
    scan.hear([message(5_000), message(5_001, "line 49 again")]);
    expect(scan.found.get().rows.at(-1)?.sequence).toBe(5_001);
    expect(scan.found.get().rows).toHaveLength(112);
  });

  test("stops when it is told to, and keeps what it found", async () => {
    const memory = new Memory(50_000);
    const scan = new Scan(memory.client, "s", { ...NO_FILTER, text: "line" }, 50_000);
    const running = scan.run();
    await until(scan.found, ({ rows }) => rows.length > 0);
    scan.cancel();
    await running;
    expect(scan.found.get().state).toBe("cancelled");
    expect(memory.asked.length).toBeLessThan(25);
  });

  test("has an end where too much fits", async () => {
    const memory = new Memory(30_000);
    const scan = new Scan(memory.client, "s", { ...NO_FILTER, text: "line" }, 30_000);
    await scan.run();
    expect(scan.found.get().state).toBe("full");
    expect(scan.found.get().rows).toHaveLength(MOST_FOUND);
    expect(scan.found.get().rows.at(-1)?.sequence).toBe(30_000);
  });
});

test("a row is found by its sequence", () => {
  const rows = [2, 3, 5, 8, 13].map((sequence) => rowOf(message(sequence)));
  expect([2, 5, 13, 1, 4, 20].map((sequence) => search(rows, sequence))).toEqual([
    0, 2, 4, -1, -1, -1,
  ]);
});

test("keys lead from row to row, and never out of the list", () => {
  expect(movedTo("ArrowDown", 3, 10, 4)).toBe(4);
  expect(movedTo("ArrowDown", 9, 10, 4)).toBe(9);
  expect(movedTo("ArrowUp", -1, 10, 4)).toBe(9);
  expect(movedTo("PageUp", 2, 10, 4)).toBe(0);
  expect(movedTo("Home", 5, 10, 4)).toBe(0);
  expect(movedTo("End", 5, 10, 4)).toBe(9);
  expect(movedTo("x", 5, 10, 4)).toBeNull();
});

describe("a request", () => {
  const call = (change: Partial<Call>): Call => ({
    method: "GET",
    url: "http://127.0.0.1:2468/v1/sessions?limit=1&q=a%20b",
    body: null,
    status: 200,
    startedAt: 0,
    durationMs: 1,
    ...change,
  });

  test("is a command that a shell takes as it was", () => {
    const body = JSON.stringify({ message: 'it\'s `$HOME`\n\\ "quoted" !' });
    const post = call({ method: "POST", url: "http://h/v1/sessions/s/messages", body });
    expect(argumentsOf(curlOf(post))).toEqual([
      "-X",
      "POST",
      "http://h/v1/sessions/s/messages",
      "-H",
      "Authorization: Bearer secret",
      "-H",
      "Content-Type: application/json",
      "--data-raw",
      body,
    ]);
    expect(argumentsOf(curlOf(call({})))).toEqual([
      "http://127.0.0.1:2468/v1/sessions?limit=1&q=a%20b",
      "-H",
      "Authorization: Bearer secret",
    ]);
  });

  test("has no secrets in it", () => {
    const env = { KEY: "hush", EMPTY: "" };
    const oauth = { clientId: "me", clientSecret: "hush" };
    const far = { url: "https://me:hush@example.com/mcp?key=hush&x=hush#a", oauth };
    const body = {
      agent: "mock",
      env,
      mcp: { near: { command: "npx", env }, far: { ...far, headers: { Authorization: "hush" } } },
      skills: { sources: [{ type: "git", source: "https://hush@example.com/s.git" }] },
    };
    const shown = masked(JSON.stringify(body));
    expect(shown).not.toContain("hush");
    expect(JSON.parse(shown)).toMatchObject({ agent: "mock", env: { KEY: MASK } });
    expect(shown).toContain(`https://${MASK}@example.com/mcp?key=${MASK}&x=${MASK}#a`);
    const login = call({ method: "POST", body: JSON.stringify({ ticket: "hush" }) });
    expect(curlOf(login)).not.toContain("hush");
    const message = JSON.stringify({ message: "env: hush", delivery: null });
    expect(masked(message)).toBe(message);
  });

  test("that streams or sends a file says so", () => {
    expect(curlOf(call({ url: "http://h/v1/events/sse" }))).toMatch(/^curl -N http/);
    expect(curlOf(call({ method: "PUT" }))).toContain("--data-binary @FILE");
    const upload = call({ method: "POST", url: "http://h/v1/fs/upload-batch" });
    expect(curlOf(upload)).toContain("application/x-tar");
  });

  test("that repeats is one line, if it only reads", () => {
    const calls = [call({ startedAt: 1 }), call({ startedAt: 2 }), call({ method: "POST" })];
    const shown = listed([...calls, ...calls], true);
    expect(shown.map((each) => [each.call.method, each.times])).toEqual([
      ["POST", 1],
      ["GET", 4],
      ["POST", 1],
    ]);
    expect(shown[1]?.call.startedAt).toBe(2);
    expect(listed([...calls, ...calls], false)).toHaveLength(6);
  });

  test("is shown below where the daemon is", () => {
    expect(pathOf(call({}), "http://127.0.0.1:2468")).toBe("/v1/sessions?limit=1&q=a%20b");
    expect([200, 404, 500, null].map(moodOfStatus)).toEqual(["good", "wait", "bad", "bad"]);
  });
});

/** What a shell gives to the program. */
function argumentsOf(command: string): string[] {
  const script = `curl() { printf '%s\\0' "$@"; }; ${command}`;
  const env = { DRAGOMAN_TOKEN: "secret" };
  return execFileSync("sh", ["-c", script], { encoding: "utf8", env }).split("\0").slice(0, -1);
}
