import type { ContentPart, Item } from "dragoman-client";
import { Attachment } from "../parts/File";
import { Fold } from "../parts/Fold";
import { Part, Structured } from "../parts/Part";
import { Plain } from "../parts/Plain";
import { Status } from "../parts/Status";
import { stepsOf } from "../parts/steps";
import { Words } from "../parts/Words";
import { partOf } from "./entryFacts";

/** A message, a status, or something that is neither. */
export function EntryItem({ item }: { item: Item }) {
  switch (item.kind) {
    case "message":
    case "system":
      return <Message item={item} />;
    case "status":
      return <StatusItem item={item} />;
    default:
      return <Unknown item={item} />;
  }
}

function Message({ item }: { item: Item }) {
  const who = item.kind === "system" ? "system" : item.role === "user" ? "user" : "assistant";
  const back = item.reason === "retracted" ? "back" : "";
  const growing = item.status === "in_progress";
  let at = 0;
  return (
    <div className={`entry-message ${who} ${back}`}>
      {item.phase === "plan" && <span className="entry-aside">Plan</span>}
      {item.content.map((part) => (
        <MessagePart
          key={at++}
          id={`${item.item_id}:${at}`}
          part={part}
          growing={growing}
          mine={who === "user"}
        />
      ))}
      <Aside item={item} />
    </div>
  );
}

function MessagePart(props: { id: string; part: ContentPart; growing: boolean; mine: boolean }) {
  const { id, part, growing, mine } = props;
  if (mine && part.type === "file_ref") return <Attachment path={part.path} />;
  if (mine && part.type === "text") return <Words id={id} text={part.text} />;
  return <Part id={id} part={part} growing={growing} />;
}

const REASONS: Readonly<Record<string, string>> = {
  retracted: "The agent took this back.",
  interrupted: "Interrupted.",
  turn_end: "Cut off at the end of the turn.",
  process_exit: "Cut off: the agent's process ended.",
  session_end: "Cut off: the session ended.",
  restart: "Cut off: the daemon stopped.",
};

/** Why a message is not what it could have been. */
function Aside({ item }: { item: Item }) {
  if (item.status !== "failed") return null;
  const reason = item.reason ?? "";
  return (
    <p className="entry-aside">
      {REASONS[reason] ?? <Plain text={`Cut off${reason && `: ${reason}`}.`} />}
    </p>
  );
}

function StatusItem({ item }: { item: Item }) {
  const status = partOf(item, "status");
  const given = partOf(item, "json")?.json;
  const steps = stepsOf(given);
  if (steps) return <Structured id={item.item_id} value={given} />;
  const label = status?.label === "turn.diff" ? "what this turn changed" : (status?.label ?? "");
  return (
    <>
      <Status
        id={item.item_id}
        label={label}
        detail={status?.detail ?? null}
        busy={item.status === "in_progress"}
      />
      {given !== undefined && (
        <div className="entry-details">
          <Fold id={`${item.item_id}:json`} label="Details">
            <Structured id={item.item_id} value={given} />
          </Fold>
        </div>
      )}
    </>
  );
}

/** Something that the schema has no word for: shown as it came. */
function Unknown({ item }: { item: Item }) {
  let at = 0;
  return (
    <div className="entry-unknown">
      <Fold id={item.item_id} label="The agent sent something that has no name here">
        {item.content.map((part) => (
          <Part key={at++} id={`${item.item_id}:${at}`} part={part} />
        ))}
      </Fold>
    </div>
  );
}
