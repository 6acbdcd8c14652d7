import type { Pending, SessionInfo } from "dragoman-client";
import { summaryOf, wantedBy, wishOf } from "../conversation/asks";

/** The sessions in which something happened last. */
export function recent(sessions: Iterable<SessionInfo>, most: number): SessionInfo[] {
  return [...sessions].sort((one, other) => other.updatedAt - one.updatedAt).slice(0, most);
}

/** What a session waits for, in a line. */
export function whatWaits({ permissions, questions }: Pending): string {
  const asked = [
    ...permissions.map((each) => {
      const wanted = wantedBy(each);
      return [`Wants to ${wishOf(each.action, wanted)}`, summaryOf(wanted)]
        .filter(Boolean)
        .join(": ");
    }),
    ...questions.map(({ prompt }) => prompt),
  ];
  const [first = ""] = asked;
  return asked.length > 1 ? `${first} and ${asked.length - 1} more` : first;
}
