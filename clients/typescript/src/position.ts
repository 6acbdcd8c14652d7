import { HistoryDiverged } from "./errors.js";
import type { Frame } from "./sse.js";

/** An event by its link: a hash over its session's log up to it. */
export interface Link {
  sequence: number;
  chain: string;
}

/**
 * A reader's place in a session's log, across its connections and streams. It resumes at the last
 * link that it was told, so that the daemon can tell whether its log is still the one that was
 * read. What was read since then comes again, and is compared by its id.
 */
export class Position {
  /** Everything up to here was read. */
  sequence: number;
  #link: Link | null;
  /** By sequence, the ids of the events since the link. */
  #read = new Map<number, string>();

  constructor(sequence = 0, chain: string | null = null) {
    this.sequence = sequence;
    this.#link = chain === null ? null : { sequence, chain };
  }

  /** The last link that was told; a daemon that has no chain tells none. */
  get link(): Link | null {
    return this.#link;
  }

  /** Where the next stream begins. */
  get start(): { offset: number; afterChain: string | undefined } {
    const { sequence, chain } = this.#link ?? { sequence: this.sequence, chain: undefined };
    return { offset: sequence, afterChain: chain };
  }

  /** The line of a frame, if it is a new event. */
  take(frame: Frame): string | null {
    if (frame.link) this.learn(frame.link);
    if (frame.data === null) return null;
    return this.read(envelope(frame)) ? frame.data : null;
  }

  /**
   * An event comes; whether it is new. Throws `HistoryDiverged` where another one stood in its
   * place when it was read.
   */
  read({ sequence, event_id, session_id }: Envelope): boolean {
    if (sequence <= this.sequence) {
      const known = this.#read.get(sequence) ?? event_id;
      if (known !== event_id) throw HistoryDiverged.at(session_id, sequence);
      return false;
    }
    this.sequence = sequence;
    if (this.#link !== null) this.#read.set(sequence, event_id);
    return true;
  }

  /** The daemon tells the link of an event; one that was not read yet says nothing here. */
  learn(link: Link): void {
    if (link.sequence < (this.#link?.sequence ?? 0) || link.sequence > this.sequence) return;
    this.#link = link;
    for (const sequence of this.#read.keys()) {
      if (sequence <= link.sequence) this.#read.delete(sequence);
    }
  }
}

/** What an event is told apart by. */
interface Envelope {
  event_id: string;
  sequence: number;
  session_id: string;
}

// Looked at without parsing all of it, which whoever reads the event does.
const BEGINNING =
  /^\{"event_id":"([^"\\]+)","sequence":(\d+),"time":"[^"\\]*","session_id":"([^"\\]+)"/;

function envelope(frame: Frame): Envelope {
  const data = frame.data ?? "";
  const found = BEGINNING.exec(data);
  if (found === null) return JSON.parse(data) as Envelope;
  const [, event_id = "", sequence, session_id = ""] = found;
  return { event_id, sequence: Number(sequence), session_id };
}
