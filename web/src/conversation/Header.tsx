import type { SessionInfo } from "dragoman-client";
import { useMemo } from "react";
import { useShortcuts } from "../app/keys";
import { go, href, type SessionTab, TABS, toSession } from "../app/route";
import { visible } from "../parts/marks";
import { Plain } from "../parts/Plain";
import { Icon } from "../sessions/Icon";
import { shortPath } from "../sessions/paths";
import { useStore } from "../state/store";
import type { Transcript } from "../state/transcript";
import { cost, count, stateOf, titleOf, tokensIn } from "../ui/words";
import { HeaderMenu } from "./HeaderMenu";
import "./Header.css";

/** What a session is, what it does now, and what it has used. */
export function Header(props: {
  id: string;
  tab: SessionTab;
  session: SessionInfo | undefined;
  transcript: Transcript;
}) {
  const { id, tab, session, transcript } = props;
  const state = session && stateOf(session);
  return (
    <header className="header">
      <div className="header-first">
        <a className="header-back" href={href({ at: "home" })} aria-label="All sessions">
          <Icon name="back" />
        </a>
        <h1 className="header-title cut" title={session && visible(titleOf(session))}>
          <Plain text={session ? titleOf(session) : id} />
        </h1>
        <span role="status">
          {state && (
            <span className={`chip header-state ${state.mood}`}>
              <span className="header-dot" aria-hidden="true" />
              {state.word}
            </span>
          )}
        </span>
        <span className="grow" />
        <Tabs id={id} tab={tab} />
        {session && <HeaderMenu session={session} />}
      </div>
      {session && (
        <div className="header-second">
          <Facts session={session} />
          <Meters session={session} transcript={transcript} />
        </div>
      )}
    </header>
  );
}

const NAMES = { conversation: "Conversation", changes: "Changes", events: "Events" } as const;

function Tabs({ id, tab }: { id: string; tab: SessionTab }) {
  const next = TABS[(TABS.indexOf(tab) + 1) % TABS.length] ?? tab;
  useShortcuts(
    useMemo(
      () => [
        { key: "v", does: "Conversation, changes, events", act: () => go(toSession(id, next)) },
      ],
      [id, next],
    ),
  );
  return (
    <nav className="header-tabs" aria-label="Views of the session">
      {TABS.map((each) => (
        <a
          key={each}
          href={href(toSession(id, each))}
          aria-current={each === tab ? "page" : undefined}
        >
          {NAMES[each]}
        </a>
      ))}
    </nav>
  );
}

const PERMISSIONS: Readonly<Record<string, string>> = {
  default: "asks first",
  plan: "plans only",
  bypass: "asks nothing",
  acceptEdits: "accepts edits",
};

function Facts({ session }: { session: SessionInfo }) {
  const { agent, model, variant, agentMode, permissionMode, directory } = session;
  return (
    <ul className="header-facts" aria-label="About the session">
      <li>
        <strong>{agent}</strong>
      </li>
      {model && (
        <li>
          <Plain text={variant ? `${model} · ${variant}` : model} />
        </li>
      )}
      {agentMode && (
        <li title="Mode of the agent">
          <Plain text={agentMode} />
        </li>
      )}
      <li title={`Permission mode: ${permissionMode}`}>
        {PERMISSIONS[permissionMode] ?? permissionMode}
      </li>
      {directory && (
        <li className="mono cut" title={visible(directory)}>
          <Plain text={shortPath(directory)} />
        </li>
      )}
    </ul>
  );
}

function Meters({ session, transcript }: { session: SessionInfo; transcript: Transcript }) {
  const { usage } = session;
  const { context } = useStore(transcript.window).view.state;
  const price = cost(usage);
  return (
    <div className="header-meters">
      {context && context.window > 0 && <Context used={context.used} window={context.window} />}
      {usage && (
        <span title="Tokens in and out, all turns together">
          {count(tokensIn(usage))} in · {count(usage.output_tokens ?? 0)} out
        </span>
      )}
      {price && <span title="Cost of all turns">{price}</span>}
    </div>
  );
}

function Context({ used, window }: { used: number; window: number }) {
  const part = Math.min(1, used / window);
  const said = `Context: ${count(used)} of ${count(window)} tokens`;
  return (
    <span className="header-context" title={said}>
      <meter
        className="header-meter"
        min={0}
        max={window}
        low={window * 0.6}
        high={window * 0.85}
        optimum={0}
        value={Math.min(used, window)}
        aria-label={said}
      />
      {Math.round(part * 100)}%
    </span>
  );
}
