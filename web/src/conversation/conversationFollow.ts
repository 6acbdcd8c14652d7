/** Whether the conversation follows its end. A person who goes up wants to stay where they go. */

import { type RefObject, useCallback, useEffect, useState } from "react";

/** So near to the end counts as at the end, in pixels. */
export const NEAR_END = 60;
/** One who was held without moving down, as when something folds, is there only when so near. */
const AT_END = 2;
/** A scroll that so shortly follows a move upwards does not mean that one came back. */
const MOVING_MS = 200;

export interface Following {
  /** One sees the end, and wants to. */
  isAtEnd: boolean;
  /** One went up, be it by little. */
  isHeld: boolean;
  follow: () => void;
}

export function useFollowing(scroller: RefObject<HTMLDivElement | null>, count: number): Following {
  const [isNear, setNear] = useState(true);
  const [isHeld, setHeld] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: with the lines the height changes.
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    let wentUpAt: number | null = null;
    const look = () => {
      const left = element.scrollHeight - element.scrollTop - element.clientHeight;
      setNear(left <= NEAR_END);
      const isBack =
        wentUpAt === null
          ? left <= NEAR_END
          : left <= AT_END && performance.now() - wentUpAt > MOVING_MS;
      if (isBack) setHeld(false);
    };
    const stop = watchMoves(element, (isUp) => {
      wentUpAt = isUp ? performance.now() : null;
      if (isUp && element.scrollTop > 0) setHeld(true);
    });
    look();
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      stop();
      element.removeEventListener("scroll", look);
    };
  }, [scroller, count === 0]);
  const follow = useCallback(() => setHeld(false), []);
  return { isAtEnd: isNear && !isHeld, isHeld, follow };
}

const UP = ["ArrowUp", "PageUp", "Home"];
const DOWN = ["ArrowDown", "PageDown", "End"];

/** Tell of every move that a person makes, by wheel, finger or key. Gives the way to stop. */
export function watchMoves(element: HTMLElement, moved: (isUp: boolean) => void): () => void {
  const end = new AbortController();
  const options = { passive: true, signal: end.signal };
  let finger = 0;
  element.addEventListener(
    "wheel",
    ({ deltaY, target, ctrlKey }) => {
      if (deltaY !== 0 && !ctrlKey && !isInner(target, element)) moved(deltaY < 0);
    },
    options,
  );
  element.addEventListener(
    "touchstart",
    ({ touches }) => {
      finger = touches[0]?.clientY ?? 0;
    },
    options,
  );
  element.addEventListener(
    "touchmove",
    ({ touches, target }) => {
      const now = touches[0]?.clientY ?? finger;
      if (now !== finger && !isInner(target, element)) moved(now > finger);
      finger = now;
    },
    options,
  );
  element.addEventListener(
    "keydown",
    ({ key, shiftKey, target }) => {
      if (target instanceof Element && target.matches("input, textarea, select")) return;
      if (UP.includes(key) || (key === " " && shiftKey && target === element)) moved(true);
      else if (DOWN.includes(key)) moved(false);
    },
    options,
  );
  return () => end.abort();
}

/** Whether the move goes to something within that scrolls by itself. */
function isInner(target: EventTarget | null, outer: HTMLElement): boolean {
  for (let each = target; each instanceof Element && each !== outer; each = each.parentElement) {
    if (each.scrollTop > 0) return true;
  }
  return false;
}
