import type { AgentInfo } from "dragoman-client";
import { href } from "../app/route";
import { isNear, useAgents } from "./agents";
import { MockButton } from "./MockButton";

/** What one sees before there is any session. */
export function Welcome() {
  const { list } = useAgents();
  return (
    <div className="home-welcome">
      <img src="./icon.svg" alt="" width="64" height="64" />
      <h1>Welcome to Dragoman</h1>
      <p className="home-lead">
        Coding agents speak many languages. Dragoman runs them on this machine and turns what they
        say into one stream of events: you talk to any of them here, see everything they do, and
        answer what they ask.
      </p>
      <div className="row wrap home-actions">
        <MockButton />
        <a className="button" href={href({ at: "new" })}>
          Choose an agent
        </a>
      </div>
      <p className="dim small">
        The mock agent is built in, needs no key, and pretends to do everything an agent may do. Try{" "}
        <code>demo</code>, <code>permission</code> or <code>question</code>.
      </p>
      <section className="card home-real" aria-labelledby="home-real">
        <h2 id="home-real">Real agents</h2>
        <ul>
          {list
            ?.filter((agent) => agent.id !== "mock" && isNear(agent))
            .map((agent) => (
              <Real key={agent.id} agent={agent} />
            ))}
        </ul>
        <p className="dim small">
          An agent uses its own sign-in, or a key in the daemon's environment. One that is not
          installed can be installed on the <a href={href({ at: "agents" })}>agents page</a>, or
          with its first session. More are in the catalogue there, and any other that speaks ACP can
          be added.
        </p>
      </section>
    </div>
  );
}

function Real({ agent }: { agent: AgentInfo }) {
  return (
    <li className="row wrap">
      <strong className="grow">{agent.name}</strong>
      {agent.installed ? (
        <span className="chip good">
          {agent.version ? `installed, ${agent.version}` : "installed"}
        </span>
      ) : (
        <span className="chip">not installed</span>
      )}
      {agent.installed && !agent.credentialsAvailable && (
        <span className="chip wait">no credentials found</span>
      )}
    </li>
  );
}
