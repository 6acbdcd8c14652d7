import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useShortcuts } from "../app/keys";
import { useNow } from "../sessions/now";
import type { View } from "../state/fold";
import { useStore } from "../state/store";
import type { Transcript, Window } from "../state/transcript";
import { duration } from "../ui/words";
import { NEAR_END, useFollowing } from "./conversationFollow";
import {
  measuredBefore,
  tell,
  useAway,
  useEdges,
  useMark,
  useSpot,
  useStart,
} from "./conversationScroll";
import { Entry } from "./Entry";
import { isShown } from "./entryFacts";
import { useRecent } from "./entryRecent";
import "./Conversation.css";

const GUESS = { item: 72, tool: 60, permission: 180, question: 240, note: 48, turn: 40 } as const;

/** The lines of a session. Sticks to the end until one scrolls up. */
export function Conversation(props: { transcript: Transcript; sequence: number | null }) {
  const { transcript, sequence } = props;
  const window = useStore(transcript.window);
  const { view } = window;
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useMemo(() => view.order.filter((key) => isShown(view.entries.get(key))), [view]);
  const { isAtEnd, isHeld, follow } = useFollowing(scroller, rows.length);
  const [measured] = useState(() => measuredBefore(transcript));
  const list = useVirtualizer<HTMLDivElement, HTMLDivElement>({
    count: rows.length,
    getScrollElement: () => scroller.current,
    getItemKey: useCallback((index: number) => rows[index] ?? index, [rows]),
    estimateSize: (index) => GUESS[view.entries.get(rows[index] ?? "")?.kind ?? "item"],
    overscan: 8,
    paddingStart: 16,
    paddingEnd: 40,
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: isHeld ? -1 : NEAR_END,
    initialMeasurementsCache: measured,
  });
  useEffect(() => {
    if (isHeld) list.cancelScroll();
  }, [list, isHeld]);
  const { key: marked, isThere, leave } = useMark(transcript, list, rows, sequence);
  useStart(transcript, list, rows, window, sequence);
  useSpot(transcript, list, scroller, isAtEnd && window.atEnd);
  useEdges(transcript, list, rows.length, window, isThere);
  const away = useAway(rows, isAtEnd && window.atEnd);
  const recent = useRecent(view, isAtEnd && window.atEnd);
  const toEnd = useCallback(async () => {
    leave();
    await transcript.toEnd().catch(tell);
    follow();
    requestAnimationFrame(() => list.scrollToEnd());
  }, [transcript, list, follow, leave]);
  useEffect(() => transcript.wantsEnd.watch(() => void toEnd()), [transcript, toEnd]);
  useShortcuts(
    useMemo(() => [{ key: "e", does: "To the end of the conversation", act: toEnd }], [toEnd]),
  );
  return (
    <div className="conversation">
      <div
        ref={scroller}
        className="conversation-scroll"
        role="log"
        aria-label="Conversation"
        aria-live="off"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys.
        tabIndex={0}
        onKeyDown={(event) => {
          // The browser would go to where the end is now, and what grows is longer by then.
          if (event.key !== "End" || event.target !== event.currentTarget) return;
          event.preventDefault();
          void toEnd();
        }}
      >
        <Edge window={window} empty={rows.length === 0} />
        <div className="conversation-lines" style={{ height: list.getTotalSize() }}>
          {list.getVirtualItems().map(({ key, index, start }) => {
            const entry = view.entries.get(rows[index] ?? "");
            if (!entry) return null;
            return (
              <div
                key={key}
                ref={list.measureElement}
                data-index={index}
                className="conversation-line"
                style={{ transform: `translateY(${start}px)` }}
              >
                <Entry entry={entry} view={view} marked={marked} recent={recent} />
              </div>
            );
          })}
          {window.atEnd && <Working view={view} isLost={window.connection === "waiting"} />}
        </div>
      </div>
      {(!isAtEnd || !window.atEnd) && rows.length > 0 && (
        <button type="button" className="button conversation-jump" onClick={toEnd}>
          Jump to the end{away > 0 && ` · ${away} new`}
        </button>
      )}
    </div>
  );
}

/** What is above the first line: nothing, or more that is not here yet. */
function Edge({ window, empty }: { window: Window; empty: boolean }) {
  const { loading, first, error } = window;
  if (loading === "first" && empty) return <p className="conversation-edge">Opening…</p>;
  if (loading === "earlier")
    return <p className="conversation-edge over">Loading earlier lines…</p>;
  if (empty && first <= 1 && !error)
    return <p className="conversation-edge">Nothing was said yet.</p>;
  return null;
}

/** Says that a turn is running, and for how long; of what cannot be heard nobody knows. */
function Working({ view, isLost }: { view: View; isLost: boolean }) {
  const { turnId, turnStartedAt, permissions, questions } = view.state;
  if (turnId === null || turnStartedAt === null) return null;
  const waits = Object.keys(permissions).length + Object.keys(questions).length > 0;
  return (
    <p className="conversation-working" data-waits={waits || isLost} data-lost={isLost}>
      <span className="conversation-dots" aria-hidden="true" />
      {waits ? "Waiting for you" : <Elapsed since={turnStartedAt} isLost={isLost} />}
    </p>
  );
}

function Elapsed({ since, isLost }: { since: string; isLost: boolean }) {
  const now = useNow(1_000);
  const heard = useRef(now);
  if (!isLost) heard.current = now;
  const passed = heard.current - Date.parse(since);
  const time = passed >= 2_000 ? ` · ${duration(Math.floor(passed / 1000) * 1000)}` : "";
  return `${isLost ? "Connection lost" : "Working"}${time}`;
}
