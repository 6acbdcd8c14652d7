import type { Usage } from "dragoman-client";
import { Plain } from "../parts/Plain";
import type { TurnEntry } from "../state/fold";
import { cost, count, duration, tokensIn } from "../ui/words";

const OUTCOMES = { completed: "Done", interrupted: "Interrupted", failed: "Failed" } as const;
/** Stop reasons that say no more than that it is done. */
const PLAIN = ["end_turn", "stop", "completed", "success"];

/** The end of a turn: how it ended, how long it took, what it used. */
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
    </p>
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
