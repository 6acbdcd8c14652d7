import type { AgentInfo, AgentProcess } from "dragoman-client";
import { client, sessions } from "../app/api";
import { href, toSession } from "../app/route";
import { Plain } from "../parts/Plain";
import { useStore } from "../state/store";
import { ago, bytes, duration, titleOf } from "../ui/words";
import { Problem } from "./Problem";
import { branches, busy, type Sample, sampleOf } from "./tree";
import { usePolled } from "./usePolled";

const EVERY_MS = 2000;

/** What the daemon runs for agents now, with all that those have started. */
export function AgentProcesses({ agents }: { agents: readonly AgentInfo[] }) {
  const { value, problem } = usePolled(EVERY_MS, look);
  return (
    <section className="agents-part" aria-labelledby="agents-run">
      <h2 id="agents-run">Processes</h2>
      <Problem text={problem} />
      {value?.processes.length === 0 && (
        <p className="card agents-nothing dim">
          No agent runs now. A process starts with the first message of a session.
        </p>
      )}
      {value?.processes.map((process) => (
        <Process
          key={process.pid}
          process={process}
          name={agents.find(({ id }) => id === process.agent)?.name ?? "Dragoman"}
          percent={busy(process.pid, value.before, value.sample)}
        />
      ))}
    </section>
  );
}

interface Look {
  processes: readonly AgentProcess[];
  before: Sample | null;
  sample: Sample;
}

let last: Sample | null = null;

async function look(): Promise<Look> {
  const { processes } = await client.processes();
  const before = last;
  last = sampleOf(processes, Date.now());
  return { processes, before, sample: last };
}

function Process(props: { process: AgentProcess; name: string; percent: number | null }) {
  const { process, percent } = props;
  const tree = branches(process.tree);
  return (
    <article className="card process" aria-label={`${props.name}, process ${process.pid}`}>
      <div className="row wrap process-head">
        <strong>{props.name}</strong>
        <span className="process-sessions">
          {process.purpose === "other" && (
            <span className="dim">asked for its models or version</span>
          )}
          <Links ids={process.sessionIds ?? []} />
        </span>
        <span className="dim small">started {ago(process.startedAt)}</span>
        <span className="process-figure">{bytes(process.memoryBytes)}</span>
        <span className="process-figure">
          {percent === null ? duration(process.cpuMs) : `${percent} %`} cpu
        </span>
      </div>
      <table className="process-tree">
        <thead className="unseen">
          <tr>
            <th>Command</th>
            <th>Process</th>
            <th>State</th>
            <th>Memory</th>
            <th>Processor time</th>
          </tr>
        </thead>
        <tbody>
          {tree.map(({ process: each, depth }) => (
            <tr key={each.pid}>
              <td title={each.command}>
                <span
                  className="process-command mono"
                  style={{ paddingInlineStart: `${depth * 1.25}rem` }}
                >
                  {depth > 0 && <span className="dim">└ </span>}
                  <Plain text={each.command} />
                </span>
              </td>
              <td>{each.pid}</td>
              <td>{stateWord(each.state)}</td>
              <td>{bytes(each.memoryBytes)}</td>
              <td>{duration(each.cpuMs)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </article>
  );
}

function Links({ ids }: { ids: readonly string[] }) {
  const known = useStore(sessions.known);
  return ids.map((id) => {
    const session = known.get(id);
    return (
      <a key={id} href={href(toSession(id))}>
        <Plain text={session ? titleOf(session) : id} />
      </a>
    );
  });
}

const STATES: Readonly<Record<string, string>> = {
  R: "runs",
  S: "sleeps",
  D: "waits for a disk",
  T: "stopped",
  Z: "ended",
  I: "idle",
};

function stateWord(state: string): string {
  return STATES[state] ?? state;
}
