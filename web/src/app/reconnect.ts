/** When the daemon is back: what could not be asked is asked again, and what said so is past. */

import { useRef } from "react";
import { Store, useStore } from "../state/store";
import { dismissUnreachable, UNREACHABLE } from "../ui/notices";
import { sessions } from "./api";

const WAS_UNREACHABLE = "The daemon could not be reached; it is back now.";

/** How often the daemon came back. */
export const reconnects = new Store(0);

let isLost = false;

sessions.connection.watch(() => {
  const connection = sessions.connection.get();
  const isBack = isLost && connection === "open";
  if (connection !== "connecting") isLost = connection === "waiting";
  if (!isBack) return;
  dismissUnreachable();
  reconnects.update((before) => before + 1);
});

/** Goes up whenever the daemon is back, for whoever then asks again. */
export const useReconnects = (): number => useStore(reconnects);

/** A problem, as it is to be told now: of a daemon that is back nobody says that it is away. */
export function useProblem<T extends string | null>(problem: T): T {
  const count = useReconnects();
  const first = useRef({ problem, count });
  if (first.current.problem !== problem) first.current = { problem, count };
  if (first.current.count === count) return problem;
  return (problem?.replace(UNREACHABLE, WAS_UNREACHABLE) ?? null) as T;
}
