import { useCallback, useMemo, useSyncExternalStore } from "react";
import { useStore } from "../state/store";
import { type Row, rowOf } from "./events";
import type { EventLog } from "./eventsLog";
import type { Found, Scan } from "./eventsScan";

/** What stands where in the list: the whole log, or what was found in it. */
export interface Places {
  count: number;
  sequenceAt: (place: number) => number | undefined;
  rowAt: (place: number) => Row | null;
  /** -1 where it is not in the list. */
  placeOf: (sequence: number) => number;
  onSeen: (first: number, end: number) => void;
}

export function useFound(scan: Scan | null): Found | null {
  const watch = useCallback((told: () => void) => scan?.found.watch(told) ?? (() => {}), [scan]);
  return useSyncExternalStore(watch, () => scan?.found.get() ?? null);
}

export function usePlaces(log: EventLog, found: Found | null): Places {
  const { count, version } = useStore(log.state);
  const rows = found?.rows;
  // biome-ignore lint/correctness/useExhaustiveDependencies: with each version other rows are here.
  return useMemo(
    () => (rows ? placesOfFound(rows) : placesOfLog(log, count)),
    [log, rows, count, version],
  );
}

const FOUND_NOTHING_TO_FETCH = () => {};

function placesOfFound(rows: readonly Row[]): Places {
  return {
    count: rows.length,
    sequenceAt: (place) => rows[place]?.sequence,
    rowAt: (place) => rows[place] ?? null,
    placeOf: (sequence) => search(rows, sequence),
    onSeen: FOUND_NOTHING_TO_FETCH,
  };
}

function placesOfLog(log: EventLog, count: number): Places {
  return {
    count,
    sequenceAt: (place) => (place >= 0 && place < count ? place + 1 : undefined),
    rowAt: (place) => {
      const event = log.at(place + 1);
      return event ? rowOf(event) : null;
    },
    placeOf: (sequence) => (sequence <= count ? sequence - 1 : -1),
    onSeen: (first, end) => log.want(first + 1, end),
  };
}

/** The place of a sequence among rows in order. */
export function search(rows: readonly Row[], sequence: number): number {
  let low = 0;
  let high = rows.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = rows[middle]?.sequence ?? 0;
    if (found === sequence) return middle;
    if (found < sequence) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}
