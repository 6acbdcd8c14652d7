import { useEffect } from "react";

/**
 * Do something again and again, while the page is seen, and at once when it is seen again, or when
 * the occasion is another one.
 */
export function useEvery(ms: number, act: () => Promise<void>, occasion = 0): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: with another occasion, at once.
  useEffect(() => {
    let isGoing = false;
    const turn = async () => {
      // One at a time, however slow the daemon is.
      if (isGoing || document.visibilityState === "hidden") return;
      isGoing = true;
      await act();
      isGoing = false;
    };
    void turn();
    const timer = setInterval(() => void turn(), ms);
    const onSight = () => void turn();
    document.addEventListener("visibilitychange", onSight);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", onSight);
    };
  }, [ms, act, occasion]);
}
