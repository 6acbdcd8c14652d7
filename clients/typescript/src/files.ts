import type { Http } from "./http.js";
import type * as api from "./types.js";

/** Where a path is looked up: in the session's directory, or in the daemon's roots. */
export interface Where {
  /** Relative paths are below this session's directory. */
  sessionId?: string;
  signal?: AbortSignal;
}

/** The files that the daemon lets its clients see. */
export class Files {
  constructor(readonly http: Http) {}

  /** The entries of a folder; without a path, of the first root. */
  list(path?: string, where: Where = {}): Promise<api.FsEntry[]> {
    return this.http.json("GET", "/v1/fs/entries", at(where, { path }));
  }

  /** One entry. */
  stat(path: string, where: Where = {}): Promise<api.FsStat> {
    return this.http.json("GET", "/v1/fs/stat", at(where, { path }));
  }

  /** The file, as an answer whose body streams. */
  read(path: string, where: Where = {}): Promise<Response> {
    return this.http.send("GET", "/v1/fs/file", at(where, { path }));
  }

  /** Write a file, and the folders above it. */
  write(path: string, content: BodyInit, where: Where = {}): Promise<api.FsWritten> {
    return this.http.json("PUT", "/v1/fs/file", {
      ...at(where, { path }),
      body: content,
      timeoutMs: 0,
    });
  }

  /** Remove a file or a folder; one that is not empty only if `recursive`. */
  remove(path: string, where: Where & { recursive?: boolean } = {}): Promise<api.FsDone> {
    return this.http.json(
      "DELETE",
      "/v1/fs/entry",
      at(where, { path, recursive: where.recursive }),
    );
  }

  /** Make a folder, and those above it. */
  makeFolder(path: string, where: Where = {}): Promise<api.FsDone> {
    return this.http.json("POST", "/v1/fs/mkdir", at(where, { path }));
  }

  /** Move or rename. */
  move(move: api.FsMove, where: Where = {}): Promise<api.FsMoved> {
    return this.http.json("POST", "/v1/fs/move", { ...at(where), json: move });
  }

  /** Unpack a tar archive below a folder. */
  upload(archive: BodyInit, path?: string, where: Where = {}): Promise<api.FsUnpacked> {
    return this.http.json("POST", "/v1/fs/upload-batch", {
      ...at(where, { path }),
      body: archive,
      timeoutMs: 0,
      headers: { "Content-Type": "application/x-tar" },
    });
  }

  /** Where a stored image or attachment of a session is served. */
  url(sessionId: string, name: string): string {
    const path = ["/v1/sessions", encodeURIComponent(sessionId), "files", encodeURIComponent(name)];
    return this.http.url(path.join("/"));
  }
}

function at(where: Where, query: Record<string, unknown> = {}) {
  return { query: { ...query, session_id: where.sessionId }, signal: where.signal };
}
