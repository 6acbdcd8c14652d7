/** What the inbox shows: what waits, and for a moment what became of what waited. Pure. */

import type {
  Event,
  PermissionRequested,
  PermissionResolved,
  QuestionRequested,
  QuestionResolved,
  SessionInfo,
} from "dragoman-client";
import { ageOf, type Waiting } from "../state/sessions";

interface Common {
  id: string;
  session: SessionInfo;
  /** Since when the session waits: all its lines stand there, also when the first of them is gone. */
  since: string;
  isOver: boolean;
  resolvedAt: string | null;
}

export interface PermissionLine extends Common {
  kind: "permission";
  asked: PermissionRequested;
  resolved: PermissionResolved | null;
}

export interface QuestionLine extends Common {
  kind: "question";
  asked: QuestionRequested;
  resolved: QuestionResolved | null;
}

export type InboxLine = PermissionLine | QuestionLine;

/** The lines after what waits has changed; no session, and nothing that is over, leaves its place. */
export function linesAfter(
  before: readonly InboxLine[],
  waiting: ReadonlyMap<string, Waiting>,
): readonly InboxLine[] {
  const now = [...waiting.values()].flatMap(linesOf);
  const waits = new Map(now.map((line) => [line.id, line]));
  const known = new Set(before.map((line) => line.id));
  const lines = before.map((line) => {
    const still = waits.get(line.id);
    return still ? { ...line, session: still.session } : { ...line, isOver: true };
  });
  const places = new Map(before.map(({ session, since }) => [session.sessionId, since]));
  const fresh = now
    .filter((line) => !known.has(line.id))
    .map((line) => ({ ...line, since: places.get(line.session.sessionId) ?? line.since }));
  return [...lines, ...fresh].sort((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1));
}

const placeOf = ({ since, id }: InboxLine) => `${since} ${ageOf(id)}`;

function linesOf({ session, pending, since }: Waiting): InboxLine[] {
  const common = { session, since, isOver: false, resolved: null, resolvedAt: null };
  return [
    ...pending.permissions.map((asked) => ({
      ...common,
      kind: "permission" as const,
      id: asked.permission_id,
      asked,
    })),
    ...pending.questions.map((asked) => ({
      ...common,
      kind: "question" as const,
      id: asked.question_id,
      asked,
    })),
  ];
}

/** The line with how it ended, where these events tell it. */
export function settledBy(line: InboxLine, events: readonly Event[]): InboxLine {
  for (const event of events) {
    if (event.type === "permission.resolved" && line.kind === "permission") {
      if (event.data.permission_id !== line.id) continue;
      return { ...line, resolved: event.data, resolvedAt: event.time };
    }
    if (event.type === "question.resolved" && line.kind === "question") {
      if (event.data.question_id !== line.id) continue;
      return { ...line, resolved: event.data, resolvedAt: event.time };
    }
  }
  return line;
}

/** The lines of each session together, in the order in which sessions began to wait. */
export function bySession(lines: readonly InboxLine[]): readonly (readonly InboxLine[])[] {
  const groups = new Map<string, InboxLine[]>();
  for (const line of lines) {
    const { sessionId } = line.session;
    groups.set(sessionId, [...(groups.get(sessionId) ?? []), line]);
  }
  return [...groups.values()];
}
