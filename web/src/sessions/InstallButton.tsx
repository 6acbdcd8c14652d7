import type { AgentInfo } from "dragoman-client";
import { useProblem } from "../app/reconnect";
import { useRefusal } from "../app/rights";
import { duration } from "../ui/words";
import { install, useInstall } from "./agents";
import { useNow } from "./now";
import "./InstallButton.css";

/** Installs an agent, or fetches it anew. */
export function InstallButton({ agent }: { agent: AgentInfo }) {
  const going = useInstall(agent.id);
  const refusal = useRefusal("admin", "Your token may not install agents.");
  const isGoing = going !== null && going.problem === null;
  const verb = agent.installed ? "Reinstall" : "Install";
  return (
    <button
      type="button"
      className="button small"
      disabled={isGoing || refusal !== null}
      title={refusal ?? undefined}
      aria-label={`${verb} ${agent.name}`}
      onClick={() => void install(agent, agent.installed)}
    >
      {verb}
    </button>
  );
}

/** How an installation goes: for how long already, or why it failed. */
export function InstallProgress({ agent }: { agent: AgentInfo }) {
  const going = useInstall(agent.id);
  const problem = useProblem(going?.problem ?? null);
  if (going === null) return null;
  if (problem !== null) {
    return (
      <p role="alert" className="bad-text small install-problem">
        {problem}
      </p>
    );
  }
  return <Going agent={agent} startedAt={going.startedAt} />;
}

function Going({ agent, startedAt }: { agent: AgentInfo; startedAt: number }) {
  const now = useNow(1000);
  return (
    <div className="install-going small dim">
      <progress aria-label={`Installing ${agent.name}`} />
      Installing, {duration(Math.max(0, Math.floor((now - startedAt) / 1000)) * 1000)}
    </div>
  );
}
