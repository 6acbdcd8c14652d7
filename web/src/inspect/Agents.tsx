import type { AgentInfo } from "dragoman-client";
import { isNear, loadAgents, useAgents } from "../sessions/agents";
import { Back } from "../sessions/Back";
import { AddAgentButton } from "./AddAgent";
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
          <h1 className="grow">Agents</h1>
          <AddAgentButton />
        </header>
        <Problem text={problem} />
        {list === null ? (
          <p className="dim">Looking for agents…</p>
        ) : (
          <>
            <Cards label="Agents" agents={list.filter((agent) => !isKnown(agent))} />
            <section className="agents-part" aria-labelledby="agents-catalogue">
              <h2 id="agents-catalogue">Catalogue</h2>
              <p className="dim small">
                Well-known agents that speak the Agent Client Protocol. Each can be installed here,
                or with its first session.
              </p>
              <Cards label="Catalogue" agents={list.filter(isKnown)} />
            </section>
            <DaemonPanel />
            <AgentProcesses agents={list} />
            <AgentFeatures agents={list.filter(isNear)} />
          </>
        )}
      </div>
    </div>
  );
}

const isKnown = (agent: AgentInfo) => agent.source === "catalogue";

function Cards({ label, agents }: { label: string; agents: readonly AgentInfo[] }) {
  return (
    <ul className="agents-cards" aria-label={label}>
      {agents.map((agent) => (
        <li key={agent.id}>
          <AgentCard agent={agent} />
        </li>
      ))}
    </ul>
  );
}
