import { LineCounts } from "../parts/LineCounts";
import { Copy } from "../ui/Copy";
import { saveFile } from "../ui/saveFile";
import { plural } from "../ui/words";
import type { Changes } from "./changes";
import type { FileList } from "./changesList";

/** How much has changed, and the patch of it, to take along. */
export function ChangesBar(props: {
  sessionId: string;
  turn: string | null;
  changes: Changes;
  list: FileList;
  /** The patch; null: there is none. */
  diff: string | null;
  isReading: boolean;
}) {
  const { sessionId, turn, changes, diff, isReading } = props;
  const { hasOpen, setAll } = props.list;
  const { files, added, removed } = changes;
  const name = turn === null ? `${sessionId}.patch` : `${sessionId}-${turn}.patch`;
  return (
    <div className="changes-bar">
      <h2 className="changes-sum" role="status">
        {files.length > 0 && (
          <span>
            {plural(files.length, "file")} <span className="changes-word">changed </span>
          </span>
        )}
        <LineCounts added={added} removed={removed} />
        {isReading && (
          <span className="changes-reading">{files.length > 0 ? "Updating…" : "Reading…"}</span>
        )}
      </h2>
      <span className="grow" />
      {diff && files.length > 1 && (
        <button type="button" className="button quiet small" onClick={() => setAll(!hasOpen)}>
          {hasOpen ? "Fold all" : "Unfold all"}
        </button>
      )}
      {diff && (
        <>
          <Copy text={diff} label="Copy patch" />
          <button
            type="button"
            className="button quiet small"
            title="A patch for git apply"
            onClick={() => saveFile(new Blob([diff], { type: "text/x-patch" }), name)}
          >
            Download
          </button>
        </>
      )}
    </div>
  );
}
