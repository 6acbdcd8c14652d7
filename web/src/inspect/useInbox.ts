import { useEffect, useRef } from "react";
import { client, sessions } from "../app/api";
import { readRange } from "../state/history";
import { Store, useStore } from "../state/store";
import { type InboxLine, linesAfter, settledBy } from "./inboxLines";

/** What is over is shown so long. */
const MOMENT_MS = 4_000;
/** How a request ended is looked for in so many of the last events. */
const LAST_EVENTS = 1_000;

/** The inbox, live; and the way to keep a line that is over, since words that were not sent stand in it. */
export function useInbox(): [readonly InboxLine[], keep: (id: string) => void] {
  const inbox = useRef<Inbox | null>(null);
  inbox.current ??= new Inbox();
  const { lines, open, keep } = inbox.current;
  useEffect(open, [open]);
  return [useStore(lines), keep];
}

class Inbox {
  readonly lines = new Store<readonly InboxLine[]>(linesAfter([], sessions.waiting.get()));
  readonly #kept = new Set<string>();

  /** Follow what waits until closed. */
  open = (): (() => void) => {
    this.#look();
    return sessions.waiting.watch(() => this.#look());
  };

  keep = (id: string): void => void this.#kept.add(id);

  #look(): void {
    const before = this.lines.get();
    const after = linesAfter(before, sessions.waiting.get());
    this.lines.set(after);
    const wereOver = new Set(before.filter((line) => line.isOver).map((line) => line.id));
    for (const line of after) {
      if (line.isOver && !wereOver.has(line.id)) void this.#settle(line);
    }
  }

  async #settle(line: InboxLine): Promise<void> {
    const known = await settled(line);
    this.lines.update((lines) => lines.map((each) => (each.id === line.id ? known : each)));
    setTimeout(() => {
      if (this.#kept.has(line.id)) return;
      this.lines.update((lines) => lines.filter((each) => each.id !== line.id));
    }, MOMENT_MS);
  }
}

async function settled(line: InboxLine): Promise<InboxLine> {
  const { sessionId } = line.session;
  try {
    const { eventCount } = await client.getSession(sessionId);
    const from = Math.max(0, eventCount - LAST_EVENTS);
    return settledBy(line, await readRange(client, sessionId, { from, to: eventCount }));
  } catch {
    return line; // the session is gone, or the daemon: it waits no more, and nobody says why
  }
}
