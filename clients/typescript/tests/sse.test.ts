import { describe, expect, test } from "vitest";
import { type Frame, Frames, frames } from "../src/sse.js";

const TEXT =
  ':\n\nid: 1\ndata: {"delta":"grüß 😀"}\n\nid: 2\n\n: still here\n\ndata:a\ndata: b\nid:3\n\n';
const WANTED: Frame[] = [
  { id: "1", data: '{"delta":"grüß 😀"}' },
  { id: "2", data: null },
  { id: "3", data: "a\nb" },
];
const BYTES = new TextEncoder().encode(TEXT);

describe("cutting a stream into frames", () => {
  test("a comment may tell a link", () => {
    const chain = "05585d8a671511eaaa260c2cbe363c9a";
    const found = [...new Frames().feed(`: chain 41 ${chain}\n\n: chain 42\n\n: chained\n\n`)];
    expect(found).toEqual([{ id: null, data: null, link: { sequence: 41, chain } }]);
  });

  test("at every place, also within a character", async () => {
    for (let cut = 0; cut <= BYTES.length; cut++) {
      expect(await read([BYTES.subarray(0, cut), BYTES.subarray(cut)])).toEqual(WANTED);
    }
  });

  test("byte by byte", async () => {
    expect(await read(Array.from(BYTES, (byte) => Uint8Array.of(byte)))).toEqual(WANTED);
  });

  test("a frame that was cut off is none", () => {
    const cutter = new Frames();
    expect([...cutter.feed("id: 1\ndata: whole\n\nid: 2\ndata: ha")]).toHaveLength(1);
  });

  test("a very long frame in many pieces", () => {
    const cutter = new Frames();
    const piece = "x".repeat(64 * 1024);
    const found = [...cutter.feed("data: ")];
    for (let count = 0; count < 160; count++) found.push(...cutter.feed(piece));
    found.push(...cutter.feed("\n\n"));
    expect(found.map((frame) => frame.data?.length)).toEqual([160 * 64 * 1024]);
  });

  test("every piece is a sign of life, also a comment", async () => {
    let alive = 0;
    const response = answer([":\n\n", ":\n\n"].map((text) => new TextEncoder().encode(text)));
    for await (const _ of frames(response, () => alive++)) throw new Error("a comment is no frame");
    expect(alive).toBe(2);
  });

  test("who stops reading closes the connection", async () => {
    let closed = false;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(BYTES),
      cancel: () => {
        closed = true;
      },
    });
    for await (const _ of frames(new Response(body))) break;
    expect(closed).toBe(true);
  });
});

async function read(chunks: readonly Uint8Array[]): Promise<Frame[]> {
  const found: Frame[] = [];
  for await (const frame of frames(answer(chunks))) found.push(frame);
  return found;
}

function answer(chunks: readonly Uint8Array[]): Response {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  return new Response(body);
}
