import { useMemo } from "react";
import { sessions } from "../app/api";
import { href, toSession } from "../app/route";
import { Plain } from "../parts/Plain";
import type { Waiting } from "../state/sessions";
import { useStore } from "../state/store";
import { titleOf } from "../ui/words";
import { useNow } from "./now";
import { RecentCard } from "./RecentCard";
import { recent, whatWaits } from "./recent";
import { Welcome } from "./Welcome";
import "./Home.css";

const MOST = 12;

/** The beginning: what waits, and what was done lately. */
export function Home() {
  const { loading, query, sessions: listed } = useStore(sessions.listing);
  const known = useStore(sessions.known);
  const isNew = known.size === 0 && listed.length === 0 && Object.keys(query).length === 0;
  return (
    <div className="page scroll home">
      {isNew ? loading ? <p className="dim">Loading…</p> : <Welcome /> : <Overview />}
    </div>
  );
}

function Overview() {
  const known = useStore(sessions.known);
  const waiting = useStore(sessions.waiting);
  const now = useNow(20_000);
  const latest = useMemo(() => recent(known.values(), MOST), [known]);
  return (
    <div className="home-overview">
      <h1>Sessions</h1>
      {waiting.size > 0 && <WaitingList waiting={waiting} />}
      <section aria-labelledby="home-recent">
        <h2 id="home-recent">Recent</h2>
        <ul className="home-cards">
          {latest.map((session) => (
            <li key={session.sessionId}>
              <RecentCard session={session} now={now} />
            </li>
          ))}
        </ul>
      </section>
    </div>
  );
}

function WaitingList({ waiting }: { waiting: ReadonlyMap<string, Waiting> }) {
  return (
    <section aria-labelledby="home-waiting">
      <div className="row">
        <h2 id="home-waiting" className="grow">
          Waiting for you
        </h2>
        <a className="small" href={href({ at: "inbox" })}>
          Open the inbox
        </a>
      </div>
      <ul className="home-waiting card">
        {[...waiting.values()].map(({ session, pending }) => (
          <li key={session.sessionId}>
            <a className="row" href={href(toSession(session.sessionId))}>
              <span className="home-waiting-title cut">
                <Plain text={titleOf(session)} />
              </span>
              <span className="grow cut dim">
                <Plain text={whatWaits(pending)} />
              </span>
              <span className="chip wait">{session.agent}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
