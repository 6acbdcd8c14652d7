import { memo } from "react";
import { pieces, visible } from "./marks";
import "./Plain.css";

const MOST_MARKS = 2_000;

/** A text as it is: what cannot be seen, or would turn it around, stands as a small mark. */
export const Plain = memo(function Plain({ text }: { text: string }) {
  const found = pieces(text);
  if (found.length > MOST_MARKS) return <bdi>{visible(text)}</bdi>;
  let at = 0;
  return (
    <bdi>
      {found.map((piece) => {
        at += 1;
        if (typeof piece === "string") return piece;
        return (
          <span key={at} className="plain-mark" title={piece.name}>
            {piece.mark}
          </span>
        );
      })}
    </bdi>
  );
});
