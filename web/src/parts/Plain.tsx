import { memo } from "react";
import { type Mark as Marked, pieces, visible } from "./marks";
import "./Plain.css";

export const MOST_MARKS = 2_000;

/** A text as it is: what cannot be seen, or would turn it around, stands as a small mark. */
export const Plain = memo(function Plain({ text }: { text: string }) {
  const found = pieces(text);
  if (found.length > MOST_MARKS) return <bdi>{visible(text)}</bdi>;
  let at = 0;
  return (
    <bdi>
      {found.map((piece) => {
        at += 1;
        return typeof piece === "string" ? piece : <Mark key={at} mark={piece} />;
      })}
    </bdi>
  );
});

/** What stands for a character that is not shown as itself. */
export function Mark({ mark }: { mark: Marked }) {
  return (
    <span className="plain-mark" title={mark.name}>
      {mark.mark}
    </span>
  );
}
