import type { SessionInfo } from "dragoman-client";
import { sessions } from "../app/api";
import { useRefusal } from "../app/rights";
import { useAgents } from "../sessions/agents";
import type { View } from "../state/fold";
import { useStore } from "../state/store";
import type { Transcript, Window } from "../state/transcript";
import { ComposerEnded } from "./ComposerEnded";
import { ComposerForm } from "./ComposerForm";
import { PermissionAsk } from "./PermissionCard";
import { QuestionAsk } from "./QuestionCard";
import { Queue } from "./Queue";
import "./Composer.css";

/** Where a person speaks: below the conversation, with what waits between the two. */
export function Composer(props: { session: SessionInfo; transcript: Transcript }) {
  const { session, transcript } = props;
  const window = useStore(transcript.window);
  const { state } = window.view;
  const refusal = useRefusal("write", "You may read here. Your token sends no messages.");
  const hasEnded = session.ended || state.ended;
  const isStarting = session.status === "starting" && state.turnId === null;
  return (
    <section className="composer" aria-label="Your message">
      {window.loading !== "first" && <Dock sessionId={session.sessionId} view={window.view} />}
      {hasEnded ? (
        <ComposerEnded session={session} />
      ) : (
        <>
          <Queue
            sessionId={session.sessionId}
            queue={state.queue}
            pendingCount={session.pendingCount}
            until={isStarting ? "its agent to start" : "the turn to end"}
          />
          {isStarting && <Starting agent={session.agent} />}
          {refusal === null ? (
            <ComposerForm
              key={session.sessionId}
              sessionId={session.sessionId}
              agent={session.agent}
              isRunning={isRunning(window, session)}
              wantsEnd={transcript.wantsEnd}
            />
          ) : (
            <p className="composer-ended">{refusal}</p>
          )}
        </>
      )}
    </section>
  );
}

/** An agent that takes its time to come up; the message waits for it. */
function Starting({ agent }: { agent: string }) {
  const name = useAgents().list?.find(({ id }) => id === agent)?.name ?? agent;
  return (
    <p className="small dim" role="status">
      starting {name}…
    </p>
  );
}

/** The events know first, where they tell of a turn at all. */
export function isRunning({ view, atEnd }: Window, session: SessionInfo): boolean {
  if (atEnd && view.state.turnId !== null) return true;
  if (atEnd && view.state.lastOutcome !== null) return false;
  return session.status === "running" || session.status === "waiting";
}

/** Requests that wait, and are not in the part of the conversation that is shown. */
function Dock({ sessionId, view }: { sessionId: string; view: View }) {
  const pending = useStore(sessions.waiting).get(sessionId)?.pending;
  const isOutside = (id: string) => !view.entries.has(`request:${id}`);
  const permissions = pending?.permissions.filter((each) => isOutside(each.permission_id)) ?? [];
  const questions = pending?.questions.filter((each) => isOutside(each.question_id)) ?? [];
  if (permissions.length + questions.length === 0) return null;
  return (
    <section className="composer-dock scroll" aria-label="Waiting for you">
      <h2 className="composer-dock-title">Waiting for you, elsewhere in this conversation</h2>
      {permissions.map((asked) => (
        <PermissionAsk
          key={asked.permission_id}
          sessionId={sessionId}
          asked={asked}
          resolved={null}
          resolvedAt={null}
        />
      ))}
      {questions.map((asked) => (
        <QuestionAsk
          key={asked.question_id}
          sessionId={sessionId}
          asked={asked}
          resolved={null}
          resolvedAt={null}
        />
      ))}
    </section>
  );
}
