/** Long texts in pieces: a browser lays a text out as a whole, for seconds where it is long. */

/** A piece has about so many characters, and never twice as many. */
const PIECE = 6_000;

/** So many characters may stand in a row; only a guess, for what is not laid out yet. */
const ROW = 90;

/** Runs of text in pieces. A piece ends with a line, unless the line is longer than a piece. */
export function inPieces<R extends { text: string }>(runs: readonly R[]): R[][] {
  const pieces: R[][] = [[]];
  let filled = 0;
  for (const run of runs) {
    for (let rest = run.text; rest !== ""; ) {
      const { length, isEnd } = portion(rest, filled);
      pieces.at(-1)?.push({ ...run, text: rest.slice(0, length) });
      rest = rest.slice(length);
      filled += length;
      if (!isEnd) continue;
      pieces.push([]);
      filled = 0;
    }
  }
  return pieces.filter((piece) => piece.length > 0);
}

/** How much of a text goes to a piece that has so much already, and whether that ends the piece. */
function portion(text: string, filled: number): { length: number; isEnd: boolean } {
  const room = 2 * PIECE - filled;
  const line = text.indexOf("\n", Math.max(0, PIECE - filled)) + 1;
  if (line > 0 && line <= room) return { length: line, isEnd: true };
  if (text.length <= room) return { length: text.length, isEnd: text.length === room };
  return { length: room - (isHalf(text, room) ? 1 : 0), isEnd: true };
}

/** Whether a cut here would go through a character. */
function isHalf(text: string, at: number): boolean {
  return at > 1 && /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1));
}

/** About how many rows a text takes. */
export function rowsOf(text: string): number {
  return text
    .replace(/\n$/, "")
    .split("\n")
    .reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / ROW)), 0);
}
