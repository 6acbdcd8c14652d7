/** What the agents can do; asked for once. */

import type { AgentCapabilities } from "dragoman-client";
import { useEffect } from "react";
import { client } from "../app/api";
import { Store, useStore } from "../state/store";

const known = new Store<ReadonlyMap<string, AgentCapabilities>>(new Map());
let asking = false;

/** null while it is not known. */
export function useCapabilities(agent: string): AgentCapabilities | null {
  const capabilities = useStore(known).get(agent) ?? null;
  useEffect(() => {
    if (capabilities === null) void ask();
  }, [capabilities]);
  return capabilities;
}

async function ask(): Promise<void> {
  if (asking) return;
  asking = true;
  try {
    const { agents } = await client.listAgents();
    known.set(new Map(agents.map(({ id, capabilities }) => [id, capabilities])));
  } catch {
    // Whoever needs it next asks again.
  } finally {
    asking = false;
  }
}
