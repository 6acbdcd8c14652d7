/** Which daemon this is, and what one may do there: what is not allowed is not offered. */

import type { DaemonStatus } from "dragoman-client";
import { Store, useStore } from "../state/store";
import { client, sessions } from "./api";

export type Scope = DaemonStatus["caller"]["scopes"][number];

/** As it was when the page connected; null before. */
export const daemon = new Store<DaemonStatus | null>(null);

sessions.connection.watch(async () => {
  if (sessions.connection.get() !== "open") return;
  // Without an answer everything is offered, and the daemon says what is refused.
  daemon.set(await client.status().catch(() => null));
});

/** Whether one may do what needs this scope; so it seems until the daemon has said. */
export function useMay(scope: Scope): boolean {
  return useStore(daemon)?.caller.scopes.includes(scope) ?? true;
}
