/** A daemon with one session, in memory: what a client asks for through fetch. */

import { DragomanClient, type Event } from "dragoman-client";
import type { Store } from "../src/state/store";

export class Memory {
  readonly events: Event[] = [];
  /** What was asked, in order. */
  readonly asked: string[] = [];
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
      for (const stream of this.#streams) stream.enqueue(frame(event));
    }
  }

  /** The next message of the session. */
  say(): void {
    this.push(message(this.events.length + 1));
  }

  /** All connections break. */
  cut(): void {
    for (const stream of this.#streams) stream.error(new TypeError("cut"));
    this.#streams.clear();
  }

  async #answer(url: URL, signal: AbortSignal | null): Promise<Response> {
    this.asked.push(url.pathname + url.search);
    const offset = Number(url.searchParams.get("offset") ?? 0);
    if (url.pathname.endsWith("/sse")) return this.#stream(offset, signal);
    // What is answered is what was so when it was asked.
    const limit = Number(url.searchParams.get("limit") ?? 1000);
    const answer = url.pathname.endsWith("/events")
      ? page(this.events, offset, limit)
      : { sessionId: "s", eventCount: this.events.length };
    await this.gate;
    signal?.throwIfAborted();
    return Response.json(answer);
  }

  #stream(offset: number, signal: AbortSignal | null): Response {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (const event of this.events.slice(offset)) controller.enqueue(frame(event));
        this.#streams.add(controller);
        signal?.addEventListener("abort", () => {
          if (this.#streams.delete(controller)) controller.error(signal.reason);
        });
      },
    });
    return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  }
}

function page(events: readonly Event[], offset: number, limit: number) {
  const part = events.slice(offset, offset + limit);
  return { events: part, hasMore: offset + part.length < events.length };
}

function frame(event: Event): Uint8Array {
  return new TextEncoder().encode(`id: ${event.sequence}\ndata: ${JSON.stringify(event)}\n\n`);
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
