/** Addresses in a text, so that they can be followed. Pure. */

export interface Address {
  url: string;
}

const ADDRESS = /\bhttps?:\/\/[^\s<>"'`]+/gi;
/** What ends a sentence rather than an address. */
const TAIL = /[.,;:!?*_]+$/;

/** A text in pieces: as it is, and addresses. */
export function linksIn(text: string): (string | Address)[] {
  const found: (string | Address)[] = [];
  let from = 0;
  for (const match of text.matchAll(ADDRESS)) {
    const url = trimmed(match[0]);
    if (!/:\/\/[^/]/.test(url)) continue;
    if (match.index > from) found.push(text.slice(from, match.index));
    found.push({ url });
    from = match.index + url.length;
  }
  if (from < text.length) found.push(text.slice(from));
  return found;
}

/** Without the end of the sentence, or the bracket, that it stands in. */
function trimmed(url: string): string {
  const bare = url.replace(TAIL, "");
  const isWithin = /[)\]}]$/.test(bare) && !/[([{]/.test(bare);
  return isWithin ? trimmed(bare.slice(0, -1)) : bare;
}
