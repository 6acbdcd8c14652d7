import { DragomanError, type SessionInfo } from "dragoman-client";
import { useCallback, useEffect, useRef, useState } from "react";
import { client, places, sessions } from "../app/api";
import { href, type SessionTab } from "../app/route";
import { Changes } from "../inspect/Changes";
import { Events } from "../inspect/Events";
import { InSession } from "../parts/place";
import { useStore } from "../state/store";
import { Transcript } from "../state/transcript";
import { reason } from "../ui/notices";
import { Composer } from "./Composer";
import { Conversation } from "./Conversation";
import { Header } from "./Header";
import "./SessionPage.css";

interface Place {
  id: string;
  tab: SessionTab;
  sequence: number | null;
  turn: string | null;
}

/** One session: its conversation, its changes, its events, and what one can do with it. */
export function SessionPage(props: Place) {
  const { id } = props;
  const [attempt, setAttempt] = useState(0);
  const transcript = useTranscript(id, attempt);
  const session = useStore(sessions.known).get(id);
  // biome-ignore lint/correctness/useExhaustiveDependencies: with another attempt, look again.
  useEffect(() => void sessions.refresh(id), [id, attempt]);
  const again = useCallback(() => setAttempt((before) => before + 1), []);
  if (transcript === null) return null;
  return (
    <InSession key={id} sessionId={id}>
      <Inside {...props} session={session} transcript={transcript} onAgain={again} />
    </InSession>
  );
}

/** The transcript of a session, open as long as the page is. */
function useTranscript(id: string, attempt: number): Transcript | null {
  const [transcript, setTranscript] = useState<Transcript | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt is another transcript.
  useEffect(() => {
    const opened = new Transcript(client, id, places);
    setTranscript(opened);
    void opened.open();
    return () => opened.close();
  }, [id, attempt]);
  return transcript;
}

function Inside(
  props: Place & {
    session: SessionInfo | undefined;
    transcript: Transcript;
    onAgain: () => void;
  },
) {
  const { id, tab, session, transcript } = props;
  const { error, isReplaced } = useStore(transcript.window);
  const wasKnown = useWasTrue(session !== undefined);
  const isMissing = error instanceof DragomanError && error.status === 404;
  const isGone = isMissing || (wasKnown && !session);
  useWhenBack(isMissing ? null : error, props.onAgain);
  if (isGone) return <Gone id={id} wasHere={wasKnown} />;
  return (
    <div className="session">
      <Header id={id} tab={tab} session={session} transcript={transcript} />
      {error && (
        <p role="alert" className="session-problem">
          <span className="grow">{reason(error)}</span>
          <button type="button" className="button small" onClick={props.onAgain}>
            Try again
          </button>
        </p>
      )}
      {isReplaced && (
        <p role="status" className="session-problem">
          An older copy of this session was put back. What came later is gone; this is the session
          as it is now.
        </p>
      )}
      <View {...props} />
    </div>
  );
}

function View(props: Place & { session: SessionInfo | undefined; transcript: Transcript }) {
  const { tab, sequence, turn, session, transcript } = props;
  switch (tab) {
    case "changes":
      return <Changes session={session} transcript={transcript} turn={turn} />;
    case "events":
      return <Events session={session} transcript={transcript} sequence={sequence} />;
    case "conversation":
      return (
        <>
          <Conversation transcript={transcript} sequence={sequence} />
          {session && <Composer session={session} transcript={transcript} />}
        </>
      );
  }
}

/** So long after it failed it is tried again, where the daemon can be heard all the same. */
const RETRY_MS = 1_000;

/** Tries again what failed, once the daemon is back; it may be so before this has failed. */
function useWhenBack(error: Error | null, again: () => void): void {
  const isOpen = useStore(sessions.connection) === "open";
  const wasOpen = useRef(isOpen);
  useEffect(() => {
    const isBack = isOpen && !wasOpen.current;
    wasOpen.current = isOpen;
    if (error === null || !isOpen) return;
    if (isBack) return again();
    // What the daemon itself has refused it would refuse again.
    if (error instanceof DragomanError) return;
    const timer = setTimeout(again, RETRY_MS);
    return () => clearTimeout(timer);
  }, [isOpen, error, again]);
}

function useWasTrue(now: boolean): boolean {
  const [was, setWas] = useState(now);
  if (now && !was) setWas(true);
  return was || now;
}

function Gone({ id, wasHere }: { id: string; wasHere: boolean }) {
  return (
    <div className="session-gone">
      <h1>{wasHere ? "This session was deleted" : "There is no such session"}</h1>
      <p>
        {wasHere
          ? "Its events are gone, and its agent is stopped."
          : "It may have been deleted, or the address is not quite right:"}
      </p>
      {!wasHere && <code>{id}</code>}
      <p className="row">
        <a className="button primary" href={href({ at: "home" })}>
          All sessions
        </a>
        <a className="button" href={href({ at: "new" })}>
          New session
        </a>
      </p>
    </div>
  );
}
