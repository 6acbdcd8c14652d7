/** All sessions, live: the list, and what waits for a person. One stream tells what changed. */

import {
  type Connection,
  type DragomanClient,
  DragomanError,
  type Pending,
  type SessionInfo,
  type SessionStatus,
} from "dragoman-client";
import { type Company, hearAll } from "./feed";
import { seen, whileSeen } from "./sight";
import { Store } from "./store";

const PAGE = 100;
/** No more than so many are listed anew at once. */
const MOST_AT_ONCE = 1_000;
/** Changes are looked up together, after so long. */
const GATHER_MS = 150;

/** A page that nobody sees asks so often what waits. */
const UNSEEN_MS = 20_000;

export interface Query {
  q?: string;
  agent?: string;
  status?: SessionStatus;
}

export interface Listing {
  query: Query;
  /** Newest first. */
  sessions: readonly SessionInfo[];
  /** Where there are more, what to ask for them with. */
  more: string | null;
  loading: boolean;
  error: Error | null;
}

/** What waits for a person in one session. */
export interface Waiting {
  session: SessionInfo;
  pending: Pending;
  /** The age of its oldest request when it began to wait: its place among the others. */
  since: string;
}

/** Behind its prefix, an id begins with the time at which it was given. */
export const ageOf = (id: string) => id.slice(id.indexOf("_") + 1);

export class Sessions {
  readonly listing = new Store<Listing>({
    query: {},
    sessions: [],
    more: null,
    loading: true,
    error: null,
  });
  /** Every session that was looked at, by its id. */
  readonly known = new Store<ReadonlyMap<string, SessionInfo>>(new Map());
  /** In the order in which sessions began to wait. */
  readonly waiting = new Store<ReadonlyMap<string, Waiting>>(new Map());
  readonly connection = new Store<Connection>("connecting");
  readonly #changed = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #asked = 0;

  constructor(
    readonly client: DragomanClient,
    /** The pages that one stream is shared with. */
    readonly company: Company | null = null,
  ) {}

  /** Load, and follow until the signal. Throws where the daemon lets nobody in. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await hearAll(this.client, this.company, this.#hearer, whileSeen(signal));
      // Out of sight only the number in the title counts.
      const looking = setInterval(() => void this.#findWaiting(), UNSEEN_MS);
      await seen(signal);
      clearInterval(looking);
    }
  }

  readonly #hearer = {
    touched: (sessionId: string) => this.touch(sessionId),
    // The list is read after the stream is open, so that nothing falls between the two.
    connected: (connection: Connection) => {
      // A connection that was lost is lost until there is another, however often it is tried.
      const isLost = this.connection.get() === "waiting" && connection === "connecting";
      this.connection.set(isLost ? "waiting" : connection);
      if (connection !== "open") return;
      void this.#listAnew();
      void this.#findWaiting();
    },
  };

  /** As many as are listed: what was deleted meanwhile was not told. */
  #listAnew(): Promise<void> {
    const { query, sessions } = this.listing.get();
    return this.search(query, Math.min(Math.max(sessions.length, PAGE), MOST_AT_ONCE));
  }

  /** List what fits. */
  async search(query: Query, limit = PAGE): Promise<void> {
    const asked = ++this.#asked;
    this.#change({ query, loading: true, error: null });
    try {
      const page = await this.client.listSessions({ ...query, limit });
      if (asked !== this.#asked) return;
      this.#learn(page.sessions);
      this.#change({
        sessions: page.sessions,
        more: page.nextCursor ?? null,
        loading: false,
        error: null,
      });
    } catch (error) {
      if (asked === this.#asked) this.#change({ loading: false, error: error as Error });
    }
  }

  /** List more of what fits. */
  async loadMore(): Promise<void> {
    const { more, loading, query } = this.listing.get();
    if (more === null || loading) return;
    const asked = this.#asked;
    this.#change({ loading: true });
    try {
      const page = await this.client.listSessions({ ...query, limit: PAGE, cursor: more });
      if (asked !== this.#asked) return;
      this.#learn(page.sessions);
      const { sessions } = this.listing.get();
      const ids = new Set(sessions.map((session) => session.sessionId));
      const fresh = page.sessions.filter((session) => !ids.has(session.sessionId));
      this.#change({ sessions: [...sessions, ...fresh], more: page.nextCursor ?? null });
    } catch (error) {
      this.#change({ error: error as Error });
    } finally {
      this.#change({ loading: false });
    }
  }

  /** Something about this session changed: look again, soon. */
  touch(sessionId: string): void {
    this.#changed.add(sessionId);
    this.#timer ??= setTimeout(() => void this.#lookAgain(), GATHER_MS);
  }

  /** Look at one session now. */
  async refresh(sessionId: string): Promise<void> {
    try {
      const info = await this.client.getSession(sessionId);
      const pending = info.status === "waiting" ? await this.client.getPending(sessionId) : null;
      this.#learn([info]);
      this.#wait(info, pending);
      this.#list(info);
    } catch (error) {
      if (error instanceof DragomanError && error.status === 404) this.forget(sessionId);
      // Anything else passes, or the stream says so.
    }
  }

  /** The session is gone. */
  forget(sessionId: string): void {
    this.#change({
      sessions: this.listing.get().sessions.filter((each) => each.sessionId !== sessionId),
    });
    this.known.update((before) => without(before, sessionId));
    this.waiting.update((before) => without(before, sessionId));
  }

  async #lookAgain(): Promise<void> {
    this.#timer = null;
    const ids = [...this.#changed];
    this.#changed.clear();
    await Promise.all(ids.map((id) => this.refresh(id)));
  }

  async #findWaiting(): Promise<void> {
    const answer = await this.client.listSessions({ status: "waiting" }).catch(() => null);
    if (answer === null) return; // the stream says so, too, and tries again
    const { sessions } = answer;
    const ids = new Set([
      ...sessions.map((session) => session.sessionId),
      ...this.waiting.get().keys(),
    ]);
    await Promise.all([...ids].map((id) => this.refresh(id)));
  }

  #list(info: SessionInfo): void {
    const { sessions, query } = this.listing.get();
    const at = sessions.findIndex((each) => each.sessionId === info.sessionId);
    if (at >= 0) {
      const rest = sessions.toSpliced(at, 1);
      this.#change({ sessions: fits(info, query) ? sessions.with(at, info) : rest });
    } else if (fits(info, query)) {
      const after = sessions.findIndex((each) => each.createdAt <= info.createdAt);
      const place = after < 0 ? sessions.length : after;
      // Older than all that are listed, while there are more: its turn comes.
      if (after < 0 && this.listing.get().more !== null) return;
      this.#change({ sessions: sessions.toSpliced(place, 0, info) });
    }
  }

  #learn(sessions: readonly SessionInfo[]): void {
    this.known.update(
      (before) => new Map([...before, ...sessions.map((each) => [each.sessionId, each] as const)]),
    );
  }

  #wait(session: SessionInfo, pending: Pending | null): void {
    const { sessionId } = session;
    const ages = pending === null ? [] : agesOf(pending);
    this.waiting.update((before) => {
      if (pending === null || ages[0] === undefined) return without(before, sessionId);
      const since = before.get(sessionId)?.since ?? ages[0];
      const all = new Map(before).set(sessionId, { session, pending, since });
      return new Map([...all].sort(([, one], [, other]) => (one.since < other.since ? -1 : 1)));
    });
  }

  #change(change: Partial<Listing>): void {
    this.listing.update((before) => ({ ...before, ...change }));
  }
}

export function fits(info: SessionInfo, query: Query): boolean {
  const text = `${info.sessionId}\n${info.title || info.preview || ""}`.toLowerCase();
  return (
    (!query.q || text.includes(query.q.toLowerCase())) &&
    (!query.agent || info.agent === query.agent) &&
    (!query.status || info.status === query.status)
  );
}

/** How many requests wait for a person, in all sessions. */
export function countWaiting(waiting: ReadonlyMap<string, Waiting>): number {
  return [...waiting.values()].reduce(
    (sum, { pending }) => sum + pending.permissions.length + pending.questions.length,
    0,
  );
}

/** The oldest first. */
function agesOf({ permissions, questions }: Pending): string[] {
  const ids = [
    ...permissions.map(({ permission_id }) => permission_id),
    ...questions.map(({ question_id }) => question_id),
  ];
  return ids.map(ageOf).sort();
}

function without<T>(map: ReadonlyMap<string, T>, key: string): ReadonlyMap<string, T> {
  if (!map.has(key)) return map;
  const rest = new Map(map);
  rest.delete(key);
  return rest;
}
