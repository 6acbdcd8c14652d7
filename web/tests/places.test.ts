import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Company } from "../src/state/feed";
import { Transcript } from "../src/state/transcript";
import { Memory, message, until } from "./memory";

/** Locks as a browser has them, for those who do not wait. */
function locks(): Company["locks"] {
  const held = new Set<string>();
  const request = async (
    name: string,
    _: LockOptions,
    work: (lock: Lock | null) => Promise<void>,
  ) => {
    if (held.has(name)) return work(null);
    held.add(name);
    await work({ name, mode: "exclusive" });
    held.delete(name);
  };
  return { request } as unknown as Company["locks"];
}

const opened: Transcript[] = [];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"], shouldAdvanceTime: true });
  vi.stubGlobal("requestAnimationFrame", (draw: () => void) => setTimeout(draw, 0));
  vi.stubGlobal("cancelAnimationFrame", clearTimeout);
});

afterEach(() => {
  for (const transcript of opened.splice(0)) transcript.close();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

async function windows(memory: Memory, count: number): Promise<Transcript[]> {
  const places = { name: "places", locks: locks() };
  const all = Array.from({ length: count }, () => new Transcript(memory.client, "s", places));
  opened.push(...all);
  for (const each of all) {
    void each.open();
    await until(each.window, ({ connection }) => connection === "open");
  }
  return all;
}

const heard = async (all: Transcript[], last: number) => {
  for (const { window } of all) await until(window, (now) => now.last === last);
};

test("however many windows there are, few have a stream, and all hear", async () => {
  const memory = new Memory(3);
  const all = await windows(memory, 5);
  expect(memory.streams).toBe(3);
  memory.say();
  await vi.advanceTimersByTimeAsync(1_100);
  await heard(all, 4);
});

test("who asks is not behind for long, however much was said", async () => {
  const memory = new Memory(3);
  const all = await windows(memory, 4);
  for (let count = 0; count < 5_000; count++) memory.say();
  await vi.advanceTimersByTimeAsync(1_100);
  await heard(all.slice(3), 5_003);
});

test("who had no place takes the next that is free", async () => {
  const memory = new Memory(3);
  const [first, ...others] = (await windows(memory, 4)) as [Transcript, ...Transcript[]];
  first.close();
  await vi.advanceTimersByTimeAsync(1_100);
  await vi.waitFor(() => expect(memory.streams).toBe(3));
  memory.say();
  await heard(others, 4);
});

test("nobody asks for what comes after the end", async () => {
  const memory = new Memory(3);
  const all = await windows(memory, 4);
  memory.push({ ...message(4), type: "session.ended" } as never);
  await vi.advanceTimersByTimeAsync(1_100);
  for (const { window } of all) await until(window, ({ connection }) => connection === "closed");
  const asked = memory.asked.length;
  const late = new Transcript(memory.client, "s");
  opened.push(late);
  await late.open();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(memory.asked.slice(asked).filter((path) => path.includes("sse"))).toEqual([]);
});
