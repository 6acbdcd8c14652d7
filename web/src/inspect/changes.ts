/** The files that a diff or a running turn is about, as a list of them shows them. Pure. */

import { type FileDiff, readDiff, readPatch } from "../parts/unified";
import type { TouchedFile } from "../state/changes";
import { bytes, plural } from "../ui/words";

export interface ChangedFile {
  /** Unlike any other in its list, and the same when it is read again. */
  key: string;
  /** From the session's directory on. */
  path: string;
  status: "created" | "changed" | "deleted" | "renamed";
  /** Where it was, if it was renamed. */
  from: string | null;
  /** null: not known, or not yet. */
  diff: FileDiff | null;
  /** What there is to say in place of lines. */
  note: string | null;
}

export interface Changes {
  files: readonly ChangedFile[];
  /** What is said about files that are not even named. */
  notes: readonly string[];
  added: number;
  removed: number;
}

export const NO_CHANGES: Changes = { files: [], notes: [], added: 0, removed: 0 };

const STATUS = {
  new: "created",
  deleted: "deleted",
  renamed: "renamed",
  changed: "changed",
  create: "created",
  delete: "deleted",
  change: "changed",
} as const;

/** What a patch of the daemon's changes. */
export function changesIn(diff: string): Changes {
  const { files, notes } = readPatch(diff);
  const paths = new Map<string, number>();
  const changed = files.map((file): ChangedFile => {
    // One that became a link is there twice: deleted, and made.
    const times = paths.get(file.path) ?? 0;
    paths.set(file.path, times + 1);
    return {
      key: times === 0 ? file.path : `${file.path}#${times}`,
      path: file.path,
      status: STATUS[file.change],
      from: file.from,
      diff: file,
      note: noteOn(file),
    };
  });
  return withCounts(changed, notes);
}

/** What is known of a turn's files before it has a diff. */
export function changesAmong(touched: readonly TouchedFile[], directory: string): Changes {
  const files = touched.map((file): ChangedFile => {
    const [diff = null] = file.diff ? readDiff(file.diff) : [];
    const { count } = file;
    const name = relativeTo(directory, file.path);
    return {
      key: file.path,
      path: count === null ? name : `${name}/`,
      status: STATUS[file.change],
      from: null,
      diff,
      note: count === null ? diff && noteOn(diff) : `${plural(count, "file")} in this folder.`,
    };
  });
  return withCounts(files, []);
}

function withCounts(files: readonly ChangedFile[], notes: readonly string[]): Changes {
  const sum = (of: "added" | "removed") =>
    files.reduce((total, { diff }) => total + (diff?.[of] ?? 0), 0);
  return { files, notes, added: sum("added"), removed: sum("removed") };
}

/** A path as one reads it in its directory; as it is where it lies elsewhere. */
export function relativeTo(directory: string, path: string): string {
  const folder = directory.replace(/\/+$/, "");
  if (path === folder) return ".";
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path;
}

function noteOn(file: FileDiff): string | null {
  if (file.omitted === "binary") {
    return "Not shown: it is binary, not UTF-8, or larger than 4 MiB.";
  }
  if (file.omitted === "left out") {
    const size = file.omittedBytes === null ? "is too large" : `has ${bytes(file.omittedBytes)}`;
    return `Left out: its diff ${size}.`;
  }
  if (file.hunks.length > 0) return null;
  if (file.mode) return `Its mode changed from ${file.mode[0]} to ${file.mode[1]}.`;
  if (file.change === "renamed") return "Renamed, and not changed otherwise.";
  return file.change === "changed" ? null : "The file is empty.";
}

/** How many lines of a file there are to show. */
export const linesOf = ({ diff }: ChangedFile) =>
  diff?.hunks.reduce((sum, { lines }) => sum + lines.length, 0) ?? 0;

/** Larger diffs, and those among so many, are folded until somebody wants to see them. */
const MOST_LINES = 400;
const MOST_FILES = 40;
const MOST_FILES_PHONE = 4;

/** Whether a file is shown with its lines before anybody said so. */
export function isOpenAtFirst(file: ChangedFile, files: number, isPhone: boolean): boolean {
  return files <= (isPhone ? MOST_FILES_PHONE : MOST_FILES) && linesOf(file) <= MOST_LINES;
}

/** A path in two: the folder with its slash, and the name. */
export function split(path: string): [folder: string, name: string] {
  const slash = path.replace(/\/$/, "").lastIndexOf("/") + 1;
  return [path.slice(0, slash), path.slice(slash)];
}
