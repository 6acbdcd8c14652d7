import type { AgentInfo } from "dragoman-client";
import { AgentChips } from "./AgentChips";
import { isNear, isOwn } from "./agents";
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
  const far = props.agents.filter((agent) => !isNear(agent));
  const option = (agent: AgentInfo) => (
    <Option
      key={agent.id}
      agent={agent}
      isChosen={agent.id === props.chosen}
      onChoose={() => props.onChoose(agent.id)}
    />
  );
  return (
    <fieldset className="agent-choice">
      <legend className="label">Agent</legend>
      {props.agents.filter(isNear).map(option)}
      {far.length > 0 && (
        <details className="agent-catalogue" open={(chosen && !isNear(chosen)) || undefined}>
          <summary>{far.length} more in the catalogue</summary>
          <div className="agent-choice">{far.map(option)}</div>
        </details>
      )}
      <div className="form-about agent-choice-about">
        {props.problem ? <FieldProblem text={props.problem} /> : chosen && <About agent={chosen} />}
      </div>
    </fieldset>
  );
}

function Option(props: { agent: AgentInfo; isChosen: boolean; onChoose: () => void }) {
  const { agent, isChosen } = props;
  return (
    <div className="card agent-option" data-chosen={isChosen}>
      <label>
        <input type="radio" name="agent" checked={isChosen} onChange={props.onChoose} />
        <span className="agent-option-name">{agent.name}</span>
        <AgentChips agent={agent} />
      </label>
      {!agent.installed && !isOwn(agent) && <InstallButton agent={agent} />}
      <InstallProgress agent={agent} />
    </div>
  );
}

function About({ agent }: { agent: AgentInfo }) {
  if (!agent.installed && isOwn(agent)) return <FieldProblem text="Its command was not found." />;
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
