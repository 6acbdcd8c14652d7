import { loadAgents, useAgents } from "../sessions/agents";
import { Back } from "../sessions/Back";
import { AgentCard } from "./AgentCard";
import { AgentFeatures } from "./AgentFeatures";
import { AgentProcesses } from "./AgentProcesses";
import { DaemonPanel } from "./DaemonPanel";
import { Problem } from "./Problem";
import { useEvery } from "./useEvery";
import "./Agents.css";

const SLOW_MS = 10_000;

/** The agents of the daemon's machine, what they can, and what runs for them. */
export function Agents() {
  const { list, problem } = useAgents();
  useEvery(SLOW_MS, loadAgents);
  return (
    <div className="page scroll">
      <div className="agents">
        <header className="row">
          <Back />
          <h1>Agents</h1>
        </header>
        <Problem text={problem} />
        {list === null ? (
          <p className="dim">Looking for agents…</p>
        ) : (
          <>
            <ul className="agents-cards" aria-label="Agents">
              {list.map((agent) => (
                <li key={agent.id}>
                  <AgentCard agent={agent} />
                </li>
              ))}
            </ul>
            <DaemonPanel />
            <AgentProcesses agents={list} />
            <AgentFeatures agents={list} />
          </>
        )}
      </div>
    </div>
  );
}
