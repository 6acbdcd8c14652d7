/** Joins what is shown of changes to what is live: the log, and the diffs that the daemon makes. */

import type { SessionDiff } from "dragoman-client";
import { useEffect, useMemo, useRef } from "react";
import { client } from "../app/api";
import { reconnects } from "../app/reconnect";
import { ChangesLog } from "../state/changesLog";
import { DiffReader, type DiffState } from "../state/diffReader";
import { Store, useStore } from "../state/store";
import type { Transcript } from "../state/transcript";
import { hearGathered } from "./eventsLive";

/** What the turns of a session have changed, as long as that is shown. */
export function useChangesLog(transcript: Transcript): ChangesLog {
  // Where an older copy of the log was put back, it is another log.
  const { isReplaced, loading, last } = useStore(transcript.window);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another log is read anew.
  const log = useMemo(() => new ChangesLog(client, transcript.sessionId), [transcript, isReplaced]);
  useEffect(() => {
    void log.open();
    const stop = hearGathered(transcript, (events) => void log.hear(events));
    const unwatch = reconnects.watch(() => log.again());
    return () => {
      stop();
      unwatch();
      log.close();
    };
  }, [log, transcript]);
  // What comes is heard from here on; some may have come since the log was opened.
  const heardFrom = loading === "first" ? null : last;
  const isHeard = useRef<ChangesLog | null>(null);
  useEffect(() => {
    if (heardFrom === null || isHeard.current === log) return;
    isHeard.current = log;
    void log.reach(heardFrom);
  }, [log, heardFrom]);
  return log;
}

const NOT_READ = new Store<DiffState>({ diff: null, isReading: false, error: null });

/**
 * The diff of a turn, or with null of the whole session, read anew with each version. Nothing is
 * asked where there is none.
 */
export function useDiff(
  sessionId: string,
  turn: string | null,
  version: number,
  exists: boolean,
): DiffState {
  const reader = useMemo(() => {
    const read = (signal: AbortSignal): Promise<SessionDiff> =>
      client.getDiff(sessionId, { turn: turn ?? undefined, signal });
    return exists ? new DiffReader(read) : null;
  }, [sessionId, turn, exists]);
  useEffect(() => {
    if (reader === null) return;
    reader.open();
    const unwatch = reconnects.watch(() => reader.refresh());
    return () => {
      unwatch();
      reader.close();
    };
  }, [reader]);
  const seen = useRef({ reader, version });
  useEffect(() => {
    const isNews = seen.current.reader === reader && seen.current.version !== version;
    seen.current = { reader, version };
    if (isNews) reader?.refresh();
  }, [reader, version]);
  return useStore(reader?.state ?? NOT_READ);
}
