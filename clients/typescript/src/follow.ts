import { DragomanError } from "./errors.js";
import { type Frame, frames } from "./sse.js";

/** How a stream is doing, for whoever shows it. */
export type Connection = "connecting" | "open" | "waiting";

/** How a stream is followed. */
export interface FollowOptions {
  /** Ends it. */
  signal?: AbortSignal;
  /** Told whenever the connection comes or goes. */
  onConnection?: (connection: Connection) => void;
  /** After so long without a byte, not even a heartbeat, the connection counts as dead. */
  silenceMs?: number;
}

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 10_000;
const SILENCE_MS = 35_000;

/**
 * Follow a stream through cuts and restarts: each frame once. `open` connects after the last id
 * that was seen; it may answer 204, which means that nothing more will come. `last` is asked
 * whether a frame is the end.
 */
export async function* follow(
  open: (after: string | null, signal: AbortSignal) => Promise<Response>,
  last: (frame: Frame) => boolean,
  options: FollowOptions = {},
): AsyncGenerator<Frame> {
  const tell = options.onConnection ?? (() => {});
  let after: string | null = null;
  let wait = FIRST_WAIT_MS;
  while (!options.signal?.aborted) {
    tell("connecting");
    const watch = new Watch(options.silenceMs ?? SILENCE_MS, options.signal);
    try {
      const response = await open(after, watch.signal);
      if (response.status === 204) return;
      tell("open");
      for await (const frame of frames(response, watch.alive)) {
        wait = FIRST_WAIT_MS;
        yield frame;
        after = frame.id ?? after;
        if (last(frame)) return;
      }
    } catch (error) {
      if (options.signal?.aborted) return;
      if (!passes(error)) throw error;
    } finally {
      watch.stop();
    }
    tell("waiting");
    await pause(wait, options.signal);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

/** Whether it is worth trying again: the network, or a daemon that is busy or starting. */
export function passes(error: unknown): boolean {
  if (!(error instanceof DragomanError)) return true;
  return error.status === 429 || error.status === 408 || error.status >= 500;
}

/** Ends a request in which nothing is heard for too long. */
class Watch {
  readonly #controller = new AbortController();
  readonly #abort = () => this.#controller.abort();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly silenceMs: number,
    readonly outer: AbortSignal | undefined,
  ) {
    outer?.addEventListener("abort", this.#abort);
    this.alive();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  alive = (): void => {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#abort, this.silenceMs);
  };

  stop(): void {
    clearTimeout(this.#timer);
    this.outer?.removeEventListener("abort", this.#abort);
    this.#abort();
  }
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done);
  });
}
