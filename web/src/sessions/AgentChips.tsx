import type { AgentInfo } from "dragoman-client";

/** Whether an agent is there, which version, and whether it can sign in. */
export function AgentChips({ agent }: { agent: AgentInfo }) {
  return (
    <span className="row wrap agent-chips">
      {agent.installed ? (
        <span className={`chip ${agent.problem ? "bad" : "good"}`}>
          {agent.version ? `installed ${agent.version}` : "installed"}
        </span>
      ) : (
        <span className="chip">not installed</span>
      )}
      {agent.installed && !agent.credentialsAvailable && (
        <span className="chip wait">no credentials</span>
      )}
      {agent.capabilities.stability === "experimental" && (
        <span className="chip">experimental</span>
      )}
    </span>
  );
}
