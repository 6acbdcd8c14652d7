/** The agents of the daemon's machine, and which of them are being installed. */

import type { AgentInfo } from "dragoman-client";
import { useEffect } from "react";
import { client, sessions } from "../app/api";
import { reconnects } from "../app/reconnect";
import { Store, useStore } from "../state/store";
import { reason, say } from "../ui/notices";

export interface AgentsState {
  /** null: not known yet. */
  list: readonly AgentInfo[] | null;
  problem: string;
}

export interface Install {
  startedAt: number;
  /** Why it failed; null while it goes on. */
  problem: string | null;
}

const state = new Store<AgentsState>({ list: null, problem: "" });
const installs = new Store<ReadonlyMap<string, Install>>(new Map());

reconnects.watch(() => state.update((before) => ({ ...before, problem: "" })));

export async function loadAgents(): Promise<void> {
  try {
    const { agents } = await client.listAgents();
    state.set({ list: agents, problem: "" });
  } catch (error) {
    state.update((before) => ({ ...before, problem: reason(error) }));
  }
}

/** All agents; asked for again whenever something that shows them appears. */
export function useAgents(): AgentsState {
  const isInside = useStore(sessions.connection) === "open";
  useEffect(() => {
    if (isInside) void loadAgents();
  }, [isInside]);
  return useStore(state);
}

/** Whether an agent is one to choose: the catalogue has many that nobody has installed. */
export function isNear({ source, installed }: AgentInfo): boolean {
  return source !== "catalogue" || installed;
}

/** It is started by a command of somebody's own, so there is nothing to install. */
export function isOwn({ source }: AgentInfo): boolean {
  return source === "api" || source === "settings";
}

export function useInstall(agent: string): Install | null {
  return useStore(installs).get(agent) ?? null;
}

/** Install an agent. It may take a minute, and goes on when one looks at something else. */
export async function install(agent: AgentInfo, reinstall: boolean): Promise<void> {
  const startedAt = Date.now();
  note(agent.id, { startedAt, problem: null });
  try {
    await client.installAgent(agent.id, { reinstall });
    note(agent.id, null);
    say(`${agent.name} is installed.`);
  } catch (error) {
    note(agent.id, { startedAt, problem: reason(error) });
  }
  await loadAgents();
}

function note(agent: string, install: Install | null): void {
  installs.update((before) => {
    const rest = [...before].filter(([id]) => id !== agent);
    return new Map(install ? [...rest, [agent, install] as const] : rest);
  });
}
