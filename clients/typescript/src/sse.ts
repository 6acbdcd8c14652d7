import type { Link } from "./position.js";

/**
 * One event of a stream. A block that has only an id tells how far the stream is, one that has only
 * a link what the log is known by.
 */
export interface Frame {
  id: string | null;
  data: string | null;
  link?: Link;
}

/** Cut chunks of text into frames. Feed it as they come; a frame may span several. */
export class Frames {
  /** What is not a whole frame yet; joined only once it is, since a frame may be very long. */
  #waiting: string[] = [];

  *feed(chunk: string): Generator<Frame> {
    if (chunk === "") return;
    const seam = this.#waiting.at(-1)?.endsWith("\n") ? "\n" : "";
    this.#waiting.push(chunk);
    if (!`${seam}${chunk}`.includes("\n\n")) return;
    const blocks = this.#waiting.join("").split("\n\n");
    this.#waiting = [blocks.pop() ?? ""];
    for (const block of blocks) {
      const frame = parse(block);
      if (frame !== null) yield frame;
    }
  }
}

function parse(block: string): Frame | null {
  let id: string | null = null;
  let data: string | null = null;
  let link: Link | undefined;
  for (const line of block.split("\n")) {
    const value = (name: string) => line.slice(name.length + (line[name.length] === " " ? 1 : 0));
    if (line.startsWith("data:")) {
      data = data === null ? value("data:") : `${data}\n${value("data:")}`;
    } else if (line.startsWith("id:")) {
      id = value("id:");
    } else if (line.startsWith(": chain ")) {
      const [sequence, chain] = line.slice(": chain ".length).split(" ");
      if (chain) link = { sequence: Number(sequence), chain };
    }
  }
  if (link) return { id, data, link };
  return id === null && data === null ? null : { id, data };
}

/** The frames of an answer, until it ends. Every chunk, also a heartbeat, calls `alive`. */
export async function* frames(
  response: Response,
  alive: () => void = () => {},
): AsyncGenerator<Frame> {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const cutter = new Frames();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      alive();
      yield* cutter.feed(value);
    }
  } finally {
    // Whoever stops listening closes the connection.
    await reader.cancel().catch(() => {});
  }
}
