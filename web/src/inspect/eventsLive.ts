/** Joins the list of events to what is live: the log, a search through it, the pictures. */

import type { Event, SessionInfo } from "dragoman-client";
import { useEffect, useMemo, useRef, useState } from "react";
import { client } from "../app/api";
import { reconnects } from "../app/reconnect";
import type { Transcript } from "../state/transcript";
import { type Filter, isFiltering } from "./events";
import { EventLog } from "./eventsLog";
import { Scan } from "./eventsScan";

/** So many are given on at once where nobody sees the page, and no picture is drawn. */
const MOST_WAITING = 4_000;
/** A search begins when nothing was typed for so long. */
const TYPED_MS = 250;

/** Hears a session's events, gathered: once for each picture. */
export function hearGathered(transcript: Transcript, take: (events: Event[]) => void): () => void {
  let waiting: Event[] = [];
  let frame: number | null = null;
  const give = () => {
    if (frame !== null) cancelAnimationFrame(frame);
    frame = null;
    const given = waiting;
    waiting = [];
    if (given.length > 0) take(given);
  };
  const stop = transcript.listen((event) => {
    waiting.push(event);
    frame ??= requestAnimationFrame(give);
    if (waiting.length >= MOST_WAITING) give();
  });
  return () => {
    stop();
    if (frame !== null) cancelAnimationFrame(frame);
  };
}

/** The log of the session, as long as it is shown. */
export function useEventLog(transcript: Transcript, session: SessionInfo | undefined): EventLog {
  const log = useMemo(
    () => new EventLog(client, transcript.sessionId, transcript.window.get().last),
    [transcript],
  );
  useEffect(() => {
    log.open();
    const stop = hearGathered(transcript, (events) => log.hear(events));
    const unwatch = reconnects.watch(() => log.again());
    return () => {
      stop();
      unwatch();
      log.close();
    };
  }, [log, transcript]);
  const count = session?.eventCount ?? 0;
  useEffect(() => log.grow(count), [log, count]);
  return log;
}

/** The search for what fits, or null where everything is shown. */
export function useScan(log: EventLog, transcript: Transcript, filter: Filter): Scan | null {
  const settled = useSettled(filter, TYPED_MS);
  const [scan, setScan] = useState<Scan | null>(null);
  useEffect(() => {
    if (!isFiltering(settled)) return setScan(null);
    const next = new Scan(client, log.sessionId, settled, log.state.get().count);
    setScan(next);
    void next.run();
    const stop = hearGathered(transcript, (events) => next.hear(events));
    return () => {
      stop();
      next.cancel();
    };
  }, [log, transcript, settled]);
  return scan;
}

/** A value once it has not changed for a while. The first one counts at once. */
function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value);
  const first = useRef(true);
  useEffect(() => {
    if (first.current) {
      first.current = false;
      return;
    }
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
