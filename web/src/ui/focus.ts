/** Where the focus goes when what has it goes away: never nowhere, for keys would be lost there. */

import { type RefObject, useLayoutEffect } from "react";

const REACHABLE = "a[href], button:not(:disabled), input:not(:disabled), textarea, select";

export const isLost = () =>
  document.activeElement === null || document.activeElement === document.body;

/** To the content of the page. */
export const focusMain = () => document.getElementById("main")?.focus({ preventScroll: true });

/** To the content of the page, if what had the focus is gone after what happens now. */
export function rescueFocus(): void {
  queueMicrotask(() => isLost() && focusMain());
}

/** To what is beside an element of a list that goes away. Says whether there is something. */
export function focusBeside(element: Element | null): boolean {
  for (const side of ["nextElementSibling", "previousElementSibling"] as const) {
    for (let each = element?.[side] ?? null; each !== null; each = each[side]) {
      const found = each.matches(REACHABLE) ? each : each.querySelector(REACHABLE);
      if (!(found instanceof HTMLElement)) continue;
      found.focus();
      return true;
    }
  }
  return false;
}

/** Tell, when an element goes away, whether it had the focus. */
export function useLeaving(
  element: RefObject<HTMLElement | null>,
  onLeave: (hadFocus: boolean) => void,
): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when it goes.
  useLayoutEffect(() => {
    const leaving = element.current;
    return () => onLeave(leaving?.contains(document.activeElement) ?? false);
  }, []);
}
