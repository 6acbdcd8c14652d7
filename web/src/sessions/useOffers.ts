import type { ModeInfo, ModelInfo } from "dragoman-client";
import { useCallback, useEffect, useState } from "react";
import { client } from "../app/api";
import { useReconnects } from "../app/reconnect";
import { reason } from "../ui/notices";

/** What an agent offers to choose from. */
export interface Offers {
  models: readonly ModelInfo[];
  defaultModel: string | null;
  modes: readonly ModeInfo[];
}

const NOTHING: Offers = { models: [], defaultModel: null, modes: [] };

/** An agent's models and modes, as the agent itself tells them; that may take seconds. */
export function useOffers(agent: string) {
  const [offers, setOffers] = useState(NOTHING);
  const [loading, setLoading] = useState(true);
  const [problem, setProblem] = useState("");
  // Asked with a token of its own each time, so that a late answer is not taken for a new one.
  const [asked, setAsked] = useState({ refresh: false });
  const reconnects = useReconnects();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a daemon that is back is asked again.
  useEffect(() => {
    if (agent === "") return;
    let current = true;
    setLoading(true);
    setProblem("");
    ask(agent, asked.refresh)
      .then((found) => current && setOffers(found))
      .catch((error: unknown) => current && setProblem(reason(error)))
      .finally(() => current && setLoading(false));
    return () => {
      current = false;
    };
  }, [agent, asked, reconnects]);
  const refresh = useCallback(() => setAsked({ refresh: true }), []);
  return { offers, loading, problem, refresh };
}

async function ask(agent: string, refresh: boolean): Promise<Offers> {
  const [{ models, defaultModel }, { modes }] = await Promise.all([
    client.getAgentModels(agent, { refresh }),
    client.getAgentModes(agent),
  ]);
  return { models, defaultModel: defaultModel ?? null, modes };
}
