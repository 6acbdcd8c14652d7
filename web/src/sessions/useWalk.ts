import type { SessionInfo } from "dragoman-client";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { type Shortcut, useShortcuts } from "../app/keys";
import { route } from "../app/route";
import { useStore } from "../state/store";
import { type Step, stepTo } from "./steps";

/**
 * Walking through the rows by keys. One row at a time can be reached with Tab: the one that was
 * walked to last, else the session that is open, else the first.
 */
export function useWalk(rows: readonly SessionInfo[], list: HTMLElement | null) {
  const here = useStore(route);
  const openId = here.at === "session" ? here.id : null;
  const [walkedTo, setWalkedTo] = useState<string | null>(null);
  const [moved, setMoved] = useState(0);
  // What was walked to counts until another session is opened.
  useEffect(() => {
    if (openId !== null) setWalkedTo(openId);
  }, [openId]);
  const place = useMemo(
    () => rows.findIndex(({ sessionId }) => sessionId === walkedTo),
    [rows, walkedTo],
  );
  const last = useRef({ rows, place });
  useEffect(() => {
    last.current = { rows, place };
  });
  const go = useCallback((step: Step) => {
    const { rows, place } = last.current;
    const row = rows[stepTo(step, place, rows.length)];
    if (!row) return;
    setWalkedTo(row.sessionId);
    setMoved((before) => before + 1);
  }, []);
  useEffect(() => {
    if (moved === 0) return;
    const row = list?.querySelector<HTMLElement>('a[tabindex="0"]');
    row?.focus({ preventScroll: true });
  }, [moved, list]);
  const keys = useMemo<readonly Shortcut[]>(
    () => [
      {
        key: "j",
        does: "Next and previous session in the list",
        act: () => go("next"),
        shown: ["j", "k"],
      },
      { key: "k", does: "Previous session", act: () => go("previous"), unlisted: true },
    ],
    [go],
  );
  useShortcuts(keys);
  return { at: Math.max(place, rows.length > 0 ? 0 : -1), moved, go, enter: setWalkedTo };
}
