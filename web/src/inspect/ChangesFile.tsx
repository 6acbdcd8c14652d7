import { memo } from "react";
import { Hunks } from "../parts/Diff";
import { LineCounts } from "../parts/LineCounts";
import { visible } from "../parts/marks";
import { Plain } from "../parts/Plain";
import { Copy } from "../ui/Copy";
import { FilePath, StatusLetter } from "./ChangesIndex";
import type { ChangedFile } from "./changes";
import { FIRST_LINES } from "./changesList";

/** One file that changed: what happened to it, and, unfolded, its lines. */
export const ChangesFile = memo(function ChangesFile(props: {
  file: ChangedFile;
  isOpen: boolean;
  onToggle: (file: ChangedFile) => void;
}) {
  const { file, isOpen, onToggle } = props;
  const { diff, note, path } = file;
  const hasLines = diff !== null && diff.hunks.length > 0;
  const hasBody = hasLines || note !== null;
  return (
    <article className="changes-file" aria-label={`Changes to ${visible(path)}`}>
      <header className="changes-file-head" data-open={isOpen && hasBody}>
        <button
          type="button"
          className="changes-file-toggle"
          aria-expanded={hasBody ? isOpen : undefined}
          disabled={!hasBody}
          title={visible(path)}
          onClick={() => onToggle(file)}
        >
          <span className="fold-arrow" aria-hidden="true" />
          <StatusLetter status={file.status} />
          <FilePath path={path} />
          {file.from && (
            <span className="changes-from cut">
              from <Plain text={file.from} />
            </span>
          )}
        </button>
        {diff?.omitted && <span className="chip">{diff.omitted}</span>}
        <span className="chip changes-status">{file.status}</span>
        {diff && <LineCounts added={diff.added} removed={diff.removed} />}
        {hasLines && <Copy text={diff.text} />}
      </header>
      {isOpen && note && <p className="changes-note">{note}</p>}
      {isOpen && hasLines && (
        <Hunks id={`changes:${file.key}`} file={diff} path={path} first={FIRST_LINES} />
      )}
    </article>
  );
});
