import type { SessionInfo } from "dragoman-client";
import { useMemo } from "react";
import { href, toChanges } from "../app/route";
import type { TurnChanges } from "../state/changes";
import type { DiffState } from "../state/diffReader";
import { useStore } from "../state/store";
import type { Transcript } from "../state/transcript";
import { reason } from "../ui/notices";
import { ChangesBar } from "./ChangesBar";
import { ChangesEmpty } from "./ChangesEmpty";
import { ChangesFiles } from "./ChangesFiles";
import { ChangesIndex } from "./ChangesIndex";
import { ChangesTurns } from "./ChangesTurns";
import { changesAmong, changesIn, NO_CHANGES, type Changes as Shown } from "./changes";
import { useFileList } from "./changesList";
import { useChangesLog, useDiff } from "./changesLive";
import "./Changes.css";

interface Props {
  session: SessionInfo | undefined;
  transcript: Transcript;
  /** The turn that is looked at, by its id; null: the whole session. */
  turn: string | null;
}

/** What has changed in a session's directory: during the session, and during each turn. */
export function Changes({ session, transcript, turn }: Props) {
  const { sessionId } = transcript;
  const log = useChangesLog(transcript);
  const { turns, first, isReading, version, error } = useStore(log.state);
  const current = turns.find(({ turnId }) => turnId === turn);
  const isOff = session?.fileEvents === false;
  const hasDiff = !isOff && (current === undefined || current.counts !== null);
  const read = useDiff(sessionId, turn, turn === null ? version : 0, hasDiff);
  const changes = useShown(read, hasDiff ? undefined : current, session?.directory ?? "");
  const list = useFileList(turn ?? "", changes.files);
  const problem = error ?? (isOff ? null : read.error);
  return (
    <section className="changes" aria-label="Changes">
      <div className="changes-grid">
        <div className="changes-side">
          <ChangesTurns
            sessionId={sessionId}
            turns={turns}
            chosen={turn}
            isReading={isReading}
            hasEarlier={first > 1}
            onEarlier={() => void log.earlier()}
          />
          {changes.files.length > 0 && <ChangesIndex list={list} />}
        </div>
        <div className="changes-main">
          <ChangesBar
            sessionId={sessionId}
            turn={turn}
            changes={changes}
            list={list}
            diff={read.diff?.diff ?? null}
            isReading={read.isReading}
          />
          {problem && (
            <p role="alert" className="changes-problem">
              {reason(problem)}
            </p>
          )}
          <Notices changes={changes} isCut={read.diff?.truncated === true} />
          {current && !hasDiff && <WithoutDiff sessionId={sessionId} turn={current} />}
          {changes.files.length > 0 ? (
            <ChangesFiles list={list} />
          ) : (
            <ChangesEmpty
              isOff={isOff}
              isWaiting={read.isReading || problem !== null}
              isTurn={turn !== null}
              hasNotes={changes.notes.length > 0}
              directory={session?.directory ?? ""}
            />
          )}
        </div>
      </div>
    </section>
  );
}

/** What is shown: the diff, or, of a turn that has none, what is known of its files. */
function useShown(read: DiffState, turn: TurnChanges | undefined, directory: string): Shown {
  const text = read.diff?.diff;
  const ofDiff = useMemo(() => (text ? changesIn(text) : NO_CHANGES), [text]);
  const files = turn?.files;
  const live = useMemo(
    () => (files ? changesAmong(files, directory) : NO_CHANGES),
    [files, directory],
  );
  return files ? live : ofDiff;
}

/** What of the changes is not here. */
function Notices({ changes, isCut }: { changes: Shown; isCut: boolean }) {
  if (!isCut && changes.notes.length === 0) return null;
  return (
    <p className="changes-cut">
      <strong>This is not everything.</strong>{" "}
      {changes.notes.length > 0
        ? `Left out: ${changes.notes.join("; ")}.`
        : "Files whose diffs are too large are only named."}
    </p>
  );
}

/** Why a turn has no diff. */
function WithoutDiff({ sessionId, turn }: { sessionId: string; turn: TurnChanges }) {
  if (turn.isRunning) {
    return (
      <p className="changes-live">
        <span className="changes-live-dot" aria-hidden="true" />
        <span>
          The turn is running: its diff comes at its end. What has changed up to now is in{" "}
          <a href={href(toChanges(sessionId))}>this session</a>.
        </span>
      </p>
    );
  }
  return (
    <p className="changes-live">
      These files were touched, and there is no diff: git ignores them, or they are as they were.
    </p>
  );
}
