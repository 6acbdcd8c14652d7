import { cpSync, rmSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  type DragomanClient,
  DragomanError,
  type Event,
  HistoryDiverged,
  Position,
} from "../src/index.js";
import type { Frame } from "../src/sse.js";
import { Daemon } from "./daemon.js";

const CHAIN = "05585d8a671511eaaa260c2cbe363c9a";
/** The log was copied at 59, read up to 96, put back, and went on to 67 with other events. */
const [KEPT, READ, NOW] = [59, 96, 67];

describe("a place in a log", () => {
  test("resumes where it is as long as no link is told", () => {
    const position = new Position(4);
    expect(position.take(frame(5))).toContain('"sequence":5');
    expect(position.start).toEqual({ offset: 5, afterChain: undefined });
  });

  test("resumes at the last link, and takes what comes again only once", () => {
    const position = new Position(0, "0".repeat(32));
    for (const sequence of [1, 2, 3, 4]) {
      expect(position.take(frame(sequence))).not.toBeNull();
      if (sequence === 2) position.take(link(2));
    }
    expect(position.start).toEqual({ offset: 2, afterChain: CHAIN });
    expect([2, 3, 4].map((sequence) => position.take(frame(sequence)))).toEqual([null, null, null]);
    expect(position.take(frame(5))).not.toBeNull();
    expect(position.sequence).toBe(5);
  });

  test("throws where another event stands in the place of one that was read", () => {
    const position = new Position(1, CHAIN);
    position.take(frame(2));
    expect(() => position.take(frame(2, "evt_other"))).toThrow(HistoryDiverged);
  });

  test("believes no link of what it has not read", () => {
    const position = new Position(3, CHAIN);
    position.take({ id: null, data: null, link: { sequence: 9, chain: "f".repeat(32) } });
    position.take({ id: null, data: null, link: { sequence: 2, chain: "f".repeat(32) } });
    expect(position.link).toEqual({ sequence: 3, chain: CHAIN });
  });

  test("reads an envelope of any order", () => {
    const position = new Position(0, CHAIN);
    position.take({ id: "1", data: '{"sequence": 1, "session_id": "s", "event_id": "a\\"b"}' });
    expect(position.sequence).toBe(1);
  });
});

describe("an older copy of the log that is put back", () => {
  const daemon = new Daemon();
  const copy = `${daemon.data}-copy`;
  let client: DragomanClient;

  beforeAll(async () => {
    await daemon.start();
    await say("s", "burst 50 10", true);
    expect(await count()).toBe(KEPT);
    await daemon.kill("SIGTERM");
    cpSync(daemon.data, copy, { recursive: true });
    await daemon.start();
    client = daemon.client;
  }, 60_000);
  afterAll(() => daemon.remove());
  afterEach(async () => {
    await putBack();
  }, 60_000);

  test("is thrown to who follows, once, and nothing of the other log is given", async () => {
    // Before, the stream went on at 97 of another log, or asked for what is beyond its end.
    const seen: Event[] = [];
    const following = (async () => {
      for await (const event of client.streamEvents("s")) {
        seen.push(event);
        if (event.sequence !== READ) continue;
        await putBack();
        await say("s", "echo other");
      }
    })();
    const refused = expect(following).rejects.toBeInstanceOf(HistoryDiverged);
    await say("s", "burst 30 10");
    await refused;
    expect(seen.map((event) => event.sequence)).toEqual(
      Array.from({ length: READ }, (_, n) => n + 1),
    );
    expect(await count()).toBe(NOW);
  }, 60_000);

  test("is thrown to who comes back with a link, and not to who has read no further", async () => {
    await say("s", "burst 30 10");
    const before = await client.getEvents("s", { offset: 62, limit: 1 });
    const { chain } = await client.getSession("s");
    await putBack();
    await say("s", "echo other");
    const at63 = { offset: 63, afterChain: before.chain };
    const at96 = { offset: READ, afterChain: chain ?? undefined };
    for (const options of [at63, at96]) {
      await expect(client.getEvents("s", options)).rejects.toBeInstanceOf(HistoryDiverged);
      const error = await all(client.streamEvents("s", options)).catch((it: unknown) => it);
      expect(error).toBeInstanceOf(DragomanError);
      expect(error).toMatchObject({ status: 409, code: "history_diverged" });
      expect((error as Error).message).toContain("read it again from the start");
    }
    const kept = await client.getEvents("s", { offset: KEPT - 1, limit: 1 });
    const next = await client.getEvents("s", { offset: KEPT, afterChain: kept.chain });
    expect(next.map((event) => event.sequence)).toEqual([60, 61, 62, 63, 64, 65, 66, 67]);
  }, 60_000);

  test("is noticed by a place that outlives its streams", async () => {
    const position = new Position();
    const stop = new AbortController();
    const options = { position, signal: stop.signal };
    for await (const event of client.streamEvents("s", options)) {
      if (event.sequence === KEPT) stop.abort();
    }
    expect(position.sequence).toBe(KEPT);
    await say("s", "burst 30 10");
    for await (const event of client.streamEvents("s", { position })) {
      if (event.sequence === READ) break;
    }
    await putBack();
    await expect(all(client.streamEvents("s", { position }))).rejects.toThrow(HistoryDiverged);
  }, 60_000);

  async function putBack(): Promise<void> {
    await daemon.kill("SIGTERM");
    rmSync(daemon.data, { recursive: true });
    cpSync(copy, daemon.data, { recursive: true });
    await daemon.start();
  }

  async function say(id: string, message: string, create = false): Promise<void> {
    if (create) await daemon.client.createSession(id, { agent: "mock", directory: daemon.files });
    await all(daemon.client.streamTurn(id, message));
  }

  async function count(): Promise<number> {
    return (await daemon.client.getSession("s")).eventCount;
  }
});

function frame(sequence: number, id = `evt_${sequence}`): Frame {
  const time = "2026-01-02T03:04:05.678Z";
  const event = { event_id: id, sequence, time, session_id: "s", type: "item.delta", raw: null };
  return { id: `${sequence}`, data: JSON.stringify(event) };
}

function link(sequence: number): Frame {
  return { id: null, data: null, link: { sequence, chain: CHAIN } };
}

async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const each of stream) found.push(each);
  return found;
}
