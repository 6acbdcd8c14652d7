import { useEffect, useRef } from "react";
import { href, toChanges } from "../app/route";
import { LineCounts } from "../parts/LineCounts";
import { visible } from "../parts/marks";
import { Plain } from "../parts/Plain";
import type { TurnChanges } from "../state/changes";
import { clock, plural } from "../ui/words";

/** Whose changes are shown: those of the session, or of one of its turns. */
export function ChangesTurns(props: {
  sessionId: string;
  turns: readonly TurnChanges[];
  chosen: string | null;
  isReading: boolean;
  hasEarlier: boolean;
  onEarlier: () => void;
}) {
  const { sessionId, turns, chosen, isReading, hasEarlier } = props;
  const list = useRef<HTMLElement>(null);
  const isListed = turns.some(({ turnId }) => turnId === chosen);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is chosen, once it is there.
  useEffect(() => {
    const link = list.current?.querySelector("[aria-current]");
    link?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [chosen, isListed]);
  return (
    <nav ref={list} className="changes-turns" aria-label="Whose changes">
      <a
        className="changes-turn"
        href={href(toChanges(sessionId))}
        aria-current={chosen === null ? "page" : undefined}
      >
        <span className="changes-turn-name">This session</span>
        <span className="changes-turn-facts">up to now</span>
      </a>
      {turns.map((turn) => (
        <Turn
          key={turn.turnId}
          sessionId={sessionId}
          turn={turn}
          isChosen={turn.turnId === chosen}
        />
      ))}
      {hasEarlier && (
        <button
          type="button"
          className="button quiet small changes-earlier"
          disabled={isReading}
          onClick={props.onEarlier}
        >
          {isReading ? "Looking…" : "Earlier turns"}
        </button>
      )}
    </nav>
  );
}

function Turn(props: { sessionId: string; turn: TurnChanges; isChosen: boolean }) {
  const { turn, isChosen } = props;
  const { prompt, startedAt, counts } = turn;
  const name = prompt ?? "A turn";
  return (
    <a
      className="changes-turn"
      href={href(toChanges(props.sessionId, turn.turnId))}
      aria-current={isChosen ? "page" : undefined}
      title={visible(name)}
    >
      <span className="changes-turn-name cut">
        {turn.isRunning && <span className="changes-live-dot" aria-hidden="true" />}
        <Plain text={name} />
      </span>
      <span className="changes-turn-facts">
        <span>
          {turn.isRunning && "running · "}
          {plural(counts?.files ?? turn.files.length, "file")}
        </span>
        {counts && <LineCounts added={counts.additions} removed={counts.deletions} />}
        {startedAt && <time dateTime={startedAt}>{clock(startedAt)}</time>}
      </span>
    </a>
  );
}
