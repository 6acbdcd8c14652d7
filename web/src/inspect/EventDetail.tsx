import type { Event } from "dragoman-client";
import { type ReactNode, useEffect, useState } from "react";
import { client } from "../app/api";
import { useReconnects } from "../app/reconnect";
import { href, toChanges, toSession } from "../app/route";
import { MOST_CHARACTERS } from "../parts/Cut";
import { Diff } from "../parts/Diff";
import { Json } from "../parts/Json";
import { Plain } from "../parts/Plain";
import { Copy } from "../ui/Copy";
import { reason } from "../ui/notices";
import { moodOf } from "./events";
import "./EventDetail.css";

export type Face = "event" | "raw";

interface Props {
  sessionId: string;
  sequence: number;
  /** What is known of it already; without, it is fetched. */
  known: Event | undefined;
  face: Face;
  onFace: (face: Face) => void;
  /** Absent where there is none. */
  onPrevious?: () => void;
  onNext?: () => void;
  onClose: () => void;
}

/** All of one event: as it is, and what the agent itself had said. */
export function EventDetail(props: Props) {
  const { sessionId, sequence, known, face, onFace } = props;
  const { event, problem } = useEvent(sessionId, sequence, face === "raw", known);
  return (
    <section className="event-detail" aria-label={`Event ${sequence}`}>
      <header className="event-detail-head">
        <h2 className="event-detail-title">
          <span className="dim">#{sequence}</span>{" "}
          <span data-mood={moodOf(event?.type ?? "")}>{event?.type}</span>
        </h2>
        <span className="grow" />
        <Step name="Previous event" mark="↑" act={props.onPrevious} />
        <Step name="Next event" mark="↓" act={props.onNext} />
        <Step name="Close" mark="✕" act={props.onClose} />
      </header>
      <div className="event-detail-body scroll">
        {problem && (
          <p role="alert" className="bad-text">
            {problem}
          </p>
        )}
        {event && <Facts event={event} />}
        <div className="row event-detail-faces">
          <fieldset className="event-detail-switch">
            <legend className="unseen">What is shown</legend>
            <FaceButton name="Event" pressed={face === "event"} act={() => onFace("event")} />
            <FaceButton name="Raw" pressed={face === "raw"} act={() => onFace("raw")} />
          </fieldset>
          <span className="grow" />
          {event && <Copy text={() => JSON.stringify(shown(event, face), null, 2)} />}
          {event?.type === "turn.diff" && (
            <a className="button quiet small" href={href(toChanges(sessionId, event.data.turn_id))}>
              Changes
            </a>
          )}
          <a
            className="button quiet small"
            href={href(toSession(sessionId, "conversation", sequence))}
          >
            In the conversation
          </a>
        </div>
        {event && (face === "event" ? <Whole event={event} /> : <Raw event={event} />)}
      </div>
    </section>
  );
}

/** The event, with the agent's own message where that is wanted. */
function useEvent(sessionId: string, sequence: number, includeRaw: boolean, known?: Event) {
  const [fetched, setFetched] = useState<Event | null>(null);
  const [problem, setProblem] = useState("");
  const isHere = known !== undefined && !includeRaw;
  const reconnects = useReconnects();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a daemon that is back is asked again.
  useEffect(() => {
    setProblem("");
    if (isHere) return;
    const stop = new AbortController();
    const options = { offset: sequence - 1, limit: 1, includeRaw, signal: stop.signal };
    client
      .getEvents(sessionId, options)
      .then(([event]) => {
        setFetched(event ?? null);
        if (event === undefined) setProblem(`There is no event ${sequence} yet.`);
      })
      .catch((error: unknown) => {
        if (!stop.signal.aborted) setProblem(reason(error));
      });
    return () => stop.abort();
  }, [sessionId, sequence, includeRaw, isHere, reconnects]);
  const event = isHere ? known : fetched;
  // While the next one is fetched, the one before it is not shown under its number.
  return { event: event?.sequence === sequence ? event : (known ?? null), problem };
}

function Step({ name, mark, act }: { name: string; mark: string; act?: () => void }) {
  return (
    <button
      type="button"
      className="button quiet small"
      aria-label={name}
      title={name}
      disabled={act === undefined}
      onClick={act}
    >
      <span aria-hidden="true">{mark}</span>
    </button>
  );
}

function FaceButton(props: { name: string; pressed: boolean; act: () => void }) {
  return (
    <button type="button" aria-pressed={props.pressed} onClick={props.act}>
      {props.name}
    </button>
  );
}

function Facts({ event }: { event: Event }) {
  return (
    <dl className="event-detail-facts">
      <Fact name="Time">{event.time}</Fact>
      <Fact name="Source">{event.synthetic ? `${event.source}, synthetic` : event.source}</Fact>
      <Fact name="Id">{event.event_id}</Fact>
      {event.native_session_id && (
        <Fact name="Native session">
          <Plain text={event.native_session_id} />
        </Fact>
      )}
    </dl>
  );
}

function Fact(props: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}

const LINES = 400;

function shown(event: Event, face: Face): unknown {
  if (face === "raw") return event.raw;
  const { raw: _, ...rest } = event;
  return rest;
}

function Whole({ event }: { event: Event }) {
  const id = `event:${event.sequence}`;
  const diff = diffOf(event);
  return (
    <>
      {diff && <Diff id={id} diff={diff} />}
      <Json id={id} value={shown(event, "event")} lines={LINES} />
    </>
  );
}

/** The diff that an event is about, unless it is better read among the changes. */
function diffOf(event: Event): string | null {
  const { diff } = event.data as { diff?: unknown };
  return typeof diff === "string" && diff.length < MOST_CHARACTERS ? diff : null;
}

function Raw({ event }: { event: Event }) {
  if (event.raw === null || event.raw === undefined) {
    return <p className="dim">No message of the agent caused this event.</p>;
  }
  const text = decoded(event.raw);
  return (
    <>
      <Json id={`raw:${event.sequence}`} value={event.raw} lines={LINES} />
      {text !== null && (
        <>
          <h3 className="label">The same bytes as text</h3>
          <pre className="event-detail-bytes">
            <Plain text={text} />
          </pre>
        </>
      )}
    </>
  );
}

/** What was not JSON comes in base64: its text, as far as it is one. */
export function decoded(raw: unknown): string | null {
  if (typeof raw !== "object" || raw === null) return null;
  const { encoding, data } = raw as { encoding?: unknown; data?: unknown };
  if (encoding !== "base64" || typeof data !== "string") return null;
  try {
    const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
    return new TextDecoder().decode(bytes);
  } catch {
    return null;
  }
}
