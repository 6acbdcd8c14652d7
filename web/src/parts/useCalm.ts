import { useEffect, useReducer, useRef } from "react";

const CALM_MS = 150;

/** A text that changes all the time, at most every so often; as it is where there is no need. */
export function useCalm(text: string, isCalm: boolean): string {
  const drawn = useRef({ text, at: 0 });
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  if (!isCalm) drawn.current = { text, at: performance.now() };
  useEffect(() => {
    if (!isCalm || drawn.current.text === text) return;
    const wait = drawn.current.at + CALM_MS - performance.now();
    const timer = setTimeout(
      () => {
        drawn.current = { text, at: performance.now() };
        redraw();
      },
      Math.max(0, wait),
    );
    return () => clearTimeout(timer);
  }, [text, isCalm]);
  return drawn.current.text;
}
