import { Files } from "./files.js";
import { type FollowOptions, follow } from "./follow.js";
import { type ClientOptions, Http } from "./http.js";
import { Position } from "./position.js";
import { type Frame, frames } from "./sse.js";
import type * as api from "./types.js";

/** Which events of a session. */
export interface EventsOptions {
  /** Events with `sequence > offset`. */
  offset?: number;
  /** At most so many, 1 to 10,000; 1,000 where it is not said. Large events make a page shorter. */
  limit?: number;
  /** With each event, the agent's own message that caused it. */
  includeRaw?: boolean;
  /** Leave out the deltas of items that are completed among these events; they still count. */
  compact?: boolean;
  /**
   * The `chain` of a page or a session that ended with the event at `offset`: where the log is not
   * the one in which that was read, `HistoryDiverged` is thrown.
   */
  afterChain?: string;
  signal?: AbortSignal;
}

/** Where a stream of a session begins, and how it is followed. */
export interface StreamOptions
  extends Pick<EventsOptions, "offset" | "afterChain" | "includeRaw">,
    FollowOptions {
  /** In place of `offset` and `afterChain`: where a stream was; it moves on with this one. */
  position?: Position;
}

/** How a message is sent. */
export interface SendOptions {
  /** What becomes of it while a turn is running: it waits, unless you say otherwise. */
  delivery?: api.Delivery;
  /** The same key never sends twice. */
  idempotencyKey?: string;
  signal?: AbortSignal;
}

/** Which events of all sessions. */
export interface FeedOptions extends FollowOptions {
  /** Events after this one; without it, what comes from now on; 0 is everything. */
  cursor?: number;
  /** Only events of these types. */
  types?: readonly api.EventType[];
  /** Only of these sessions. */
  sessionIds?: readonly string[];
  /** Only of sessions of these agents. */
  agents?: readonly string[];
  /** With each event, the agent's own message that caused it. */
  includeRaw?: boolean;
}

/** Which sessions to list. */
export interface SessionsOptions {
  agent?: string;
  status?: api.SessionStatus;
  /** A part of the id or title, in any case. */
  q?: string;
  /** At most so many; all where it is not said. */
  limit?: number;
  /** `nextCursor` of the page before. */
  cursor?: string;
}

/** An event of any session, and its place among all. */
export interface FeedEvent {
  /** Its place: a feed with this cursor begins after it. */
  cursor: number;
  event: api.Event;
}

/** A page of events. It is the list itself, and says whether there are more. */
export type Events = api.Event[] & { events: api.Event[]; hasMore: boolean; chain?: string };

/** Talks to one daemon. What it refuses is thrown as a `DragomanError`. */
export class DragomanClient {
  /** Sends any request; what is below is made of it. */
  readonly http: Http;
  /** The files that the daemon lets its clients see. */
  readonly files: Files;

  constructor(options: ClientOptions = {}) {
    this.http = new Http(options);
    this.files = new Files(this.http);
  }

  // --- The daemon ---

  /** Whether the daemon lives. Needs no token. */
  health(): Promise<api.Health> {
    return this.http.json("GET", "/v1/health");
  }

  /** How the daemon does: its store, sessions, agents and limits. */
  status(): Promise<api.DaemonStatus> {
    return this.http.json("GET", "/v1/status");
  }

  /** The processes that run now, and for whom. */
  processes(): Promise<api.ProcessList> {
    return this.http.json("GET", "/v1/processes");
  }

  /** Make a ticket that a browser can swap for a cookie, once. */
  createTicket(): Promise<api.Ticket> {
    return this.http.json("POST", "/v1/tickets");
  }

  /** Swap a ticket for a cookie; for a page in a browser. */
  login(ticket: string): Promise<void> {
    return this.http.none("POST", "/v1/login", { json: { ticket } });
  }

  /** Forget the cookie. */
  logout(): Promise<void> {
    return this.http.none("POST", "/v1/logout");
  }

  // --- Tokens ---

  /** The tokens, without their secrets. */
  listTokens(): Promise<api.TokenList> {
    return this.http.json("GET", "/v1/tokens");
  }

  /** Make a token; this answer alone shows it. */
  createToken(token: api.CreateToken): Promise<api.CreatedToken> {
    return this.http.json("POST", "/v1/tokens", { json: token });
  }

  /** Make a token good for nothing, at once. */
  revokeToken(name: string): Promise<void> {
    return this.http.none("DELETE", `/v1/tokens/${encodeURIComponent(name)}`);
  }

  // --- Webhooks ---

  /** The webhooks, without their secrets, and how each does. */
  listWebhooks(): Promise<api.WebhookList> {
    return this.http.json("GET", "/v1/hooks");
  }

  /** Send events to a URL from now on; this answer alone shows the secret. */
  addWebhook(wanted: api.AddWebhook): Promise<api.AddedWebhook> {
    return this.http.json("POST", "/v1/hooks", { json: wanted });
  }

  /** One webhook, and how it does. */
  getWebhook(id: string): Promise<api.WebhookInfo> {
    return this.http.json("GET", `/v1/hooks/${encodeURIComponent(id)}`);
  }

  /** Change where events are sent, which, or whether. */
  updateWebhook(id: string, change: api.PatchWebhook): Promise<api.WebhookInfo> {
    return this.http.json("PATCH", `/v1/hooks/${encodeURIComponent(id)}`, { json: change });
  }

  /** Send nothing more to a receiver. */
  removeWebhook(id: string): Promise<void> {
    return this.http.none("DELETE", `/v1/hooks/${encodeURIComponent(id)}`);
  }

  /** Send a signed request that is no event, and tell what the receiver answered. */
  testWebhook(id: string): Promise<api.WebhookTest> {
    return this.http.json("POST", `/v1/hooks/${encodeURIComponent(id)}/test`);
  }

  // --- Agents ---

  /** The agents, as the daemon's machine has them. */
  listAgents(): Promise<api.AgentList> {
    return this.http.json("GET", "/v1/agents");
  }

  /** Add an agent that speaks ACP. Needs the scope `admin`: its command is run by the daemon. */
  addAgent(wanted: api.AddAgent): Promise<api.AgentInfo> {
    return this.http.json("POST", "/v1/agents", { json: wanted });
  }

  /** Remove an agent that was added; its sessions stay, and go on when it is added again. */
  removeAgent(agent: string): Promise<void> {
    return this.http.none("DELETE", `/v1/agents/${encodeURIComponent(agent)}`);
  }

  /** Install an agent on the daemon's machine; comes back when that is done. */
  installAgent(agent: string, options: api.InstallAgent = {}): Promise<void> {
    return this.http.none("POST", `/v1/agents/${encodeURIComponent(agent)}/install`, {
      json: options,
      timeoutMs: 0,
    });
  }

  /** An agent's modes. */
  getAgentModes(agent: string): Promise<api.ModeList> {
    return this.http.json("GET", `/v1/agents/${encodeURIComponent(agent)}/modes`);
  }

  /** An agent's models, as the agent itself tells them; `refresh` asks it again. */
  getAgentModels(agent: string, options: { refresh?: boolean } = {}): Promise<api.ModelList> {
    return this.http.json("GET", `/v1/agents/${encodeURIComponent(agent)}/models`, {
      query: { refresh: options.refresh },
    });
  }

  // --- Sessions ---

  /** Sessions, the newest first. */
  listSessions(options: SessionsOptions = {}): Promise<api.SessionList> {
    return this.http.json("GET", "/v1/sessions", { query: { ...options } });
  }

  /**
   * Create a session under an id of yours, or, with null, under one that the daemon chooses: the
   * same for the same `idempotencyKey`.
   */
  createSession(
    sessionId: string | null,
    request: api.CreateSession,
    options: { idempotencyKey?: string } = {},
  ): Promise<api.Created> {
    const path = sessionId === null ? "/v1/sessions" : session(sessionId);
    return this.http.json("POST", path, { json: request, headers: keyed(options), timeoutMs: 0 });
  }

  /** One session, as it is listed. */
  getSession(sessionId: string): Promise<api.SessionInfo> {
    return this.http.json("GET", session(sessionId));
  }

  /** Rename a session, or change how it works. */
  updateSession(sessionId: string, change: api.PatchSession): Promise<api.SessionInfo> {
    return this.http.json("PATCH", session(sessionId), { json: change });
  }

  /** End a session and remove everything of it but its id. */
  deleteSession(sessionId: string): Promise<void> {
    return this.http.none("DELETE", session(sessionId));
  }

  /** End a session, its agent, and all that the agent started. Its events stay. */
  terminateSession(sessionId: string): Promise<void> {
    return this.http.none("POST", session(sessionId, "terminate"));
  }

  /** End the running turn, not the session. */
  interruptTurn(sessionId: string): Promise<void> {
    return this.http.none("POST", session(sessionId, "interrupt"));
  }

  /** What has changed in a session's directory since its first turn, or during one turn. */
  getDiff(
    sessionId: string,
    options: { turn?: string; signal?: AbortSignal } = {},
  ): Promise<api.SessionDiff> {
    const { turn, signal } = options;
    return this.http.json("GET", session(sessionId, "diff"), { query: { turn }, signal });
  }

  // --- Messages ---

  /** Send a message; gives its id once it is stored. */
  async postMessage(
    sessionId: string,
    message: string | api.Message,
    options: SendOptions = {},
  ): Promise<string> {
    const response = await this.http.send("POST", session(sessionId, "messages"), {
      ...sending(message, options),
      query: { delivery: options.delivery },
    });
    await response.body?.cancel();
    return response.headers.get("Dragoman-Message-Id") ?? "";
  }

  /**
   * Send a message and stream its turn, to its end. A cut connection throws; the turn goes on, and
   * the same `idempotencyKey` gets the same turn again.
   */
  async *streamTurn(
    sessionId: string,
    message: string | api.Message,
    options: SendOptions & { includeRaw?: boolean } = {},
  ): AsyncGenerator<api.Event> {
    const response = await this.http.send("POST", session(sessionId, "messages", "stream"), {
      ...sending(message, options),
      query: { delivery: options.delivery, include_raw: options.includeRaw },
      timeoutMs: 0,
    });
    for await (const frame of frames(response)) {
      if (frame.data !== null) yield JSON.parse(frame.data) as api.Event;
    }
  }

  /** What waits: messages for the agent, requests for people. */
  getPending(sessionId: string): Promise<api.Pending> {
    return this.http.json("GET", session(sessionId, "pending"));
  }

  /** Take back a message that still waits. */
  cancelMessage(sessionId: string, messageId: string): Promise<void> {
    return this.http.none("DELETE", session(sessionId, "pending", messageId));
  }

  // --- Events ---

  /** A page of a session's events. */
  async getEvents(sessionId: string, options: EventsOptions = {}): Promise<Events> {
    const page = await this.http.json<api.EventPage>("GET", session(sessionId, "events"), {
      query: {
        offset: options.offset,
        limit: options.limit,
        include_raw: options.includeRaw,
        compact: options.compact,
        after_chain: options.afterChain,
      },
      signal: options.signal,
    });
    return Object.assign([...page.events], page, { chain: page.chain ?? undefined });
  }

  /**
   * Follow a session to its end: what is stored, then what comes, through cuts and restarts. Throws
   * `HistoryDiverged` where an older copy of the log was put back meanwhile.
   */
  async *streamEvents(sessionId: string, options: StreamOptions = {}): AsyncGenerator<api.Event> {
    for await (const line of this.streamLines(sessionId, options)) {
      yield JSON.parse(line) as api.Event;
    }
  }

  /** The same, each event as the daemon wrote it: parsing would round numbers above 2⁵³. */
  async *streamLines(sessionId: string, options: StreamOptions = {}): AsyncGenerator<string> {
    const position = options.position ?? new Position(options.offset, options.afterChain);
    const stream = follow(
      (_, signal) => {
        const { offset, afterChain } = position.start;
        return this.http.send("GET", session(sessionId, "events", "sse"), {
          query: { offset, include_raw: options.includeRaw, after_chain: afterChain },
          // Said as a position that was reached, the daemon answers 204 where nothing will follow.
          headers: offset ? { "Last-Event-ID": `${offset}` } : {},
          signal,
          timeoutMs: 0,
        });
      },
      isEnd,
      options,
    );
    for await (const frame of stream) {
      const line = position.take(frame);
      if (line !== null) yield line;
    }
  }

  /** Follow all sessions at once, for ever. */
  async *streamAll(options: FeedOptions = {}): AsyncGenerator<FeedEvent> {
    const stream = follow(
      (after, signal) =>
        this.http.send("GET", "/v1/events/sse", {
          query: {
            cursor: after ?? options.cursor,
            type: options.types?.join(","),
            session_id: options.sessionIds?.join(","),
            agent: options.agents?.join(","),
            include_raw: options.includeRaw,
          },
          signal,
          timeoutMs: 0,
        }),
      () => false,
      options,
    );
    for await (const frame of stream) {
      if (frame.data === null) continue;
      yield { cursor: Number(frame.id), event: JSON.parse(frame.data) as api.Event };
    }
  }

  // --- Requests to people ---

  /** Answer a permission: `once`, `always` or `reject`. The first answer wins. */
  replyPermission(
    sessionId: string,
    permissionId: string,
    reply: api.PermissionReply | api.ReplyPermission,
  ): Promise<void> {
    return this.http.none("POST", session(sessionId, "permissions", permissionId, "reply"), {
      json: typeof reply === "string" ? { reply } : reply,
    });
  }

  /** Answer a question request: one list of answers for each of its questions. */
  replyQuestion(
    sessionId: string,
    questionId: string,
    reply: string[][] | api.ReplyQuestion,
  ): Promise<void> {
    return this.http.none("POST", session(sessionId, "questions", questionId, "reply"), {
      json: Array.isArray(reply) ? { answers: reply } : reply,
    });
  }

  /** Refuse to answer. */
  rejectQuestion(sessionId: string, questionId: string): Promise<void> {
    return this.http.none("POST", session(sessionId, "questions", questionId, "reject"));
  }
}

function session(sessionId: string, ...rest: string[]): string {
  return ["/v1/sessions", ...[sessionId, ...rest].map(encodeURIComponent)].join("/");
}

function sending(message: string | api.Message, options: SendOptions) {
  return {
    json: typeof message === "string" ? { message } : message,
    headers: keyed(options),
    signal: options.signal,
  };
}

function keyed({ idempotencyKey }: { idempotencyKey?: string }) {
  return idempotencyKey ? { "Idempotency-Key": idempotencyKey } : undefined;
}

function isEnd(frame: Frame): boolean {
  // Looked for first, since to parse each event twice would cost; a raw message may say it too.
  return (
    frame.data?.includes('"type":"session.ended"') === true &&
    (JSON.parse(frame.data) as api.Event).type === "session.ended"
  );
}
