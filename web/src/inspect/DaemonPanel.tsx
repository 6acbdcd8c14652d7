import type { DaemonStatus, Limit, Limits } from "dragoman-client";
import { client } from "../app/api";
import { Plain } from "../parts/Plain";
import { bytes, count } from "../ui/words";
import { Fact } from "./AgentCard";
import { Problem } from "./Problem";
import { uptime } from "./uptime";
import { usePolled } from "./usePolled";

const EVERY_MS = 5000;

const ask = () => client.status();

/** How the daemon itself does. */
export function DaemonPanel() {
  const { value, problem } = usePolled(EVERY_MS, ask);
  return (
    <section className="agents-part" aria-labelledby="agents-daemon">
      <h2 id="agents-daemon">The daemon</h2>
      <Problem text={problem} />
      {value && <Panel status={value} isHeard={problem === ""} />}
    </section>
  );
}

function Panel({ status, isHeard }: { status: DaemonStatus; isHeard: boolean }) {
  const { store, sessions } = status;
  const mood = !isHeard || store.degraded ? "bad" : "good";
  return (
    <div className="card daemon">
      <dl className="facts">
        <Fact name="Health">
          <span className={`chip ${mood}`}>{healthWord(isHeard, store.degraded)}</span>
        </Fact>
        {store.problem && (
          <Fact name="Problem">
            <Plain text={store.problem} />
          </Fact>
        )}
        <Fact name="Version">
          {status.version}, process {status.pid}
        </Fact>
        <Fact name="Up for">{uptime(status.uptimeMs)}</Fact>
        <Fact name="Sessions">
          {sessions.running ?? 0} running, {sessions.waiting ?? 0} waiting, {sessions.idle ?? 0}{" "}
          idle, {sessions.ended ?? 0} ended
        </Fact>
        <Fact name="Queued">{status.queued}</Fact>
        <Fact name="Readers">{status.readers}</Fact>
        <Fact name="Store">
          {count(store.events)} events, {bytes(store.sizeBytes)}
          {store.freeBytes > 0 && `, ${bytes(store.freeBytes)} of it for new ones`}
        </Fact>
        <Fact name="Data folder">
          <code>
            <Plain text={store.path} />
          </code>
        </Fact>
      </dl>
      <LimitList limits={status.limits} />
    </div>
  );
}

function healthWord(isHeard: boolean, isDegraded: boolean): string {
  if (!isHeard) return "cannot be heard";
  return isDegraded ? "cannot write" : "healthy";
}

const LIMITS: readonly (readonly [keyof Limits, string])[] = [
  ["maxSessions", "Sessions"],
  ["maxProcesses", "Processes"],
  ["maxTurns", "Turns"],
  ["maxConnections", "Connections"],
  ["maxStreams", "Streams"],
  ["maxStoreBytes", "Store"],
];

function LimitList({ limits }: { limits: Limits }) {
  return (
    <ul className="limits" aria-label="Limits">
      {LIMITS.map(([name, word]) => (
        <LimitLine
          key={name}
          name={word}
          limit={limits[name]}
          say={name === "maxStoreBytes" ? bytes : String}
        />
      ))}
    </ul>
  );
}

function LimitLine(props: { name: string; limit: Limit; say: (value: number) => string }) {
  const { limit, say } = props;
  return (
    <li>
      <span className="dim small">{props.name}</span>
      <span className="limit-figure">
        {say(limit.used)}
        <span className="dim"> {limit.most > 0 ? `of ${say(limit.most)}` : "no limit"}</span>
      </span>
      {limit.most > 0 && (
        <meter
          aria-label={`${props.name}, of the limit`}
          min={0}
          max={limit.most}
          high={limit.most * 0.9}
          value={limit.used}
        />
      )}
    </li>
  );
}
