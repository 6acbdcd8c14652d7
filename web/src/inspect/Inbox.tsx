import { useRef } from "react";
import { href, toSession } from "../app/route";
import { PermissionAsk } from "../conversation/PermissionCard";
import { QuestionAsk } from "../conversation/QuestionCard";
import { Plain } from "../parts/Plain";
import { Back } from "../sessions/Back";
import { rescueFocus, useLeaving } from "../ui/focus";
import { titleOf } from "../ui/words";
import { bySession, type InboxLine } from "./inboxLines";
import { useInbox } from "./useInbox";
import "./Inbox.css";

/** All that waits for a person, over all sessions. */
export function Inbox() {
  const [lines, keep] = useInbox();
  const open = lines.filter((line) => !line.isOver).length;
  return (
    <div className="page scroll inbox">
      <header className="inbox-head">
        <Back />
        <h1>Inbox</h1>
        <p className="dim" role="status">
          {open === 0
            ? "Nothing waits for you"
            : `${open} ${open === 1 ? "waits" : "wait"} for you`}
        </p>
      </header>
      {lines.length === 0 ? (
        <Empty />
      ) : (
        bySession(lines).map((group) => (
          <Group key={group[0]?.session.sessionId} lines={group} onKeep={keep} />
        ))
      )}
    </div>
  );
}

function Group(props: { lines: readonly InboxLine[]; onKeep: (id: string) => void }) {
  const { lines, onKeep } = props;
  const session = lines[0]?.session;
  if (session === undefined) return null;
  return (
    <section className="inbox-group" aria-label={titleOf(session)}>
      <h2 className="inbox-session">
        <a href={href(toSession(session.sessionId))}>
          <Plain text={titleOf(session)} />
        </a>
        <span className="chip">{session.agent}</span>
        {session.directory && (
          <span className="inbox-directory mono dim cut" title={session.directory}>
            <Plain text={session.directory} />
          </span>
        )}
      </h2>
      {lines.map((line) => (
        <Line key={line.id} line={line} onKeep={() => onKeep(line.id)} />
      ))}
    </section>
  );
}

function Line({ line, onKeep }: { line: InboxLine; onKeep: () => void }) {
  const element = useRef<HTMLDivElement>(null);
  useLeaving(element, (hadFocus) => hadFocus && rescueFocus());
  const common = {
    sessionId: line.session.sessionId,
    resolvedAt: line.resolvedAt,
    isOver: line.isOver,
  };
  return (
    <div ref={element} className="inbox-line" data-over={line.isOver || undefined}>
      {line.kind === "permission" ? (
        <PermissionAsk {...common} asked={line.asked} resolved={line.resolved} onUnsent={onKeep} />
      ) : (
        <QuestionAsk {...common} asked={line.asked} resolved={line.resolved} />
      )}
    </div>
  );
}

function Empty() {
  return (
    <div className="inbox-empty">
      <svg viewBox="0 0 48 48" width="48" height="48" aria-hidden="true">
        <path d="M8 26 14 10h20l6 16v10a2 2 0 0 1-2 2H10a2 2 0 0 1-2-2V26Z" />
        <path d="M8 26h10l2 4h8l2-4h10" />
      </svg>
      <p>When an agent wants a permission or has a question, it appears here.</p>
    </div>
  );
}
