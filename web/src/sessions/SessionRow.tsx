import type { SessionInfo } from "dragoman-client";
import { memo } from "react";
import { href, route, toSession } from "../app/route";
import { Plain } from "../parts/Plain";
import { useStore } from "../state/store";
import { ago, cost, stateOf, titleOf } from "../ui/words";
import { Icon } from "./Icon";
import { shortPath } from "./paths";

interface RowProps {
  session: SessionInfo;
  now: number;
  top: number;
  place: { index: number; of: number };
  /** Somebody's answer is what it needs. */
  isWaiting: boolean;
  /** With Tab. */
  isReachable: boolean;
  onFocus: (sessionId: string) => void;
  onMenu: (session: SessionInfo, anchor: HTMLElement) => void;
}

/** One session in the list. */
export const SessionRow = memo(function SessionRow(props: RowProps) {
  const { session, isReachable } = props;
  const here = useStore(route);
  const isOpen = here.at === "session" && here.id === session.sessionId;
  const tabIndex = isReachable ? 0 : -1;
  return (
    <li
      className="session-row"
      aria-posinset={props.place.index + 1}
      aria-setsize={props.place.of}
      data-open={isOpen}
      data-waiting={props.isWaiting}
      style={{ transform: `translateY(${props.top}px)` }}
    >
      <a
        className="session-link"
        href={href(toSession(session.sessionId))}
        aria-current={isOpen ? "page" : undefined}
        tabIndex={tabIndex}
        onFocus={() => props.onFocus(session.sessionId)}
      >
        <span className="row">
          <span className="session-title grow cut">
            <Plain text={titleOf(session)} />
          </span>
          <time className="session-time" dateTime={new Date(session.updatedAt).toISOString()}>
            {ago(session.updatedAt, props.now)}
          </time>
        </span>
        <About session={session} />
      </a>
      <button
        type="button"
        className="button quiet small session-menu"
        aria-label={`Actions for ${titleOf(session)}`}
        aria-haspopup="menu"
        tabIndex={tabIndex}
        onClick={(event) => props.onMenu(session, event.currentTarget)}
      >
        <Icon name="more" />
      </button>
    </li>
  );
});

function About({ session }: { session: SessionInfo }) {
  const state = stateOf(session);
  const money = cost(session.usage);
  return (
    <span className="row">
      <span className="session-where grow cut" title={session.directory ?? undefined}>
        {session.agent}
        {session.directory && (
          <>
            {" · "}
            <Plain text={shortPath(session.directory)} />
          </>
        )}
      </span>
      {money && <span className="session-cost">{money}</span>}
      <span className={`chip ${state.mood}`}>{state.word}</span>
    </span>
  );
}
