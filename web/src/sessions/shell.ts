/** Command lines and their words, quoted as a shell reads them. */

/** The words of a line. A quote that is never closed reaches to the end. */
export function words(line: string): string[] {
  const found: string[] = [];
  const pattern = /\s*((?:"(?:\\.|[^"\\])*(?:"|$)|'[^']*(?:'|$)|\\.|[^\s"'\\])+)/gy;
  for (const [, word = ""] of line.matchAll(pattern)) found.push(bare(word));
  return found;
}

export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function bare(word: string): string {
  return word.replace(
    /"((?:\\.|[^"\\])*)(?:"|$)|'([^']*)(?:'|$)|\\(.)/g,
    (_, double?: string, single?: string, escaped?: string) =>
      double?.replace(/\\(["\\$`])/g, "$1") ?? single ?? escaped ?? "",
  );
}
