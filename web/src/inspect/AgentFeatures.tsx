import type { AgentInfo } from "dragoman-client";
import { featuresOf, verdict } from "./features";

/** What each agent can, and whether one sees it here. */
export function AgentFeatures({ agents }: { agents: readonly AgentInfo[] }) {
  const features = featuresOf(agents.map(({ capabilities }) => capabilities.features));
  return (
    <section className="agents-part" aria-labelledby="agents-can">
      <h2 id="agents-can">What they can</h2>
      <div className="card">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it may scroll, also by keys. */}
        <section className="features-scroll" aria-label="Table of features" tabIndex={0}>
          <table className="features">
            <thead>
              <tr>
                <th scope="col">Feature</th>
                {agents.map(({ id, name }) => (
                  <th key={id} scope="col">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {features.map((feature) => (
                <tr key={feature.id}>
                  <th scope="row">{feature.name}</th>
                  {agents.map(({ id, capabilities }) => {
                    const { word, mood } = verdict(capabilities.features[feature.id]);
                    return (
                      <td key={id} data-mood={mood}>
                        {word}
                      </td>
                    );
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      </div>
      <p className="dim small">
        <strong>yes</strong>: the agent has it, and the stream shows it. <strong>not shown</strong>:
        the agent has it, the stream does not show it yet. <strong>by Dragoman</strong>: the agent
        lacks it, the daemon adds it.
      </p>
    </section>
  );
}
