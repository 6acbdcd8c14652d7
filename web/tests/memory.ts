/** A daemon with one session, in memory: what a client asks for through fetch. */

import { createHash } from "node:crypto";
import { DragomanClient, type Event, type EventOf } from "dragoman-client";
import { compact } from "../src/state/fold";
import type { Store } from "../src/state/store";

export class Memory {
  readonly events: Event[] = [];
  /** What was asked, in order. */
  readonly asked: string[] = [];
  status = "idle";
  /** How much was answered, without streams. */
  answeredBytes = 0;
  /** Held back until it is let go, where a test wants to be in between. */
  gate: Promise<void> = Promise.resolve();
  #streams = new Set<ReadableStreamDefaultController<Uint8Array>>();

  readonly client = new DragomanClient({
    baseUrl: "http://memory",
    fetch: (input, init) => this.#answer(new URL(String(input)), init?.signal ?? null),
  });

  constructor(count = 0) {
    for (let sequence = 1; sequence <= count; sequence++) this.events.push(message(sequence));
  }

  get streams(): number {
    return this.#streams.size;
  }

  /** Something happens. */
  push(...events: Event[]): void {
    for (const event of events) {
      this.events.push(event);
      for (const stream of this.#streams) stream.enqueue(frames([event]));
    }
  }

  /** So much happens that it comes in one piece. */
  pushAtOnce(...events: Event[]): void {
    this.events.push(...events);
    for (const stream of this.#streams) stream.enqueue(frames(events));
  }

  /** The next message of the session. */
  say(): void {
    this.push(message(this.events.length + 1));
  }

  /** Another log is in the place of this one, and all connections break. */
  replace(events: readonly Event[]): void {
    this.events.splice(0, this.events.length, ...events);
    this.cut();
  }

  /** All connections break. */
  cut(): void {
    for (const stream of this.#streams) stream.error(new TypeError("cut"));
    this.#streams.clear();
  }

  async #answer(url: URL, signal: AbortSignal | null): Promise<Response> {
    this.asked.push(url.pathname + url.search);
    const offset = Number(url.searchParams.get("offset") ?? 0);
    const chain = url.searchParams.get("after_chain");
    if (chain !== null && chain !== linkAt(this.events, offset)) return diverged();
    if (url.pathname.endsWith("/sse")) return this.#stream(offset, signal);
    // What is answered is what was so when it was asked.
    const limit = Number(url.searchParams.get("limit") ?? 1000);
    const isCompact = url.searchParams.get("compact") === "true";
    const answer = url.pathname.endsWith("/events")
      ? page(this.events, offset, limit, isCompact)
      : {
          sessionId: "s",
          status: this.status,
          eventCount: this.events.length,
          chain: linkAt(this.events),
        };
    await this.gate;
    signal?.throwIfAborted();
    const text = JSON.stringify(answer);
    this.answeredBytes += text.length;
    return new Response(text, { headers: { "Content-Type": "application/json" } });
  }

  #stream(offset: number, signal: AbortSignal | null): Response {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        controller.enqueue(frames(this.events.slice(offset)));
        this.#streams.add(controller);
        signal?.addEventListener("abort", () => {
          if (this.#streams.delete(controller)) controller.error(signal.reason);
        });
      },
    });
    return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  }
}

/** Where it is compact, without the pieces of items that are complete on it. */
function page(events: readonly Event[], offset: number, limit: number, isCompact: boolean) {
  const part = events.slice(offset, offset + limit);
  const last = offset + part.length;
  const shown = isCompact ? compact(part) : part;
  return { events: shown, hasMore: last < events.length, chain: linkAt(events, last) };
}

/** What an event is known by in its log; null beyond the end. */
function linkAt(events: readonly Event[], sequence = events.length): string | null {
  if (sequence > events.length) return null;
  const { event_id = "" } = events[sequence - 1] ?? {};
  return createHash("md5").update(event_id).digest("hex");
}

function diverged(): Response {
  const type = "urn:dragoman:error:history_diverged";
  return Response.json({ type, title: "History Diverged", status: 409 }, { status: 409 });
}

/** Events as a stream has them, and the link of the last one. */
function frames(events: readonly Event[]): Uint8Array {
  const blocks = events.map((event) => `id: ${event.sequence}\ndata: ${JSON.stringify(event)}\n\n`);
  const last = events.at(-1);
  if (last) blocks.push(`: chain ${last.sequence} ${linkAt([last], 1)}\n\n`);
  return new TextEncoder().encode(blocks.join(""));
}

/** Wait until what a store holds is so. */
export function until<T>(store: Store<T>, holds: (value: T) => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (!holds(store.get())) return;
      stop();
      resolve();
    };
    const stop = store.watch(look);
    look();
  });
}

/** A message that is complete at once. */
export function message(sequence: number, text = `line ${sequence}`): Event {
  return {
    event_id: `evt_${sequence}`,
    sequence,
    time: new Date(1_700_000_000_000 + sequence).toISOString(),
    session_id: "s",
    native_session_id: null,
    synthetic: false,
    source: "agent",
    type: "item.completed",
    data: {
      item: {
        item_id: `itm_${sequence}`,
        native_item_id: null,
        parent_id: null,
        kind: "message",
        role: "assistant",
        content: [{ type: "text", text }],
        status: "completed",
      },
    },
    raw: null,
  };
}

/** A message that comes in so many pieces: its beginning, the pieces, its end. */
export function messageInPieces(
  first: number,
  pieces: number,
  words = "All work and no play. ",
): Event[] {
  const whole = message(first, words.repeat(pieces));
  const { item } = (whole as EventOf<"item.completed">).data;
  const at = (sequence: number, type: Event["type"], data: unknown) =>
    ({ ...message(sequence), type, data }) as Event;
  const begun = { ...item, content: [{ type: "text", text: "" }], status: "in_progress" };
  return [
    at(first, "item.started", { item: begun }),
    ...Array.from({ length: pieces }, (_, piece) =>
      at(first + 1 + piece, "item.delta", { item_id: item.item_id, delta: words }),
    ),
    at(first + 1 + pieces, "item.completed", { item }),
  ];
}
