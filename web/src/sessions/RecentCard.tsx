import type { SessionInfo } from "dragoman-client";
import { href, toSession } from "../app/route";
import { Plain } from "../parts/Plain";
import { ago, cost, count, stateOf, titleOf, tokensIn } from "../ui/words";
import { Icon } from "./Icon";
import { shortPath } from "./paths";

/** A session at a glance. */
export function RecentCard({ session, now }: { session: SessionInfo; now: number }) {
  const state = stateOf(session);
  const facts = new Set([session.agent, session.model ?? session.agent]);
  return (
    <a className="card home-card" href={href(toSession(session.sessionId))}>
      <span className="row">
        <strong className="grow cut">
          <Plain text={titleOf(session)} />
        </strong>
        <span className={`chip ${state.mood}`}>{state.word}</span>
      </span>
      <span className="home-card-facts cut">
        <Plain text={[...facts].join(" · ")} />
      </span>
      {session.directory && (
        <span className="home-card-facts row" title={session.directory}>
          <Icon name="folder" />
          <span className="cut">
            <Plain text={shortPath(session.directory)} />
          </span>
        </span>
      )}
      <span className="home-card-facts row">
        <span className="grow">{ago(session.updatedAt, now)}</span>
        <Spent session={session} />
      </span>
    </a>
  );
}

function Spent({ session: { usage } }: { session: SessionInfo }) {
  if (!usage) return null;
  const money = cost(usage);
  return (
    <>
      <span>
        {count(tokensIn(usage))} in, {count(usage.output_tokens ?? 0)} out
      </span>
      {money && <span>{money}</span>}
    </>
  );
}
