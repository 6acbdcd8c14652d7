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
  hunks: Hunk[];
  added: number;
  removed: number;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/;

/** All files of a diff; none where the text is no diff. */
export function readDiff(diff: string): FileDiff[] {
  const lines = diff.replaceAll("\r\n", "\n").split("\n");
  if (lines.at(-1) === "") lines.pop();
  const files: FileDiff[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? "";
    const file = files.at(-1);
    if (line.startsWith("diff --git ")) {
      files.push(newFile(gitPath(line)));
      at += 1;
    } else if (line.startsWith("--- ") && lines[at + 1]?.startsWith("+++ ")) {
      const current = file && file.hunks.length === 0 ? file : newFile("");
      if (current !== file) files.push(current);
      name(current, line.slice(4), (lines[at + 1] ?? "").slice(4));
      at += 2;
    } else if (line.startsWith("@@")) {
      const current = file ?? newFile("");
      if (current !== file) files.push(current);
      at = readHunk(current, lines, at);
    } else {
      if (file) extended(file, line);
      at += 1;
    }
  }
  return files;
}

function newFile(path: string): FileDiff {
  return { path, change: "changed", from: null, hunks: [], added: 0, removed: 0 };
}

/** The lines between git's header and the names. */
function extended(file: FileDiff, line: string): void {
  if (line.startsWith("new file")) file.change = "new";
  else if (line.startsWith("deleted file")) file.change = "deleted";
  else if (line.startsWith("rename from ")) {
    file.change = "renamed";
    file.from = line.slice("rename from ".length);
  } else if (line.startsWith("rename to ")) file.path = line.slice("rename to ".length);
}

function name(file: FileDiff, before: string, after: string): void {
  const [old, now] = [bare(before, "a/"), bare(after, "b/")];
  if (old === "/dev/null") file.change = "new";
  if (now === "/dev/null") file.change = "deleted";
  file.path = now === "/dev/null" ? old : now;
}

function bare(name: string, prefix: string): string {
  const path = name.split("\t", 1)[0] ?? "";
  return path.startsWith(prefix) ? path.slice(prefix.length) : path;
}

function gitPath(line: string): string {
  const names = line.slice("diff --git ".length);
  const middle = names.lastIndexOf(" b/");
  return middle < 0 ? names : names.slice(middle + 3);
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
