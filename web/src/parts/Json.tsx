import { memo, useMemo } from "react";
import { Cut } from "./Cut";
import { coloured, MOST_COLOURED } from "./code";
import { Long } from "./Long";
import { Runs } from "./Runs";
import "./Json.css";

/** A value as JSON, with its lines indented; a text is taken for JSON if it is some. */
export const Json = memo(function Json(props: { id: string; value: unknown; lines?: number }) {
  const { id, value, lines = 30 } = props;
  const text = useMemo(() => pretty(value), [value]);
  return (
    <div className="json">
      <Cut id={id} text={text} lines={lines}>
        {(shown) => (
          <pre>{shown.length > MOST_COLOURED ? <Long text={shown} /> : <Lines text={shown} />}</pre>
        )}
      </Cut>
    </div>
  );
});

export function pretty(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value, null, 2) ?? "";
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return value;
  }
}

function Lines({ text }: { text: string }) {
  const lines = useMemo(() => coloured(text, "json"), [text]);
  let at = 0;
  return lines.map((runs) => (
    <span key={at++}>
      <Runs runs={runs} />
      {"\n"}
    </span>
  ));
}
