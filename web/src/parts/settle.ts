/** Cuts Markdown that is still being written into blocks, of which only the last can change. */

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
/** What may belong to the block before it across an empty line, as far as it is written yet. */
const CONTINUES = /^(?:\s|[-*+](?:\s|$)|\d{1,9}(?:[.)]?$|[.)]\s)|>|\[)/;

/** The blocks of a text; joined they are the text. */
export function blocks(text: string): string[] {
  const found: string[] = [];
  let from = 0;
  let fence: string | null = null;
  let afterBlank = false;
  for (let at = 0; at < text.length; ) {
    const next = text.indexOf("\n", at);
    const end = next < 0 ? text.length : next + 1;
    const line = text.slice(at, end);
    if (afterBlank && fence === null && line.trim() !== "" && !CONTINUES.test(line)) {
      found.push(text.slice(from, at));
      from = at;
    }
    afterBlank = line.trim() === "";
    fence = fenceAfter(fence, line);
    at = end;
  }
  if (from < text.length) found.push(text.slice(from));
  return found;
}

function fenceAfter(open: string | null, line: string): string | null {
  const mark = FENCE.exec(line)?.[1];
  if (mark === undefined) return open;
  if (open === null) return mark;
  const closes = mark[0] === open[0] && mark.length >= open.length && line.trim() === mark;
  return closes ? null : open;
}
