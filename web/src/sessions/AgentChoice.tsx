import type { AgentInfo } from "dragoman-client";
import { AgentChips } from "./AgentChips";
import { FieldProblem } from "./FormField";
import { InstallButton, InstallProgress } from "./InstallButton";

/** The agents as cards, with whether each can be used right away. */
export function AgentChoice(props: {
  agents: readonly AgentInfo[];
  chosen: string;
  onChoose: (id: string) => void;
  problem: string | null;
}) {
  const chosen = props.agents.find(({ id }) => id === props.chosen);
  return (
    <fieldset className="agent-choice">
      <legend className="label">Agent</legend>
      {props.agents.map((agent) => (
        <div key={agent.id} className="card agent-option" data-chosen={agent.id === props.chosen}>
          <label>
            <input
              type="radio"
              name="agent"
              checked={agent.id === props.chosen}
              onChange={() => props.onChoose(agent.id)}
            />
            <span className="agent-option-name">{agent.name}</span>
            <AgentChips agent={agent} />
          </label>
          {!agent.installed && <InstallButton agent={agent} />}
          <InstallProgress agent={agent} />
        </div>
      ))}
      <div className="form-about agent-choice-about">
        {props.problem ? <FieldProblem text={props.problem} /> : chosen && <About agent={chosen} />}
      </div>
    </fieldset>
  );
}

function About({ agent }: { agent: AgentInfo }) {
  if (!agent.installed) return <>It is installed with the session, which takes up to a minute.</>;
  if (agent.problem) return <FieldProblem text={agent.problem} />;
  if (agent.id === "mock") return <>Built in, for trying things out. It needs no key.</>;
  if (agent.credentialsAvailable) return null;
  return (
    <>
      No sign-in or key of {agent.name} was found. Sign in with the agent itself, or give it a key
      as an environment variable below.
    </>
  );
}
