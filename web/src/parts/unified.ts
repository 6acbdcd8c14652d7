/** Reads unified diffs, git's and plain ones. */

export interface DiffLine {
  kind: "same" | "added" | "removed" | "note";
  before: number | null;
  after: number | null;
  text: string;
}

export interface Hunk {
  /** What stands behind the second @@. */
  heading: string;
  lines: DiffLine[];
}

export interface FileDiff {
  path: string;
  change: "new" | "deleted" | "renamed" | "changed";
  /** Where it was, if it was renamed. */
  from: string | null;
  /** The mode it had and the one it has, where that is another one. */
  mode: readonly [string, string] | null;
  /** Why there are no lines of a file that is only named. */
  omitted: "binary" | "left out" | null;
  /** How large the diff is that was left out, where that is said. */
  omittedBytes: number | null;
  hunks: Hunk[];
  added: number;
  removed: number;
  /** Its part of the diff. */
  text: string;
}

/** All that a diff says. */
export interface Patch {
  files: FileDiff[];
  /** What is said about files that are not even named. */
  notes: string[];
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/;
const LEFT_OUT = /^# left out, its diff (?:has (\d+) bytes|is too large): (.*)$/;
const NOTE = "# left out: ";
const NOT_UTF8 = "Binary files differ: ";

/** All files of a diff; none where the text is no diff. */
export function readDiff(diff: string): FileDiff[] {
  return readPatch(diff).files;
}

/** A diff, with what the daemon only names in it. */
export function readPatch(diff: string): Patch {
  const reader = new PatchReader(diff);
  while (!reader.isDone) reader.step();
  return reader.patch();
}

/** Goes through a diff from thing to thing: headers, hunks, names of what is left out. */
class PatchReader {
  readonly #raw: readonly string[];
  readonly #lines: readonly string[];
  readonly #files: FileDiff[] = [];
  readonly #notes: string[] = [];
  /** The line that the last file begins with; null after what ends a file's part. */
  #start: number | null = null;
  #at = 0;

  constructor(diff: string) {
    const raw = diff.split("\n");
    if (raw.at(-1) === "") raw.pop();
    this.#raw = raw;
    this.#lines = raw.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  }

  get isDone(): boolean {
    return this.#at >= this.#lines.length;
  }

  patch(): Patch {
    this.#close();
    return { files: this.#files, notes: this.#notes };
  }

  step(): void {
    const line = this.#lines[this.#at] ?? "";
    const file = this.#start === null ? undefined : this.#files.at(-1);
    if (line.startsWith("diff --git ")) {
      this.#open(newFile(gitPath(line.slice("diff --git ".length))));
      this.#at += 1;
    } else if (line.startsWith("--- ") && this.#lines[this.#at + 1]?.startsWith("+++ ")) {
      const current = file && file.hunks.length === 0 ? file : this.#open(newFile(""));
      name(current, line.slice(4), (this.#lines[this.#at + 1] ?? "").slice(4));
      this.#at += 2;
    } else if (line.startsWith("@@")) {
      this.#at = readHunk(file ?? this.#open(newFile("")), this.#lines, this.#at);
    } else if (this.#readOmission(line, file)) {
      this.#at += 1;
    } else {
      if (file) extended(file, line);
      this.#at += 1;
    }
  }

  #open(file: FileDiff): FileDiff {
    this.#close();
    this.#files.push(file);
    this.#start = this.#at;
    return file;
  }

  #close(): void {
    const file = this.#files.at(-1);
    if (file === undefined || this.#start === null) return;
    file.text = `${this.#raw.slice(this.#start, this.#at).join("\n")}\n`;
    this.#start = null;
  }

  /** A line that names a file, or some, in place of what changed there. */
  #readOmission(line: string, file: FileDiff | undefined): boolean {
    const leftOut = LEFT_OUT.exec(line);
    if (leftOut) {
      const bytes = leftOut[1] === undefined ? null : Number(leftOut[1]);
      const named = this.#open(newFile(leftOut[2] ?? ""));
      Object.assign(named, { omitted: "left out", omittedBytes: bytes });
    } else if (line.startsWith(NOTE)) {
      this.#close();
      this.#notes.push(line.slice(NOTE.length));
    } else if (line.startsWith(NOT_UTF8)) {
      this.#open(newFile(gitPath(line.slice(NOT_UTF8.length)))).omitted = "binary";
    } else {
      const names = binaryNames(line);
      if (names === null) return false;
      const binary = newFile("");
      name(binary, ...names);
      const isOwn = file?.hunks.length === 0 && file.path === binary.path;
      (isOwn ? file : this.#open(binary)).omitted = "binary";
    }
    return true;
  }
}

function newFile(path: string): FileDiff {
  return {
    path,
    change: "changed",
    from: null,
    mode: null,
    omitted: null,
    omittedBytes: null,
    hunks: [],
    added: 0,
    removed: 0,
    text: "",
  };
}

/** The lines between git's header and the names. */
function extended(file: FileDiff, line: string): void {
  const after = (start: string) => (line.startsWith(start) ? line.slice(start.length) : null);
  const [oldMode, newMode] = [after("old mode "), after("new mode ")];
  const [from, to] = [after("rename from "), after("rename to ")];
  if (line.startsWith("new file")) file.change = "new";
  else if (line.startsWith("deleted file")) file.change = "deleted";
  else if (oldMode !== null) file.mode = [oldMode, oldMode];
  else if (newMode !== null) file.mode = [file.mode?.[0] ?? "", newMode];
  else if (from !== null) {
    file.change = "renamed";
    file.from = unquoted(from);
  } else if (to !== null) file.path = unquoted(to);
}

function name(file: FileDiff, before: string, after: string): void {
  const [old, now] = [bare(before, "a/"), bare(after, "b/")];
  if (old === "/dev/null") file.change = "new";
  if (now === "/dev/null") file.change = "deleted";
  file.path = now === "/dev/null" ? old : now;
}

function bare(name: string, prefix: string): string {
  const path = unquoted(name.split("\t", 1)[0] ?? "");
  return path.startsWith(prefix) ? path.slice(prefix.length) : path;
}

/** The name in git's header, which has it twice. */
function gitPath(names: string): string {
  const half = names.slice((names.length + 1) / 2);
  if (names === `a/${half.slice(2)} ${half}`) return half.slice(2);
  const quoted = names.lastIndexOf(' "b/');
  if (quoted >= 0 && names.endsWith('"')) return bare(names.slice(quoted + 1), "b/");
  const middle = names.lastIndexOf(" b/");
  return middle < 0 ? names : names.slice(middle + 3);
}

/** What git says of a binary file: the name before and after; null where it says something else. */
function binaryNames(line: string): [string, string] | null {
  const names = /^Binary files (.+) differ$/.exec(line)?.[1];
  if (names === undefined) return null;
  const splits = [...names.matchAll(/ and (?="?b\/|\/dev\/null$)/g)].map(
    ({ index }): [string, string] => [names.slice(0, index), names.slice(index + 5)],
  );
  const isSame = ([before, after]: [string, string]) => bare(before, "a/") === bare(after, "b/");
  return splits.find(isSame) ?? splits[0] ?? null;
}

const ESCAPES: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  t: 9,
  n: 10,
  v: 11,
  f: 12,
  r: 13,
};

/** A name that git has put in quotes: its bytes are escaped as in C. */
function unquoted(name: string): string {
  if (!/^".*"$/.test(name)) return name;
  const bytes: number[] = [];
  for (const [, octal, letter, plain = ""] of name
    .slice(1, -1)
    .matchAll(/\\([0-7]{3})|\\(.)|([^\\]+)/gu)) {
    if (octal !== undefined) bytes.push(Number.parseInt(octal, 8));
    else if (letter !== undefined) bytes.push(ESCAPES[letter] ?? letter.charCodeAt(0));
    else bytes.push(...new TextEncoder().encode(plain));
  }
  return new TextDecoder().decode(Uint8Array.from(bytes));
}

/** Read one hunk, and say where the next thing begins. */
function readHunk(file: FileDiff, lines: readonly string[], from: number): number {
  const found = HUNK.exec(lines[from] ?? "");
  // Some agents write hunks without numbers: those end where the next header is.
  const numbered = found !== null;
  let before = numbered ? Number(found[1]) : 0;
  let after = numbered ? Number(found[3]) : 0;
  const lastBefore = numbered ? before + Number(found[2] ?? 1) : Number.POSITIVE_INFINITY;
  const lastAfter = numbered ? after + Number(found[4] ?? 1) : Number.POSITIVE_INFINITY;
  const hunk: Hunk = { heading: found?.[5] ?? (lines[from] ?? "").slice(2).trim(), lines: [] };
  file.hunks.push(hunk);
  let at = from + 1;
  for (; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const sign = line[0] ?? " ";
    if (sign === "\\") {
      hunk.lines.push({ kind: "note", before: null, after: null, text: line.slice(2) });
      continue;
    }
    if (before >= lastBefore && after >= lastAfter) break;
    if (!" +-".includes(sign) || (!numbered && isHeader(line))) break;
    const text = line.slice(1);
    const number = (value: number) => (numbered ? value : null);
    if (sign === "+") {
      hunk.lines.push({ kind: "added", before: null, after: number(after++), text });
      file.added += 1;
    } else if (sign === "-") {
      hunk.lines.push({ kind: "removed", before: number(before++), after: null, text });
      file.removed += 1;
    } else {
      hunk.lines.push({ kind: "same", before: number(before++), after: number(after++), text });
    }
  }
  return at;
}

const isHeader = (line: string) => line.startsWith("--- ") || line.startsWith("+++ ");
