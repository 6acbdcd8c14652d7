import { memo, type ReactNode, useMemo } from "react";
import { inPieces, rowsOf } from "./long";
import { Plain } from "./Plain";
import "./Long.css";

/** A text that may be long: what nobody sees of it is not laid out. */
export const Long = memo(function Long({ text }: { text: string }) {
  const runs = useMemo(() => [{ text }], [text]);
  return <LongRuns runs={runs}>{(run) => <Plain key="text" text={run.text} />}</LongRuns>;
});

/** The same for a text of several runs. */
export function LongRuns<R extends { text: string }>(props: {
  runs: readonly R[];
  children: (run: R, at: number) => ReactNode;
}) {
  const pieces = useMemo(() => inPieces(props.runs), [props.runs]);
  if (pieces.length < 2) return props.runs.map(props.children);
  let at = 0;
  return pieces.map((piece) => (
    <span key={at++} className="long-piece" style={{ containIntrinsicHeight: heightOf(piece) }}>
      {piece.map(props.children)}
    </span>
  ));
}

function heightOf(piece: readonly { text: string }[]): string {
  return `auto ${rowsOf(piece.map(({ text }) => text).join(""))}lh`;
}
