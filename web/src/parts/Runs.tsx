import type { Run } from "./code";
import { Plain } from "./Plain";
import "./code.css";

/** One line of coloured code. */
export function Runs({ runs }: { runs: readonly Run[] }) {
  let at = 0;
  return runs.map(({ text, kind }) => (
    <span key={at++} className={kind || undefined}>
      <Plain text={text} />
    </span>
  ));
}
