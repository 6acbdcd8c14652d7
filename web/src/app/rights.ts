/** Which daemon this is, and what one may do there: what is not allowed is not offered. */

import type { DaemonStatus } from "dragoman-client";
import { Store, useStore } from "../state/store";
import { client, sessions } from "./api";

export type Scope = DaemonStatus["caller"]["scopes"][number];

const RETRY_MS = 2_000;

/** As it was when the page connected; null as long as the daemon has not said. */
export const daemon = new Store<DaemonStatus | null>(null);

let connections = 0;

sessions.connection.watch(async () => {
  if (sessions.connection.get() !== "open") return;
  const connection = ++connections;
  const isCurrent = () => connection === connections && sessions.connection.get() === "open";
  while (isCurrent()) {
    const status = await client.status().catch(() => null);
    if (!isCurrent()) return;
    daemon.set(status);
    if (status !== null) return;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
});

/** Whether one may do what needs this scope; nothing is offered before the daemon has said. */
export function useMay(scope: Scope): boolean {
  return useStore(daemon)?.caller.scopes.includes(scope) ?? false;
}

/** The name of one's own token; null as long as the daemon has not said. */
export function useCaller(): string | null {
  return useStore(daemon)?.caller.token ?? null;
}

/** What to show in place of what one may not do, or null where one may. */
export function useRefusal(scope: Scope, refusal: string): string | null {
  const isKnown = useStore(daemon) !== null;
  const may = useMay(scope);
  if (may) return null;
  return isKnown ? refusal : "Asking the daemon what you may do here…";
}
