import type { ReactNode } from "react";
import { bytes } from "../ui/words";
import { useFold } from "./place";

/** Above this a text is shown in part, until somebody wants all of it. */
export const MOST_CHARACTERS = 200_000;

/** The beginning or the end of a long text, and a button for the rest. */
export function Cut(props: {
  id: string;
  text: string;
  lines?: number;
  keep?: "start" | "end";
  children: (shown: string) => ReactNode;
}) {
  const { id, text, lines = Number.POSITIVE_INFINITY, keep = "start", children } = props;
  const [all, setAll] = useFold(`${id}:all`);
  const shown = all ? text : keep === "start" ? beginning(text, lines) : ending(text, lines);
  const hidden = text.length - shown.length;
  const button = (hidden > 0 || all) && (
    <button type="button" className="button quiet small cut-more" onClick={() => setAll(!all)}>
      {all ? "Show less" : `Show all ${howMuch(text)}`}
    </button>
  );
  return (
    <>
      {keep === "end" && button}
      {children(shown)}
      {keep === "start" && button}
    </>
  );
}

/** The first so many lines, but no more than is good to show at once. */
export function beginning(text: string, lines: number): string {
  let end = 0;
  for (let line = 0; line < lines && end < text.length; line++) {
    const next = text.indexOf("\n", end);
    end = next < 0 ? text.length : next + 1;
    if (end > MOST_CHARACTERS) break;
  }
  return whole(text.slice(0, Math.min(end, MOST_CHARACTERS)));
}

/** The last so many lines, but no more than is good to show at once. */
export function ending(text: string, lines: number): string {
  let from = text.endsWith("\n") ? text.length - 1 : text.length;
  for (let line = 0; line < lines && from > 0; line++) {
    from = text.lastIndexOf("\n", from - 1);
    if (text.length - from > MOST_CHARACTERS) break;
  }
  const start = Math.max(from + 1, text.length - MOST_CHARACTERS);
  return start <= 0 || from < 0 ? text.slice(-MOST_CHARACTERS) : text.slice(start);
}

/** Without half of a character at its end. */
function whole(text: string): string {
  return /[\ud800-\udbff]$/.test(text) ? text.slice(0, -1) : text;
}

function howMuch(text: string): string {
  const lines = text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
  return lines > 1 ? `${lines.toLocaleString("en")} lines` : bytes(text.length);
}
