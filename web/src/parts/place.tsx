/** What parts know of where they are: the session, and what was folded or opened in it. */

import { createContext, type ReactNode, useContext, useMemo, useState } from "react";

interface Place {
  sessionId: string;
  /** What a person opened or folded stays so, also while it is scrolled out of sight. */
  folds: Map<string, boolean>;
  /** How much of something long was asked for, likewise. */
  amounts: Map<string, number>;
}

const Here = createContext<Place>({ sessionId: "", folds: new Map(), amounts: new Map() });

export function InSession(props: { sessionId: string; children: ReactNode }) {
  const { sessionId } = props;
  const place = useMemo<Place>(
    () => ({ sessionId, folds: new Map(), amounts: new Map() }),
    [sessionId],
  );
  return <Here value={place}>{props.children}</Here>;
}

export const useSessionId = (): string => useContext(Here).sessionId;

/** Whether something is open, and how to change that. Until somebody does, it is as `initial` says. */
export function useFold(id: string, initial = false): [boolean, (open: boolean) => void] {
  return useKept(useContext(Here).folds, id, initial);
}

/** How much of something is shown, and how to change that. */
export function useAmount(id: string, initial: number): [number, (amount: number) => void] {
  return useKept(useContext(Here).amounts, id, initial);
}

function useKept<T>(kept: Map<string, T>, id: string, initial: T): [T, (value: T) => void] {
  const [, redraw] = useState(0);
  const set = (value: T) => {
    kept.set(id, value);
    redraw((before) => before + 1);
  };
  return [kept.get(id) ?? initial, set];
}
