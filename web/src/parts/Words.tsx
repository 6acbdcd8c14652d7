import { memo } from "react";
import { MOST_CHARACTERS } from "./Cut";
import { linksIn } from "./links";
import { Markdown } from "./Markdown";
import { pieces, visible } from "./marks";
import { Mark, MOST_MARKS } from "./Plain";
import "./Words.css";

/** What a person wrote: the lines as they were typed, for nobody promised them Markdown. */
export const Words = memo(function Words({ id, text }: { id: string; text: string }) {
  // Of so much there, too, all is shown as it was typed.
  if (text.length > MOST_CHARACTERS) return <Markdown id={id} text={text} />;
  return <bdi className="words">{drawn(text)}</bdi>;
});

function drawn(text: string) {
  const found = pieces(text);
  let at = 0;
  return (found.length > MOST_MARKS ? [visible(text)] : found).flatMap((piece) =>
    typeof piece === "string" ? linked(piece, at++) : [<Mark key={at++} mark={piece} />],
  );
}

function linked(text: string, place: number) {
  return linksIn(text).map((part, at) => {
    if (typeof part === "string") return part;
    const { url } = part;
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a text do not move.
      <a key={`${place}:${at}`} href={url} target="_blank" rel="noopener noreferrer nofollow">
        {url}
      </a>
    );
  });
}
