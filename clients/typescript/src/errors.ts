import type { Problem } from "./types.js";

/** The daemon refused, or failed: its problem document, as an error. */
export class DragomanError extends Error {
  override readonly name: string = "DragomanError";

  constructor(
    readonly status: number,
    readonly problem: Problem,
    /** After so many seconds it may work, where the daemon said so. */
    readonly retryAfterS: number | null = null,
  ) {
    super(problem.detail ?? problem.title);
  }

  /** The last word of the problem's type, e.g. `session_not_found`. */
  get code(): string {
    return this.problem.type.split(":").at(-1) ?? "";
  }
}

/**
 * What was read of a session's log is not what the daemon has: an older copy was put back. Drop what
 * you have of the session, and read it again from the start.
 */
export class HistoryDiverged extends DragomanError {
  override readonly name = "HistoryDiverged";
  static readonly type = "urn:dragoman:error:history_diverged";

  /** Noticed here, not by the daemon: there is another event in the place of one that was read. */
  static at(sessionId: string, sequence: number): HistoryDiverged {
    return new HistoryDiverged(409, {
      type: HistoryDiverged.type,
      title: "History Diverged",
      status: 409,
      detail:
        `event ${sequence} of session '${sessionId}' is not the one that you have read: most ` +
        "likely an older copy of its log was put back; drop what you have of it, and read it " +
        "again from the start (offset=0, without a chain)",
      sessionId,
      details: { sequence, resumeFrom: 0 } as object as Problem["details"],
    });
  }
}

/** No answer came in time. Whether the daemon got the request is not known. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";

  constructor(
    readonly method: string,
    readonly timeoutMs: number,
  ) {
    super(`no answer came within ${timeoutMs / 1000} s`);
  }
}

/** Make an error of an answer, also where something in between answered and not the daemon. */
export async function errorOf(response: Response): Promise<DragomanError> {
  const text = await response.text();
  const retryAfter = Number.parseFloat(response.headers.get("Retry-After") ?? "");
  const problem = problemOf(response, text);
  const kind = problem.type === HistoryDiverged.type ? HistoryDiverged : DragomanError;
  return new kind(response.status, problem, Number.isNaN(retryAfter) ? null : retryAfter);
}

function problemOf(response: Response, text: string): Problem {
  const fallback = {
    type: "about:blank",
    title: response.statusText || `HTTP ${response.status}`,
    status: response.status,
  };
  try {
    const problem: unknown = JSON.parse(text);
    const isProblem = typeof problem === "object" && problem !== null && "title" in problem;
    return isProblem ? { ...fallback, ...(problem as Partial<Problem>) } : fallback;
  } catch {
    return fallback;
  }
}
