import { useCallback, useState } from "react";
import { reconnects, useReconnects } from "../app/reconnect";
import { reason } from "../ui/notices";
import { useEvery } from "./useEvery";

export interface Polled<T> {
  /** null: not known yet. */
  value: T | null;
  problem: string;
}

/** What a call answers, anew every so often; the last answer stays while it fails. */
export function usePolled<T>(ms: number, call: () => Promise<T>): Polled<T> {
  const [polled, setPolled] = useState({ value: null as T | null, problem: "", at: 0 });
  const act = useCallback(async () => {
    const at = reconnects.get();
    try {
      const value = await call();
      setPolled({ value, problem: "", at });
    } catch (error) {
      setPolled((before) => ({ ...before, problem: reason(error), at }));
    }
  }, [call]);
  const count = useReconnects();
  useEvery(ms, act, count);
  const { value, problem, at } = polled;
  // What failed before the daemon came back says nothing about now.
  return { value, problem: at === count ? problem : "" };
}
