/** Characters that nobody sees, or that turn a text around, and the marks that stand for them. */

export interface Mark {
  mark: string;
  name: string;
}

const NAMED: Readonly<Record<number, readonly [string, string]>> = {
  173: ["SHY", "soft hyphen"],
  847: ["CGJ", "combining grapheme joiner"],
  1564: ["ALM", "Arabic letter mark"],
  4447: ["HCF", "Hangul filler"],
  4448: ["HJF", "Hangul filler"],
  6158: ["MVS", "Mongolian vowel separator"],
  8203: ["ZWSP", "zero width space"],
  8204: ["ZWNJ", "zero width non-joiner"],
  8205: ["ZWJ", "zero width joiner"],
  8206: ["LRM", "left-to-right mark"],
  8207: ["RLM", "right-to-left mark"],
  8232: ["LS", "line separator"],
  8233: ["PS", "paragraph separator"],
  8234: ["LRE", "left-to-right embedding"],
  8235: ["RLE", "right-to-left embedding"],
  8236: ["PDF", "pop directional formatting"],
  8237: ["LRO", "left-to-right override"],
  8238: ["RLO", "right-to-left override"],
  8288: ["WJ", "word joiner"],
  8294: ["LRI", "left-to-right isolate"],
  8295: ["RLI", "right-to-left isolate"],
  8296: ["FSI", "first strong isolate"],
  8297: ["PDI", "pop directional isolate"],
  12644: ["HF", "Hangul filler"],
  65279: ["BOM", "byte order mark"],
  65440: ["HF", "Hangul filler"],
};

// Emoji are joined by ZWJ, and many scripts need both joiners: there they are no trick.
const NEEDS_JOINER =
  "[\\p{M}\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\p{Script=Arabic}\\p{Script=Devanagari}" +
  "\\p{Script=Bengali}\\p{Script=Tamil}\\p{Script=Telugu}\\p{Script=Kannada}" +
  "\\p{Script=Malayalam}\\p{Script=Sinhala}\\p{Script=Mongolian}]";
const UNSEEN = new RegExp(
  "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u180e\\u200b\\u200e\\u200f" +
    "\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb\\p{Cs}" +
    "\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]" +
    `|(?<!${NEEDS_JOINER})[\\u200c\\u200d]`,
  "gu",
);

/** The mark of a character that is not shown as itself. */
export function markOf(character: string): Mark {
  const code = character.codePointAt(0) ?? 0;
  const point = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  if (code < 32) return { mark: String.fromCharCode(0x2400 + code), name: `control ${point}` };
  if (code === 127) return { mark: "␡", name: `control ${point}` };
  const named = NAMED[code];
  if (named) return { mark: `⟨${named[0]}⟩`, name: `${named[1]} ${point}` };
  if (code > 0xe0020 && code < 0xe007f) {
    return { mark: `⟨TAG ${String.fromCharCode(code - 0xe0000)}⟩`, name: `tag character ${point}` };
  }
  return { mark: `⟨${point}⟩`, name: `invisible ${point}` };
}

/** A text in pieces: as it is, and marks. Newlines and tabs stay; a CR before a newline is dropped. */
export function pieces(text: string): (string | Mark)[] {
  const clean = text.includes("\r\n") ? text.replaceAll("\r\n", "\n") : text;
  const found: (string | Mark)[] = [];
  let from = 0;
  for (const match of clean.matchAll(UNSEEN)) {
    if (match.index > from) found.push(clean.slice(from, match.index));
    found.push(markOf(match[0]));
    from = match.index + match[0].length;
  }
  if (from < clean.length) found.push(clean.slice(from));
  return found;
}

/** The same as one text, for where there is no room for elements. */
export function visible(text: string): string {
  return pieces(text)
    .map((piece) => (typeof piece === "string" ? piece : piece.mark))
    .join("");
}
