import type { Problem } from "./types.js";

/** The daemon refused, or failed: its problem document, as an error. */
export class DragomanError extends Error {
  override readonly name = "DragomanError";

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
  return new DragomanError(
    response.status,
    problemOf(response, text),
    Number.isNaN(retryAfter) ? null : retryAfter,
  );
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
