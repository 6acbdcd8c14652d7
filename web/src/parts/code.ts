/** Colours code: text in, runs of text with a class each, line by line. */

import { common, createLowlight } from "lowlight";

export interface Run {
  text: string;
  /** The classes of what it is, e.g. `hljs-keyword`; empty for plain text. */
  kind: string;
}

type Lines = Run[][];
type Root = ReturnType<ReturnType<typeof createLowlight>["highlight"]>;
type Node = Root["children"][number];

const lowlight = createLowlight(common);
/** Longer code is shown without colours: colouring takes time that nobody would get back. */
export const MOST_COLOURED = 60_000;

const BY_ENDING: Readonly<Record<string, string>> = {
  cjs: "javascript",
  h: "c",
  hpp: "cpp",
  htm: "xml",
  html: "xml",
  jsonl: "json",
  mts: "typescript",
  pyi: "python",
  svg: "xml",
  toml: "ini",
  vue: "xml",
};

/** The language of a file, as far as its name says. */
export function languageOf(path: string): string | null {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  if (name === "makefile" || name === "dockerfile") return known(name);
  const dot = name.lastIndexOf(".");
  if (dot < 0) return null;
  const ending = name.slice(dot + 1);
  return known(BY_ENDING[ending] ?? ending);
}

function known(language: string): string | null {
  return lowlight.registered(language) ? language : null;
}

/** Code in lines of coloured runs. */
export function coloured(text: string, language: string | null): Lines {
  const name = language && known(language.toLowerCase());
  if (!name || text.length > MOST_COLOURED)
    return text.split("\n").map((line) => [{ text: line, kind: "" }]);
  const lines: Lines = [[]];
  collect(lowlight.highlight(name, text).children, "", lines);
  return lines;
}

function collect(nodes: readonly Node[], kind: string, lines: Lines): void {
  for (const node of nodes) {
    if (node.type === "element") {
      const own = node.properties.className;
      collect(node.children as Node[], Array.isArray(own) ? own.join(" ") : kind, lines);
    } else if (node.type === "text") {
      const [first, ...rest] = node.value.split("\n");
      if (first) lines.at(-1)?.push({ text: first, kind });
      for (const text of rest) lines.push(text ? [{ text, kind }] : []);
    }
  }
}
