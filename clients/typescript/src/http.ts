import { errorOf, NoAnswer } from "./errors.js";

/** A call that was made, for whoever wants to show it. */
export interface Call {
  method: string;
  url: string;
  /** The JSON that was sent; null where none was, or where it was a file. */
  body: string | null;
  /** null: no answer came. */
  status: number | null;
  /** In milliseconds since the epoch. */
  startedAt: number;
  /** Until the answer began. */
  durationMs: number;
}

/** Where the daemon is, and who asks. */
export interface ClientOptions {
  /** Where the daemon is; may have a path, where it stands behind a proxy. */
  baseUrl?: string;
  /** The token. A page that is signed in by a cookie needs none. */
  token?: string;
  /** In place of the global one. */
  fetch?: typeof fetch;
  /** Sent with every request. */
  headers?: Record<string, string>;
  /** Told of each call when its answer begins. */
  onCall?: (call: Call) => void;
  /**
   * An answer must begin within so long, or `NoAnswer` is thrown; where it is not said, any time.
   * Not for what takes long: streams, uploads, installs, and new sessions, which may install.
   */
  timeoutMs?: number;
}

/** What goes with one request. */
export interface RequestOptions {
  query?: Record<string, unknown>;
  json?: unknown;
  body?: BodyInit;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** In place of the client's own; 0: any time. */
  timeoutMs?: number;
}

/** Where a daemon listens that was not told otherwise. */
export const DEFAULT_URL = "http://127.0.0.1:2468";

/** Sends requests, and turns what the daemon refuses into errors. */
export class Http {
  readonly baseUrl: string;
  readonly #options: ClientOptions;

  constructor(options: ClientOptions = {}) {
    this.baseUrl = (options.baseUrl ?? DEFAULT_URL).replace(/\/+$/, "");
    this.#options = options;
  }

  /** The whole address of a path; what is undefined or null in the query is left out. */
  url(path: string, query: Record<string, unknown> = {}): string {
    const pairs = Object.entries(query).filter(
      ([, value]) => value !== undefined && value !== null,
    );
    const search = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]));
    return `${this.baseUrl}${path}${search.size > 0 ? `?${search}` : ""}`;
  }

  /** The answer, if it is a good one. */
  async send(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
    const headers = new Headers({ ...this.#options.headers, ...options.headers });
    if (this.#options.token) headers.set("Authorization", `Bearer ${this.#options.token}`);
    const json = options.json === undefined ? undefined : JSON.stringify(options.json);
    if (json !== undefined) headers.set("Content-Type", "application/json");
    const url = this.url(path, options.query);
    const told = this.#told(method, url, json ?? null);
    const init = { method, headers, body: json ?? options.body };
    const response = await this.#answer(url, init, options).catch((error: unknown) => {
      told(null);
      throw error;
    });
    told(response.status);
    if (!response.ok) throw await errorOf(response);
    return response;
  }

  /** The body of the answer, from JSON. */
  async json<T>(method: string, path: string, options?: RequestOptions): Promise<T> {
    const response = await this.send(method, path, options);
    return (await response.json()) as T;
  }

  /** For answers without a body. */
  async none(method: string, path: string, options?: RequestOptions): Promise<void> {
    const response = await this.send(method, path, options);
    await response.body?.cancel();
  }

  async #answer(url: string, init: RequestInit, options: RequestOptions): Promise<Response> {
    // Called as a plain function: a browser's fetch wants no `this`.
    const call = this.#options.fetch ?? fetch;
    const { signal, timeoutMs = this.#options.timeoutMs ?? 0 } = options;
    if (timeoutMs === 0) return call(url, { ...init, signal });
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), timeoutMs);
    const either = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
    try {
      return await call(url, { ...init, signal: either });
    } catch (error) {
      if (late.signal.aborted) throw new NoAnswer(init.method ?? "GET", timeoutMs);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #told(method: string, url: string, body: string | null): (status: number | null) => void {
    const startedAt = Date.now();
    return (status) =>
      this.#options.onCall?.({
        method,
        url,
        body,
        status,
        startedAt,
        durationMs: Date.now() - startedAt,
      });
  }
}
