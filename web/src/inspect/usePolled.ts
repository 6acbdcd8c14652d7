import { useCallback, useState } from "react";
import { reason } from "../ui/notices";
import { useEvery } from "./useEvery";

export interface Polled<T> {
  /** null: not known yet. */
  value: T | null;
  problem: string;
}

/** What a call answers, anew every so often; the last answer stays while it fails. */
export function usePolled<T>(ms: number, call: () => Promise<T>): Polled<T> {
  const [polled, setPolled] = useState<Polled<T>>({ value: null, problem: "" });
  const act = useCallback(async () => {
    try {
      const value = await call();
      setPolled({ value, problem: "" });
    } catch (error) {
      setPolled((before) => ({ ...before, problem: reason(error) }));
    }
  }, [call]);
  useEvery(ms, act);
  return polled;
}
