import { useRef, useState } from "react";
import { sessions } from "../app/api";
import { useCaller } from "../app/rights";
import { refusalOf } from "./asks";

export interface Answering {
  /** What was answered, from the click until the event that says so. */
  given: string | null;
  /** It has arrived, and counts. */
  counts: boolean;
  /** Why it did not count. */
  problem: string | null;
  answer: (what: string, send: () => Promise<void>) => void;
}

/** Sends one answer at a time. */
export function useAnswer(sessionId: string): Answering {
  const caller = useCaller();
  const [given, setGiven] = useState<string | null>(null);
  const [counts, setCounts] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  // A key may be pressed twice before the first press is drawn.
  const busy = useRef(false);
  const answer = async (what: string, send: () => Promise<void>) => {
    if (busy.current) return;
    busy.current = true;
    setGiven(what);
    setProblem(null);
    try {
      await send();
      setCounts(true);
    } catch (error) {
      busy.current = false;
      setGiven(null);
      setProblem(refusalOf(error, caller));
    } finally {
      sessions.touch(sessionId);
    }
  };
  return { given, counts, problem, answer: (what, send) => void answer(what, send) };
}
