import type { Event } from "dragoman-client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SLICE_PIECES } from "../src/state/slices";
import { Transcript, type Window } from "../src/state/transcript";
import { Memory, message, messageInPieces, until } from "./memory";

const opened: Transcript[] = [];

beforeEach(() => {
  vi.stubGlobal("requestAnimationFrame", (draw: () => void) => setTimeout(draw, 0));
  vi.stubGlobal("cancelAnimationFrame", clearTimeout);
});

afterEach(() => {
  for (const transcript of opened.splice(0)) transcript.close();
  vi.unstubAllGlobals();
});

test("opens at the end, with what the last lines need and no more", async () => {
  const { transcript, memory } = await open(100_000);
  const window = transcript.window.get();
  expect(window).toMatchObject({ first: 99_751, last: 100_000, atEnd: true, loading: null });
  expect(texts(window).at(-1)).toBe("line 100000");
  expect(memory.asked).toHaveLength(3);
});

test("reads back until the view is full, and no further", async () => {
  // To open a session the whole log was read, or most of it: 73.7 MB of 100,000 events.
  const memory = new Memory();
  while (memory.events.length < 40_000) {
    memory.events.push(...messageInPieces(memory.events.length + 1, 230, "word "));
  }
  const transcript = await opening(memory);
  const window = transcript.window.get();
  expect(window.atEnd).toBe(true);
  expect(texts(window).length).toBeGreaterThanOrEqual(8);
  expect(texts(window).length).toBeLessThan(40);
  expect(texts(window).every((text) => text.length === 5 * 230)).toBe(true);
  expect(memory.answeredBytes).toBeLessThan(400_000);
  expect(memory.asked.length).toBeLessThanOrEqual(8);

  const before = texts(window).length;
  await transcript.earlier();
  expect(texts(transcript.window.get()).length).toBeGreaterThan(before + 20);
});

test("a long text fills the view, and nothing before it is read", async () => {
  // A text of 100,000 pieces is one line, and for more lines all of it was read.
  const memory = new Memory(100);
  memory.events.push(...messageInPieces(101, 50_000, "word "));
  const window = (await opening(memory)).window.get();
  expect(texts(window).at(-1)).toHaveLength(5 * 50_000);
  expect(memory.asked.filter((path) => path.includes("/events?"))).toHaveLength(1);
});

test("shows a piece in the middle of a long text", async () => {
  const memory = new Memory(100);
  memory.events.push(...messageInPieces(101, 1_500, "x"));
  for (let count = 0; count < 3_000; count++) memory.say();
  const transcript = await opening(memory);
  await transcript.show(1_200);
  const window = transcript.window.get();
  expect(window.first).toBeLessThanOrEqual(1_200);
  expect(window.last).toBeGreaterThanOrEqual(1_200);
  expect(texts(window)[0]).toHaveLength(1_500);
});

test("reads back to where the turn began that is running", async () => {
  const memory = new Memory(5_000);
  memory.status = "running";
  const data = { phase: "started", turn_id: "turn_1" };
  memory.events[2_999] = { ...message(3_000), type: "turn.started", data } as Event;
  const { first, view } = (await opening(memory)).window.get();
  expect(view.state.turnId).toBe("turn_1");
  expect(first).toBeGreaterThan(1_000);
});

test("a session without events is there, and empty", async () => {
  const { transcript } = await open(0);
  expect(transcript.window.get()).toMatchObject({ first: 1, last: 0, atEnd: true, error: null });
});

test("takes in what is earlier, to the beginning", async () => {
  const { transcript } = await open(5_000);
  await transcript.earlier();
  expect(transcript.window.get().first).toBe(4_251);
  while (transcript.window.get().first > 1) await transcript.earlier();
  const window = transcript.window.get();
  expect(window.first).toBe(1);
  expect(texts(window)).toHaveLength(5_000);
  expectWhole(window);
});

test("lets the far end go, and finds it again", async () => {
  const { transcript } = await open(40_000);
  while (transcript.window.get().first > 18_001) await transcript.earlier();
  const back = transcript.window.get();
  expect(back).toMatchObject({ last: back.first + 11_999, atEnd: false });
  expect(texts(back)).toHaveLength(12_000);

  await transcript.later();
  const [first, last] = [back.first + 2_000, back.last + 2_000];
  expect(transcript.window.get()).toMatchObject({ first, last, atEnd: false });
  expectWhole(transcript.window.get());
  await transcript.toEnd();
  expect(transcript.window.get()).toMatchObject({ last: 40_000, atEnd: true });
});

test("follows, and stays bounded", async () => {
  const { transcript, memory } = await open(10);
  for (let count = 0; count < 20_000; count++) memory.say();
  await until(transcript.window, ({ last }) => last === 20_010);
  const window = transcript.window.get();
  expect(texts(window).length).toBeLessThanOrEqual(16_000);
  expectWhole(window);
});

test("takes a burst in slices, between which the browser has its turn", async () => {
  // All that came at once was taken in at once: 20,000 events stopped the page for 645 ms.
  const { transcript, memory } = await open(10);
  let [count, most, pauses] = [0, 0, 0];
  vi.stubGlobal("scheduler", {
    yield: async () => {
      pauses += 1;
      count = 0;
      await new Promise((resolve) => setImmediate(resolve));
    },
  });
  transcript.listen(() => {
    count += 1;
    most = Math.max(most, count);
  });
  const burst = Array.from({ length: 5_000 }, (_, at) => message(11 + at));
  memory.pushAtOnce(...burst);
  await until(transcript.window, ({ last }) => last === 5_010);
  expect(most).toBeLessThanOrEqual(SLICE_PIECES);
  expect(pauses).toBeGreaterThanOrEqual(5_000 / SLICE_PIECES);
  expectWhole(transcript.window.get());
});

test("goes on after a cut, without a hole and without anything twice", async () => {
  const { transcript, memory } = await open(10);
  memory.say();
  await until(transcript.window, ({ last }) => last === 11);
  memory.cut();
  await until(transcript.window, ({ connection }) => connection === "waiting");
  memory.say();
  await until(transcript.window, ({ last, connection }) => last === 12 && connection === "open");
  memory.say();
  await until(transcript.window, ({ last }) => last === 13);
  expectWhole(transcript.window.get());
  expect(memory.asked.at(-1)).toContain("offset=11");
});

test("another log in the place of this one is said, and read anew", async () => {
  // Before, a window that had read on showed events of both.
  const { transcript, memory } = await open(96);
  memory.replace([...memory.events.slice(0, 59), ...others(60, 67)]);
  await until(transcript.window, ({ isReplaced, loading }) => isReplaced && loading === null);
  const window = transcript.window.get();
  expect(window).toMatchObject({ first: 1, last: 67, atEnd: true, error: null });
  expect(texts(window).slice(58, 61)).toEqual(["line 59", "other 60", "other 61"]);
  await until(transcript.window, ({ connection }) => connection === "open");
  memory.say();
  await until(transcript.window, ({ last }) => last === 68);
});

test("a log that is longer than the one that was read is another one all the same", async () => {
  const { transcript, memory } = await open(96);
  memory.replace([...memory.events.slice(0, 59), ...others(60, 120)]);
  await until(transcript.window, ({ isReplaced, loading }) => isReplaced && loading === null);
  expect(texts(transcript.window.get()).at(-1)).toBe("other 120");
});

/** Messages that never were in the first log. */
function others(first: number, last: number): Event[] {
  const count = last - first + 1;
  return Array.from({ length: count }, (_, at) => ({
    ...message(first + at, `other ${first + at}`),
    event_id: `evt_other_${first + at}`,
  }));
}

test("shows an event far away, and takes what happens meanwhile for later", async () => {
  const { transcript, memory } = await open(50_000);
  await transcript.show(10_000);
  const window = transcript.window.get();
  expect(window).toMatchObject({ first: 9_001, last: 11_000, atEnd: false });
  expectWhole(window);
  memory.say();
  await transcript.toEnd();
  await until(transcript.window, ({ last }) => last === 50_001);
  expectWhole(transcript.window.get());
});

test("an event that is shown before all is open comes after it", async () => {
  const memory = new Memory(50_000);
  const transcript = made(memory);
  void transcript.open();
  await transcript.show(10_000);
  await until(transcript.window, ({ connection }) => connection === "open");
  expect(transcript.window.get()).toMatchObject({ first: 9_001, last: 11_000, atEnd: false });
  expect(memory.asked.find((path) => path.includes("sse"))).toContain("offset=50000");
});

test.each([
  ["earlier", (transcript: Transcript) => transcript.earlier()],
  ["the end", (transcript: Transcript) => transcript.toEnd()],
  ["an event near the end", (transcript: Transcript) => transcript.show(49_500)],
] as const)("what happens while %s is fetched is not lost", async (what, move) => {
  const { transcript, memory } = await open(50_000);
  if (what !== "earlier") await transcript.show(10_000);
  let letGo = () => {};
  memory.gate = new Promise((resolve) => {
    letGo = resolve;
  });
  const moved = move(transcript);
  await until(transcript.window, ({ loading }) => loading !== null);
  memory.say();
  await heard(transcript, memory);
  letGo();
  await moved;
  await until(transcript.window, ({ last, atEnd }) => atEnd && last === memory.events.length);
  expectWhole(transcript.window.get());
});

test("tells whoever listens of every event, wherever the window is", async () => {
  const { transcript, memory } = await open(50_000);
  await transcript.show(10);
  const sequences: number[] = [];
  const stop = transcript.listen((event) => sequences.push(event.sequence));
  memory.say();
  memory.say();
  await vi.waitFor(() => expect(sequences).toEqual([50_001, 50_002]));
  stop();
  await heard(transcript, memory);
  expect(sequences).toHaveLength(2);
});

test("a session that is not there is an error; closed, it lets go of its connection", async () => {
  const { transcript, memory } = await open(1);
  transcript.close();
  await vi.waitFor(() => expect(memory.streams).toBe(0));

  const broken = new Memory();
  broken.gate = Promise.reject(new Error("no such session"));
  const failed = made(broken);
  await failed.open();
  expect(failed.window.get()).toMatchObject({ error: { message: "no such session" } });
});

async function open(count: number): Promise<{ transcript: Transcript; memory: Memory }> {
  const memory = new Memory(count);
  return { transcript: await opening(memory), memory };
}

async function opening(memory: Memory): Promise<Transcript> {
  const transcript = made(memory);
  void transcript.open();
  await until(transcript.window, ({ connection }) => connection === "open");
  return transcript;
}

function made(memory: Memory): Transcript {
  const transcript = new Transcript(memory.client, "s");
  opened.push(transcript);
  return transcript;
}

/** Wait until one more event has come through the stream. */
async function heard(transcript: Transcript, memory: Memory): Promise<void> {
  await new Promise<void>((resolve) => {
    const stop = transcript.listen(() => {
      stop();
      resolve();
    });
    memory.say();
  });
}

function texts({ view }: Window): string[] {
  return view.order.flatMap((key) => {
    const entry = view.entries.get(key);
    const part = entry?.kind === "item" ? entry.item.content[0] : undefined;
    return part?.type === "text" ? [part.text] : [];
  });
}

/** Every line from the first to the last is there, once, in order. */
function expectWhole(window: Window): void {
  const shown = texts(window);
  const wanted = Array.from({ length: window.last - window.first + 1 }, (_, index) => {
    return `line ${window.first + index}`;
  });
  expect(shown).toEqual(wanted);
}
