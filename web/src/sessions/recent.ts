import type { Pending, SessionInfo } from "dragoman-client";

/** The sessions in which something happened last. */
export function recent(sessions: Iterable<SessionInfo>, most: number): SessionInfo[] {
  return [...sessions].sort((one, other) => other.updatedAt - one.updatedAt).slice(0, most);
}

/** What a session waits for, in a line. */
export function whatWaits({ permissions, questions }: Pending): string {
  const asked = [
    ...permissions.map(({ action, metadata }) => `${action}: ${wish(metadata)}`.replace(/: $/, "")),
    ...questions.map(({ prompt }) => prompt),
  ];
  const [first = ""] = asked;
  return asked.length > 1 ? `${first} and ${asked.length - 1} more` : first;
}

function wish(metadata: unknown): string {
  if (typeof metadata !== "object" || metadata === null) return "";
  const { command, path } = metadata as Record<string, unknown>;
  const found = command ?? path;
  return typeof found === "string" ? found : "";
}
