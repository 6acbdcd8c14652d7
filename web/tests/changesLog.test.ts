import type { Event, SessionDiff } from "dragoman-client";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ChangesLog } from "../src/state/changesLog";
import { DiffReader } from "../src/state/diffReader";
import { Memory, message } from "./memory";

const DIFF = "diff --git a/a b/a\n@@ -1 +1 @@\n-1\n+2\n";

function at(sequence: number, type: Event["type"], data: unknown): Event {
  return { ...message(sequence), type, data } as Event;
}

/** A turn of so many lines that changes something. */
function turn(first: number, id: string, lines: number): Event[] {
  const last = first + lines + 1;
  return [
    at(first, "turn.started", { phase: "started", turn_id: id }),
    ...Array.from({ length: lines }, (_, each) => message(first + 1 + each)),
    at(last, "turn.diff", { turn_id: id, diff: DIFF }),
    at(last + 1, "turn.ended", { phase: "ended", turn_id: id }),
  ];
}

const idsIn = (log: ChangesLog) => log.state.get().turns.map(({ turnId }) => turnId);

describe("the log of changes", () => {
  test("reads back to the turns that changed something, and further when asked", async () => {
    const memory = new Memory();
    for (let number = 1; number <= 25; number++) {
      memory.push(...turn(memory.events.length + 1, `turn${number}`, 500));
    }
    const log = new ChangesLog(memory.client, "s");
    await log.open();
    const found = idsIn(log);
    expect(found[0]).toBe("turn25");
    expect(found.length).toBeGreaterThanOrEqual(10);
    expect(found.length).toBeLessThan(25);
    expect(log.state.get()).toMatchObject({ isReading: false, error: null });
    await log.earlier();
    await log.earlier();
    expect(idsIn(log)).toHaveLength(25);
    expect(log.state.get().first).toBe(1);
  });

  test("hears what comes, and reads what it has missed", async () => {
    const memory = new Memory(3);
    const log = new ChangesLog(memory.client, "s");
    await log.open();
    const started = at(4, "turn.started", { phase: "started", turn_id: "t" });
    const file = at(5, "sandbox.file", { type: "create", path: "/a", timestamp: 1 });
    memory.push(started, file);
    await log.hear([file]);
    expect(log.state.get()).toMatchObject({
      version: 1,
      turns: [{ turnId: "t", isRunning: true, files: [{ path: "/a" }] }],
    });
    await log.hear([started, file]);
    expect(log.state.get().version).toBe(1);
    await log.hear([
      at(6, "turn.diff", { turn_id: "t", diff: DIFF }),
      at(7, "turn.ended", { phase: "ended", turn_id: "t" }),
    ]);
    expect(log.state.get()).toMatchObject({
      version: 2,
      turns: [{ isRunning: false, counts: { files: 1 }, files: [] }],
    });
  });

  test("reads what came before anybody listened", async () => {
    const memory = new Memory(3);
    const log = new ChangesLog(memory.client, "s");
    await log.open();
    memory.push(...turn(4, "t", 1));
    await log.reach(7);
    expect(idsIn(log)).toEqual(["t"]);
    const asked = memory.asked.length;
    await log.reach(7);
    expect(memory.asked).toHaveLength(asked);
  });

  test("says what failed, and tries again", async () => {
    const memory = new Memory();
    memory.push(...turn(1, "t", 1));
    const broken = Promise.reject(new TypeError("cut"));
    broken.catch(() => {});
    memory.gate = broken;
    const log = new ChangesLog(memory.client, "s");
    await log.open();
    expect(log.state.get()).toMatchObject({ isReading: false, error: { message: "cut" } });
    memory.gate = Promise.resolve();
    await log.open();
    expect(log.state.get().error).toBeNull();
    expect(idsIn(log)).toEqual(["t"]);
  });
});

describe("the reader of a diff", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test("reads once for many changes, and again for what changed meanwhile", async () => {
    vi.useFakeTimers();
    const answers: ((diff: SessionDiff) => void)[] = [];
    const reader = new DiffReader(() => new Promise((resolve) => answers.push(resolve)));
    reader.open();
    answers[0]?.({ diff: "one" });
    await vi.advanceTimersByTimeAsync(0);
    expect(reader.state.get()).toMatchObject({ diff: { diff: "one" }, isReading: false });

    for (let times = 0; times < 10; times++) reader.refresh();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(answers).toHaveLength(2);
    reader.refresh();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(answers).toHaveLength(2);
    answers[1]?.({ diff: "two" });
    await vi.advanceTimersByTimeAsync(100_000);
    expect(answers).toHaveLength(3);
    expect(reader.state.get()).toMatchObject({ diff: { diff: "two" }, isReading: true });
    reader.close();
  });

  test("keeps what it has when a reading fails, and the same value for the same diff", async () => {
    vi.useFakeTimers();
    const answers = [{ diff: "one" }, new Error("away"), { diff: "one" }];
    const reader = new DiffReader(() => {
      const answer = answers.shift();
      return answer instanceof Error || !answer ? Promise.reject(answer) : Promise.resolve(answer);
    });
    reader.open();
    await vi.advanceTimersByTimeAsync(0);
    const { diff } = reader.state.get();
    reader.refresh();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(reader.state.get()).toMatchObject({ diff: { diff: "one" }, error: { message: "away" } });
    reader.refresh();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(reader.state.get().error).toBeNull();
    expect(reader.state.get().diff).toBe(diff);
    reader.close();
  });
});
