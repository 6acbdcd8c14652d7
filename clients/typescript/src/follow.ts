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
// The daemon says something every 10 seconds, or nothing.
const SILENCE_MS = 25_000;

/**
 * Follow a stream through cuts and restarts: each frame once. `open` connects after the last id
 * that was seen; it may answer 204, which means that nothing more will come. `last` is asked
 * whether a frame is the end. Where a browser comes or goes offline, it tries again at once.
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
      if (!isTemporary(error)) throw error;
    } finally {
      watch.stop();
    }
    tell("waiting");
    const isNudged = watch.nudged || (await pause(wait, options.signal)) === "nudged";
    wait = isNudged ? FIRST_WAIT_MS : Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

/** Whether it is worth trying again: the network, or a daemon that is busy or starting. */
export function isTemporary(error: unknown): boolean {
  if (!(error instanceof DragomanError)) return true;
  return error.status === 429 || error.status === 408 || error.status >= 500;
}

/** Ends a request in which nothing is heard for too long, or whose network came or went. */
class Watch {
  /** Whether the network ended it. */
  nudged = false;
  readonly #controller = new AbortController();
  readonly #abort = () => this.#controller.abort();
  readonly #ignore = onNetwork(() => {
    this.nudged = true;
    this.#abort();
  });
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
    this.#ignore();
    this.outer?.removeEventListener("abort", this.#abort);
    this.#abort();
  }
}

/** Wait; shorter where the signal comes, or the network does. */
function pause(ms: number, signal?: AbortSignal): Promise<"over" | "nudged"> {
  return new Promise((resolve) => {
    const done = (how: "over" | "nudged") => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", over);
      ignore();
      resolve(how);
    };
    const over = () => done("over");
    const timer = setTimeout(over, ms);
    const ignore = onNetwork(() => done("nudged"));
    signal?.addEventListener("abort", over);
  });
}

/**
 * Hear when a browser comes or goes offline; gives the way to stop. Neither says whether the daemon
 * can be reached, which may be on the same machine: only trying does.
 */
function onNetwork(act: () => void): () => void {
  // Elsewhere nobody tells.
  const browser = globalThis as Partial<EventTarget>;
  browser.addEventListener?.("online", act);
  browser.addEventListener?.("offline", act);
  return () => {
    browser.removeEventListener?.("online", act);
    browser.removeEventListener?.("offline", act);
  };
}
