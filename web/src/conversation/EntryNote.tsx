import type { Stderr } from "dragoman-client";
import { href, toSession } from "../app/route";
import { Fold } from "../parts/Fold";
import { Json } from "../parts/Json";
import { Output } from "../parts/Output";
import { Plain } from "../parts/Plain";
import { useSessionId } from "../parts/place";
import { isRecord } from "../parts/steps";
import type { NoteEntry } from "../state/fold";

type EventNote = NoteEntry["event"];
type NoteOf<T extends EventNote["type"]> = Extract<EventNote, { type: T }>;

/** An event that is a line of its own. */
export function EntryNote({ event }: { event: EventNote }) {
  switch (event.type) {
    case "error":
      return <Problem event={event} />;
    case "agent.unparsed":
      return <Unparsed event={event} />;
    case "session.started":
      return <Started event={event} />;
    case "session.ended":
      return <Ended event={event} />;
    case "session.updated":
      return <Updated event={event} />;
  }
}

function Problem({ event }: { event: NoteOf<"error"> }) {
  const { message, code, details } = event.data;
  return (
    <div className="entry-problem">
      <span className="entry-problem-head">
        Error {code && <span className="chip mono">{code}</span>}
      </span>
      <p>
        <Plain text={message} />
      </p>
      {details !== null && details !== undefined && (
        <Fold id={event.event_id} label="Details">
          <Json id={event.event_id} value={details} />
        </Fold>
      )}
    </div>
  );
}

function Unparsed({ event }: { event: NoteOf<"agent.unparsed"> }) {
  const sessionId = useSessionId();
  return (
    <div className="entry-problem calm">
      <span className="entry-problem-head">The agent said something that could not be read</span>
      <p className="small mono">
        <Plain text={event.data.error} />
      </p>
      <a className="small" href={href(toSession(sessionId, "events", event.sequence))}>
        See what it said
      </a>
    </div>
  );
}

function Started({ event }: { event: NoteOf<"session.started"> }) {
  const about = isRecord(event.data.metadata) ? event.data.metadata : {};
  const facts = [about.agent, about.model, about.directory].filter(
    (fact) => typeof fact === "string" && fact !== "",
  );
  return (
    <p className="entry-note-line">
      Session started · <Plain text={facts.join(" · ")} />
    </p>
  );
}

const NAMES = {
  title: "Title",
  model: "Model",
  variant: "Variant",
  mode: "Mode",
  permission_mode: "Permission mode",
} as const;

function Updated({ event }: { event: NoteOf<"session.updated"> }) {
  const names = Object.keys(NAMES) as (keyof typeof NAMES)[];
  const changes = names
    .filter((name) => event.data[name] !== undefined)
    .map((name) => `${NAMES[name]}: ${event.data[name] || "none"}`);
  if (event.data.continuity) changes.push(event.data.message ?? event.data.continuity);
  return (
    <p className="entry-note-line">
      <Plain text={changes.join(" · ")} />
    </p>
  );
}

const ENDS = {
  completed: "The session ended",
  error: "The session ended with an error",
  terminated: "The session was ended by a person",
} as const;

function Ended({ event }: { event: NoteOf<"session.ended"> }) {
  const { reason, message, exit_code: code, stderr } = event.data;
  return (
    <div className={reason === "error" ? "entry-problem" : "entry-problem quiet"}>
      <span className="entry-problem-head">
        {ENDS[reason]}
        {code !== undefined && <span className="chip">exit code {code}</span>}
      </span>
      {message && (
        <p>
          <Plain text={message} />
        </p>
      )}
      {stderr && (stderr.head || stderr.tail) && (
        <Fold id={event.event_id} label="What the agent's process said" open={reason === "error"}>
          <Output id={event.event_id} text={said(stderr)} />
        </Fold>
      )}
    </div>
  );
}

function said({ head = "", tail, total_lines: total }: Stderr): string {
  if (tail === undefined) return head;
  return `${head}\n… ${total ?? "many"} lines in all …\n${tail}`;
}
