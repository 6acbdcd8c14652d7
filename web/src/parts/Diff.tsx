import { memo, useId, useMemo } from "react";
import { Copy } from "../ui/Copy";
import { coloured, languageOf, type Run } from "./code";
import { visible } from "./marks";
import { Plain } from "./Plain";
import { useAmount } from "./place";
import { Runs } from "./Runs";
import { type DiffLine, type FileDiff, type Hunk, readDiff } from "./unified";
import "./Diff.css";

/** So many lines are shown at first, and so many more with each click. */
const FIRST = 40;
const MORE = 1_000;

interface DiffProps {
  /** Under which it is remembered how much of it was asked for. */
  id?: string;
  diff: string;
  /** What the files are called; the only one of a diff is called so whatever its header says. */
  paths?: readonly string[];
}

/** A unified diff with line numbers and colours; what is no diff is shown as the text it is. */
export const Diff = memo(function Diff(props: DiffProps) {
  const own = useId();
  const { id = own, diff, paths = [] } = props;
  const files = useMemo(() => readDiff(diff), [diff]);
  if (files.length === 0) {
    return (
      <pre className="diff-plain">
        <Plain text={diff} />
      </pre>
    );
  }
  const alone = files.length === 1;
  const only = alone && paths.length === 1 ? paths[0] : undefined;
  let at = 0;
  return (
    <div className="diff">
      {files.map((file) => (
        <FileChange
          key={at++}
          id={`${id}:file${at}`}
          file={withRoot(file, paths)}
          only={only}
          diff={alone ? diff : null}
        />
      ))}
    </div>
  );
}, isSame);

function isSame(before: DiffProps, after: DiffProps): boolean {
  const isSamePaths = before.paths?.join("\n") === after.paths?.join("\n");
  return isSamePaths && before.id === after.id && before.diff === after.diff;
}

/** A header has no room for the slash of an absolute path; who knows the path puts it back. */
function withRoot(file: FileDiff, paths: readonly string[]): FileDiff {
  if (!paths.includes(`/${file.path}`)) return file;
  return { ...file, path: `/${file.path}`, from: file.from && `/${file.from}` };
}

const CHANGES = { new: "new", deleted: "deleted", renamed: "renamed", changed: null } as const;

function FileChange(props: { id: string; file: FileDiff; only?: string; diff: string | null }) {
  const { id, file, diff } = props;
  const path = props.only ?? file.path;
  const change = CHANGES[file.change];
  const name = visible(path);
  return (
    <figure className="diff-file" aria-label={`Changes to ${name}`}>
      <figcaption className="diff-head">
        <span className="diff-path mono" title={name}>
          <Plain text={path} />
        </span>
        {change && <span className="chip">{change}</span>}
        {file.omitted && <span className="chip">{file.omitted}</span>}
        {file.from && (
          <span className="dim small cut">
            from <Plain text={file.from} />
          </span>
        )}
        <span className="diff-counts mono">
          <span className="diff-added-count">+{file.added}</span>{" "}
          <span className="diff-removed-count">−{file.removed}</span>
        </span>
        {diff !== null && <Copy text={diff} />}
      </figcaption>
      {file.hunks.length > 0 && <Hunks id={id} file={file} path={path} />}
    </figure>
  );
}

interface Row extends DiffLine {
  runs: readonly Run[];
}

/** The lines of a file that changed, the first so many at first. */
export function Hunks(props: { id: string; file: FileDiff; path: string; first?: number }) {
  const { id, file, path, first = FIRST } = props;
  const [most, setMost] = useAmount(id, first);
  const shown = useMemo(() => firstRows(file, path, most), [file, path, most]);
  const total = file.hunks.reduce((sum, { lines }) => sum + lines.length, 0);
  let at = 0;
  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: it is no set of fields. */}
      <div
        className="diff-body"
        role="group"
        aria-label={`Lines of ${visible(path)}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys.
        tabIndex={0}
      >
        {shown.map(({ hunk, rows }) => {
          const isFirst = at === 0 && isTrivial(hunk);
          return (
            <div key={at++} className="diff-hunk">
              {!isFirst && <HunkHead hunk={hunk} />}
              {rows.map((row) => (
                <LineRow key={at++} row={row} />
              ))}
            </div>
          );
        })}
      </div>
      {total > most && (
        <button
          type="button"
          className="button quiet small diff-more"
          onClick={() => setMost(most + MORE)}
        >
          Show {Math.min(total - most, MORE)} more lines
        </button>
      )}
    </>
  );
}

/** The first so many lines of a file's hunks; what is not shown is not coloured either. */
function firstRows({ hunks }: FileDiff, path: string, most: number) {
  const language = languageOf(path);
  const shown: { hunk: Hunk; rows: Row[] }[] = [];
  let left = most;
  for (const hunk of hunks) {
    if (left <= 0) break;
    shown.push({ hunk, rows: rowsOf(hunk.lines.slice(0, left), language) });
    left -= hunk.lines.length;
  }
  return shown;
}

/** A hunk at the very beginning of a file needs no line that says where it is. */
function isTrivial({ heading, lines }: Hunk): boolean {
  const first = lines[0];
  return heading === "" && (first?.after ?? first?.before ?? 1) <= 1;
}

function HunkHead({ hunk }: { hunk: Hunk }) {
  const first = hunk.lines[0];
  const place = first?.after ?? first?.before;
  return (
    <div className="diff-place mono">
      <span>{typeof place === "number" ? `from line ${place}` : "⋯"}</span>{" "}
      <Plain text={hunk.heading} />
    </div>
  );
}

const SIGNS = { same: " ", added: "+", removed: "−", note: "" } as const;

function LineRow({ row }: { row: Row }) {
  return (
    <div className={`diff-line ${row.kind}`}>
      <span className="diff-number" aria-hidden="true" data-number={row.before ?? ""} />
      <span className="diff-number" aria-hidden="true" data-number={row.after ?? ""} />
      <span className="diff-sign">{SIGNS[row.kind]}</span>
      <code className="diff-text">
        {row.kind === "note" ? row.text : <Runs runs={row.runs} />}
        {"\n"}
      </code>
    </div>
  );
}

/** Each side of a hunk is coloured as a whole: a string or comment may span lines. */
function rowsOf(all: readonly DiffLine[], language: string | null): Row[] {
  const side = (kind: "added" | "removed") => {
    const lines = all.filter((line) => line.kind === kind || line.kind === "same");
    return coloured(lines.map((line) => line.text).join("\n"), language);
  };
  const [before, after] = [side("removed"), side("added")];
  let [b, a] = [0, 0];
  return all.map((line) => {
    if (line.kind === "note") return { ...line, runs: [] };
    if (line.kind === "removed") return { ...line, runs: before[b++] ?? [] };
    if (line.kind === "same") b++;
    return { ...line, runs: after[a++] ?? [] };
  });
}
