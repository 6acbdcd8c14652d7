/** What parts know of where they are: the session, and what was folded or opened in it. */

import { createContext, type ReactNode, useContext, useMemo, useState } from "react";

interface Place {
  sessionId: string;
  /** What a person opened or folded stays so, also while it is scrolled out of sight. */
  folds: Map<string, boolean>;
}

const Here = createContext<Place>({ sessionId: "", folds: new Map() });

export function InSession(props: { sessionId: string; children: ReactNode }) {
  const { sessionId } = props;
  const place = useMemo(() => ({ sessionId, folds: new Map<string, boolean>() }), [sessionId]);
  return <Here value={place}>{props.children}</Here>;
}

export const useSessionId = (): string => useContext(Here).sessionId;

/** Whether something is open, and how to change that. Until somebody does, it is as `initial` says. */
export function useFold(id: string, initial = false): [boolean, (open: boolean) => void] {
  const { folds } = useContext(Here);
  const [, redraw] = useState(0);
  const set = (open: boolean) => {
    folds.set(id, open);
    redraw((before) => before + 1);
  };
  return [folds.get(id) ?? initial, set];
}
