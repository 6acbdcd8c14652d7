import type { Usage } from "dragoman-client";
import { href, toChanges } from "../app/route";
import { LineCounts } from "../parts/LineCounts";
import { Plain } from "../parts/Plain";
import { useSessionId } from "../parts/place";
import type { Counts } from "../state/changeCount";
import type { TurnEntry } from "../state/fold";
import { cost, count, duration, plural, tokensIn } from "../ui/words";

const OUTCOMES = { completed: "Done", interrupted: "Interrupted", failed: "Failed" } as const;
/** Stop reasons that say no more than that it is done. */
const PLAIN = ["end_turn", "stop", "completed", "success"];

/** The end of a turn: how it ended, how long it took, what it used, and what it has changed. */
export function EntryTurn({ entry }: { entry: TurnEntry }) {
  const { outcome, usage, stop_reason: stop } = entry.ended;
  const took = entry.startedAt && Date.parse(entry.time) - Date.parse(entry.startedAt);
  const price = cost(usage);
  return (
    <p className="entry-turn-line" title={usage && inFull(usage)}>
      <span className={outcome}>{outcome ? OUTCOMES[outcome] : "Turn ended"}</span>
      {stop && !PLAIN.includes(stop) && outcome !== "interrupted" && <Plain text={stop} />}
      {typeof took === "number" && <span>{duration(Math.max(0, took))}</span>}
      {usage && (
        <span>
          {count(tokensIn(usage))} in · {count(usage.output_tokens ?? 0)} out
        </span>
      )}
      {price && <span>{price}</span>}
      {entry.changes && <Changed turnId={entry.ended.turn_id ?? ""} counts={entry.changes} />}
    </p>
  );
}

function Changed({ turnId, counts }: { turnId: string; counts: Counts }) {
  const sessionId = useSessionId();
  const files = counts.files === 0 ? "Files changed" : `${plural(counts.files, "file")} changed`;
  return (
    <a className="entry-turn-changes" href={href(toChanges(sessionId, turnId))}>
      {files} <LineCounts added={counts.additions} removed={counts.deletions} />
    </a>
  );
}

function inFull(usage: Usage): string {
  const rows: readonly (readonly [string, number | undefined])[] = [
    ["input", usage.input_tokens],
    ["read from cache", usage.cached_input_tokens],
    ["written to cache", usage.cache_write_tokens],
    ["output", usage.output_tokens],
    ["reasoning", usage.reasoning_tokens],
  ];
  return rows
    .filter(([, tokens]) => tokens)
    .map(([name, tokens]) => `${name}: ${tokens?.toLocaleString("en")} tokens`)
    .join("\n");
}
