import { memo } from "react";
import { href, toSession } from "../app/route";
import { useSessionId } from "../parts/place";
import type { Entry as Line, View } from "../state/fold";
import { Copy } from "../ui/Copy";
import { clock } from "../ui/words";
import { EntryItem } from "./EntryItem";
import { EntryNote } from "./EntryNote";
import { EntryTool } from "./EntryTool";
import { EntryTurn } from "./EntryTurn";
import { isSame } from "./entryFacts";
import { textOf } from "./entryText";
import { PermissionCard } from "./PermissionCard";
import { QuestionCard } from "./QuestionCard";
import "./Entry.css";

export interface EntryProps {
  entry: Line;
  view: View;
  /** The key of the line that the address points at. */
  marked: string | null;
  /** Tools that began with this event or later are the last ones. */
  recent: number;
}

/** One line of the conversation; drawn again only when it, or what is below it, changed. */
export const Entry = memo(
  function Entry({ entry, view, marked, recent }: EntryProps) {
    return (
      <article
        className={`entry entry-${entry.kind}`}
        data-marked={marked === entry.key}
        aria-label={labelOf(entry)}
      >
        <Body entry={entry} view={view} marked={marked} recent={recent} />
        <Tools entry={entry} />
      </article>
    );
  },
  (before, after) =>
    before.entry === after.entry &&
    before.marked === after.marked &&
    (before.recent === after.recent || after.entry.kind !== "tool") &&
    (before.view === after.view || isSame(after.entry, before.view, after.view)),
);

function Body({ entry, view, marked, recent }: EntryProps) {
  const sessionId = useSessionId();
  switch (entry.kind) {
    case "item":
      return <EntryItem item={entry.item} />;
    case "tool":
      return <EntryTool entry={entry} view={view} marked={marked} recent={recent} />;
    case "permission":
      return <PermissionCard sessionId={sessionId} entry={entry} />;
    case "question":
      return <QuestionCard sessionId={sessionId} entry={entry} />;
    case "note":
      return <EntryNote event={entry.event} />;
    case "turn":
      return <EntryTurn entry={entry} />;
  }
}

function labelOf(entry: Line): string {
  switch (entry.kind) {
    case "item": {
      const { kind, role } = entry.item;
      if (kind !== "message") return kind;
      return role === "user" ? "Message to the agent" : "Message from the agent";
    }
    case "tool":
      return "Tool call";
    case "permission":
      return "Permission request";
    case "question":
      return "Question";
    case "note":
      return "Note";
    case "turn":
      return "End of a turn";
  }
}

/** When it was, a copy of it, and the event behind it. */
function Tools({ entry }: { entry: Line }) {
  const sessionId = useSessionId();
  return (
    <div className="entry-tools">
      <time dateTime={entry.time}>{clock(entry.time)}</time>
      <Copy text={() => textOf(entry)} />
      <a
        className="button quiet small"
        href={href(toSession(sessionId, "events", entry.sequence))}
        title="The event behind this"
      >
        #{entry.sequence}
      </a>
    </div>
  );
}
