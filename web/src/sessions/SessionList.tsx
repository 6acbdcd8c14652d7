import { defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { sessions } from "../app/api";
import { useStore } from "../state/store";
import { reason } from "../ui/notices";
import { EmptyList } from "./EmptyList";
import { useNow } from "./now";
import { SessionRow } from "./SessionRow";
import type { Step } from "./steps";
import { useRowMenu } from "./useRowMenu";
import { useWalk } from "./useWalk";
import "./SessionList.css";

const ROW_REM = 4.125;
/** More are asked for when so few are left below. */
const AHEAD = 15;

/** The sessions that fit, however many there are: only those in sight are drawn. */
export function SessionList() {
  const { query, sessions: rows, more, loading, error } = useStore(sessions.listing);
  const waiting = useStore(sessions.waiting);
  const now = useNow(20_000);
  const [scroller, setScroller] = useState<HTMLDivElement | null>(null);
  const walk = useWalk(rows, scroller);
  const menu = useRowMenu();
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller,
    estimateSize: rowHeight,
    overscan: 6,
    getItemKey: (at) => rows[at]?.sessionId ?? at,
    // The row that holds the focus stays drawn wherever one scrolls to.
    rangeExtractor: (range) => withRow(defaultRangeExtractor(range), walk.at),
  });
  const { scrollToIndex } = virtual;
  useEffect(() => {
    if (walk.moved > 0 && walk.at >= 0) scrollToIndex(walk.at, { align: "auto" });
  }, [walk.moved, walk.at, scrollToIndex]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another query is another list.
  useEffect(() => void scroller?.scrollTo({ top: 0 }), [query, scroller]);
  const drawn = virtual.getVirtualItems();
  useMore((drawn.at(-1)?.index ?? 0) + AHEAD >= rows.length, more);
  return (
    <div className="session-list scroll" ref={setScroller} aria-busy={loading}>
      {error && <p className="session-list-note bad-text">{reason(error)}</p>}
      {rows.length === 0 && !loading && !error && <EmptyList />}
      <ul
        className="session-rows"
        aria-label="Sessions"
        style={{ height: virtual.getTotalSize() }}
        onKeyDown={(event) => onArrows(event, walk.go)}
      >
        {drawn.map(({ index, key, start }) => {
          const session = rows[index];
          if (!session) return null;
          return (
            <SessionRow
              key={key}
              session={session}
              now={now}
              top={start}
              place={{ index, of: rows.length }}
              isWaiting={waiting.has(session.sessionId)}
              isReachable={index === walk.at}
              onFocus={walk.enter}
              onMenu={menu.open}
            />
          );
        })}
      </ul>
      {menu.element}
    </div>
  );
}

function useMore(isNearEnd: boolean, more: string | null): void {
  const wanted = useRef<string | null>(null);
  useEffect(() => {
    if (!isNearEnd || more === null || wanted.current === more) return;
    wanted.current = more;
    void sessions.loadMore().finally(() => {
      wanted.current = null;
    });
  }, [isNearEnd, more]);
}

function withRow(rows: number[], row: number): number[] {
  if (row < 0 || rows.includes(row)) return rows;
  return [...rows, row].sort((one, other) => one - other);
}

function rowHeight(): number {
  return ROW_REM * Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
}

function onArrows(event: KeyboardEvent, go: (step: Step) => void) {
  const to = ({ ArrowDown: "next", ArrowUp: "previous", Home: "first", End: "last" } as const)[
    event.key
  ];
  if (to === undefined) return;
  event.preventDefault();
  go(to);
}
