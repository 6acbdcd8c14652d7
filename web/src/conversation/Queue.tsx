import { DragomanError, type PendingMessage, type QueuedMessage } from "dragoman-client";
import { memo, useEffect, useState } from "react";
import { client, sessions } from "../app/api";
import { useMay } from "../app/rights";
import { Plain } from "../parts/Plain";
import { focusBeside } from "../ui/focus";
import { complain, say } from "../ui/notices";
import { focusField } from "./speaking";
import "./Queue.css";

/** Messages that wait for the turn to end; each can be taken back. */
export const Queue = memo(function Queue(props: {
  sessionId: string;
  /** As the events tell it. Empty too where the event that tells of it is out of sight. */
  queue: readonly QueuedMessage[];
  /** How much waits in the session: messages, and requests for people. */
  pendingCount: number;
  /** What the messages wait for. */
  until: string;
}) {
  const messages = useQueue(props.sessionId, props.queue, props.pendingCount);
  if (messages.length === 0) return null;
  return (
    <section className="queue" aria-label="Queue">
      <h2 className="queue-title">
        {messages.length === 1 ? "1 message waits" : `${messages.length} messages wait`} for{" "}
        {props.until}
      </h2>
      <ol>
        {messages.map(({ messageId, message }) => (
          <Waiting
            key={messageId}
            sessionId={props.sessionId}
            messageId={messageId}
            message={message}
          />
        ))}
      </ol>
    </section>
  );
});

function Waiting(props: { sessionId: string; messageId: string; message: string }) {
  const [isLeaving, setLeaving] = useState(false);
  const mayCancel = useMay("write");
  const cancel = async () => {
    setLeaving(true);
    try {
      await client.cancelMessage(props.sessionId, props.messageId);
    } catch (error) {
      setLeaving(false);
      if (!(error instanceof DragomanError && error.status === 409)) return complain(error);
      say("It is on its way to the agent already.", true);
    }
    sessions.touch(props.sessionId);
  };
  return (
    <li className="queue-message">
      <span className="grow queue-text">
        {props.message.trim() === "" ? (
          <span className="dim">Files only</span>
        ) : (
          <Plain text={props.message} />
        )}
      </span>
      <button
        type="button"
        className="button quiet small"
        disabled={isLeaving || !mayCancel}
        aria-label={`Cancel: ${props.message.slice(0, 60)}`}
        onClick={(event) => {
          if (!focusBeside(event.currentTarget.closest("li"))) focusField();
          void cancel();
        }}
      >
        Cancel
      </button>
    </li>
  );
}

/** A message that is sent while nothing runs waits for a moment too; that is not worth a word. */
const A_MOMENT_MS = 400;

function useQueue(
  sessionId: string,
  queue: readonly QueuedMessage[],
  pendingCount: number,
): readonly PendingMessage[] {
  const [asked, setAsked] = useState<readonly PendingMessage[]>([]);
  const isTold = queue.length > 0;
  useEffect(() => {
    let isStale = false;
    if (isTold || pendingCount === 0) {
      setAsked([]);
      return;
    }
    const timer = setTimeout(async () => {
      const pending = await client.getPending(sessionId).catch(() => null);
      if (!isStale && pending !== null) setAsked(pending.messages);
    }, A_MOMENT_MS);
    return () => {
      isStale = true;
      clearTimeout(timer);
    };
  }, [sessionId, isTold, pendingCount]);
  if (!isTold) return asked;
  return queue.map(({ message_id, message, truncated, created_at }) => ({
    messageId: message_id,
    message: truncated ? `${message}…` : message,
    createdAt: created_at,
  }));
}
