import type { AgentInfo, ServerStatus } from "dragoman-client";
import type { ReactNode } from "react";
import { Plain } from "../parts/Plain";
import { AgentChips } from "../sessions/AgentChips";
import { isOwn } from "../sessions/agents";
import { InstallButton, InstallProgress } from "../sessions/InstallButton";
import { Copy } from "../ui/Copy";
import { duration } from "../ui/words";
import { RemoveAgentButton } from "./RemoveAgent";

/** One agent, as this machine has it. */
export function AgentCard({ agent }: { agent: AgentInfo }) {
  const isInstallable = agent.id !== "mock" && !isOwn(agent);
  return (
    <section className="card agent-card" aria-label={agent.name}>
      <div className="row wrap">
        <h2>{agent.name}</h2>
        <code className="dim grow agent-id">{agent.id}</code>
        {isInstallable && <InstallButton agent={agent} />}
        {agent.source === "api" && <RemoveAgentButton agent={agent} />}
      </div>
      <AgentChips agent={agent} />
      <InstallProgress agent={agent} />
      {agent.problem && (
        <p className="bad-text">
          <Plain text={agent.problem} />
        </p>
      )}
      <dl className="facts">
        <Fact name="Source">{SOURCES[agent.source ?? "built-in"]}</Fact>
        {agent.id !== "mock" && <Fact name="Verified">{agent.verified ?? "not verified"}</Fact>}
        <Fact name="Credentials">{credentials(agent)}</Fact>
        {agent.env && agent.env.length > 0 && <Fact name="Variables">{agent.env.join(", ")}</Fact>}
        {(agent.fs || agent.terminal) && <Fact name="Offered">{offered(agent)}</Fact>}
        {agent.serverStatus && (
          <Fact name="Shared process">
            <Shared status={agent.serverStatus} />
          </Fact>
        )}
      </dl>
      {agent.path && (
        <p className="agent-path">
          <code title={agent.path}>
            <Plain text={agent.path} />
          </code>
          <Copy text={agent.path} label="Copy path" />
        </p>
      )}
    </section>
  );
}

/** A name and what it is, in a list of facts. */
export function Fact(props: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}

const SOURCES = {
  "built-in": "built in",
  package: "a Python package",
  catalogue: "the catalogue",
  settings: "the settings file",
  api: "added over HTTP",
} as const;

function offered({ fs, terminal }: AgentInfo): string {
  return [fs && "files", terminal && "commands"].filter(Boolean).join(" and ");
}

function credentials(agent: AgentInfo): string {
  if (agent.id === "mock") return "needs none";
  if (agent.adapter === "acp" && agent.credentialsAvailable) return "found, or its own sign-in";
  return agent.credentialsAvailable ? "found" : "none found";
}

const MOODS = { running: "good", stopped: "", error: "bad" } as const;

function Shared({ status }: { status: ServerStatus }) {
  const more = [
    status.uptimeMs ? `for ${duration(status.uptimeMs)}` : "",
    status.baseUrl ?? "",
    status.restartCount > 0 ? `${status.restartCount} restarts` : "",
    status.unrouted > 0 ? `${status.unrouted} messages for no session` : "",
  ].filter(Boolean);
  return (
    <>
      <span className={`chip ${MOODS[status.status]}`}>{status.status}</span> {more.join(", ")}
      {status.lastError && (
        <span className="bad-text small">
          {" "}
          <Plain text={status.lastError} />
        </span>
      )}
    </>
  );
}
