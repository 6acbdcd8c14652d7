/** Where one is in a conversation, and what follows from that. */

import type { VirtualItem, Virtualizer } from "@tanstack/react-virtual";
import {
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { useStore } from "../state/store";
import type { Transcript, Window } from "../state/transcript";
import { complain } from "../ui/notices";
import { holderOf, rowOf } from "./conversationFind";
import { watchMoves } from "./conversationFollow";

/** So many lines before an edge more are asked for, */
const NEAR_EDGE = 12;
/** where that is no more than so many screens away: one line may fill them. */
const NEAR_SCREENS = 2;
/** So long a line that was asked for is held in its place; then the list holds what one sees. */
const HOLD_MS = 2_000;

/** Tell of what failed, but not of what was stopped because one went elsewhere. */
export function tell(error: unknown): void {
  if (!(error instanceof DOMException && error.name === "AbortError")) complain(error);
}

type List = Virtualizer<HTMLDivElement, HTMLDivElement>;

/** Where one was: a line, how much of it was above, and how high the lines were. */
interface Spot {
  key: string;
  offset: number;
  measured: VirtualItem[];
}

/** A transcript is open as long as the page of its session, whichever tab is shown. */
const spots = new WeakMap<Transcript, Spot>();

/** How high the lines were when they were last seen. */
export const measuredBefore = (transcript: Transcript): VirtualItem[] =>
  spots.get(transcript)?.measured ?? [];

/** Remember where one is when one leaves, unless that is the end. */
export function useSpot(
  transcript: Transcript,
  list: List,
  scroller: RefObject<HTMLDivElement | null>,
  isFollowing: boolean,
): void {
  const following = useRef(isFollowing);
  following.current = isFollowing;
  useLayoutEffect(() => {
    const element = scroller.current;
    return () => {
      const top = element?.scrollTop ?? 0;
      const line = list.getVirtualItemForOffset(top);
      if (following.current || !line) spots.delete(transcript);
      else {
        const measured = list.takeSnapshot();
        spots.set(transcript, { key: String(line.key), offset: top - line.start, measured });
      }
    };
  }, [transcript, list, scroller]);
}

/** Begin where one was, else at the end, unless the address points elsewhere. */
export function useStart(
  transcript: Transcript,
  list: List,
  rows: readonly string[],
  { loading }: Window,
  sequence: number | null,
): void {
  const begun = useRef(false);
  useLayoutEffect(() => {
    if (begun.current || rows.length === 0) return;
    if (sequence === null) {
      const spot = spots.get(transcript);
      const line = spot && list.measurementsCache[rows.indexOf(spot.key)];
      if (spot && line) list.scrollToOffset(line.start + spot.offset);
      else list.scrollToEnd();
    }
    begun.current = loading !== "first";
  }, [transcript, list, rows, loading, sequence]);
}

/** Ask for more where one comes near to what is not here, once one is where one wants to be. */
export function useEdges(
  transcript: Transcript,
  list: List,
  count: number,
  window: Window,
  isThere: boolean,
): void {
  const { first, atEnd, loading } = window;
  const range = list.range;
  const top = range?.startIndex ?? NEAR_EDGE;
  const bottom = range?.endIndex ?? 0;
  const screen = list.scrollRect?.height ?? 0;
  const isNearTop = top < NEAR_EDGE && (list.scrollOffset ?? 0) <= NEAR_SCREENS * screen;
  const failedAt = useRef("");
  useEffect(() => {
    const place = `${top}–${bottom} of ${count}`;
    // What failed is tried again when one scrolls on, not for ever.
    if (!isThere || loading !== null || count === 0 || failedAt.current === place) return;
    const fail = (error: unknown) => {
      failedAt.current = place;
      tell(error);
    };
    if (isNearTop && first > 1) void transcript.earlier().catch(fail);
    else if (!atEnd && bottom > count - NEAR_EDGE) void transcript.later().catch(fail);
  }, [transcript, loading, count, top, bottom, isNearTop, first, atEnd, isThere]);
}

/** How many lines came since one left the end. */
export function useAway(rows: readonly string[], isAtEnd: boolean): number {
  const [last, setLast] = useState<string | undefined>();
  const newest = rows.at(-1);
  if (isAtEnd && last !== newest) setLast(newest);
  const at = last === undefined ? -1 : rows.lastIndexOf(last);
  return isAtEnd || at < 0 ? 0 : rows.length - 1 - at;
}

export interface Mark {
  /** The key of the line that was asked for. */
  key: string | null;
  /** It is in sight, or there is none. */
  isThere: boolean;
  /** One wants to be elsewhere. */
  leave: () => void;
}

/** Bring the line of an event into sight, and keep it there while lines come around it. */
export function useMark(
  transcript: Transcript,
  list: List,
  rows: readonly string[],
  sequence: number | null,
): Mark {
  const { view, first, loading } = useStore(transcript.window);
  const isReady = loading !== "first";
  const isSought = useSought(transcript, sequence, isReady);
  const key = useMemo(
    () => (sequence === null || sequence < first || !isReady ? null : holderOf(view, sequence)),
    [view, first, sequence, isReady],
  );
  const row = key === null ? -1 : rows.indexOf(rowOf(view, key));
  const [shown, setShown] = useState<number | null>(null);
  const left = useRef<number | null>(null);
  const leave = useCallback(() => {
    left.current = sequence;
  }, [sequence]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: with other rows it is elsewhere.
  useLayoutEffect(() => {
    if (sequence === null) left.current = null;
    if (row < 0 || left.current === sequence) return;
    list.scrollToIndex(row, { align: "center" });
    setShown(sequence);
  }, [list, rows, row, sequence]);
  useEffect(() => {
    if (shown === null || shown !== sequence) return;
    const timer = setTimeout(leave, HOLD_MS);
    const stop = list.scrollElement && watchMoves(list.scrollElement, leave);
    return () => {
      clearTimeout(timer);
      stop?.();
    };
  }, [list, shown, sequence, leave]);
  return { key, isThere: sequence === null || shown === sequence || (isSought && row < 0), leave };
}

/** Ask for the part of the log that holds an event. Says whether that was done, well or not. */
function useSought(transcript: Transcript, sequence: number | null, isReady: boolean): boolean {
  const asked = useRef<number | null>(null);
  const [sought, setSought] = useState<number | null>(null);
  useEffect(() => {
    // Once: an event that does not exist will not come by asking again.
    if (sequence === null || !isReady || asked.current === sequence) return;
    asked.current = sequence;
    void transcript
      .show(sequence)
      .catch(tell)
      .finally(() => setSought(sequence));
  }, [transcript, sequence, isReady]);
  return sought === sequence;
}
