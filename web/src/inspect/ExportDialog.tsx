import { useEffect, useRef, useState } from "react";
import { client } from "../app/api";
import { useProblem } from "../app/reconnect";
import { Dialog } from "../ui/Dialog";
import { reason, say } from "../ui/notices";
import { saveFile } from "../ui/saveFile";
import { exported, type Format, nameOf } from "./exportLog";
import "./ExportDialog.css";

const FORMATS: readonly (readonly [Format, string, string])[] = [
  ["jsonl", "JSON lines", "Every event, one on each line."],
  ["raw", "JSON lines with raw", "Also the agent's own message behind each event."],
  [
    "markdown",
    "Markdown",
    "The conversation, for people: messages, tools, diffs, requests, errors.",
  ],
];

/** Saves a whole session as a file. */
export function ExportDialog(props: { sessionId: string; onClose: () => void }) {
  const { sessionId, onClose } = props;
  const [format, setFormat] = useState<Format>("jsonl");
  const { progress, problem, save } = useExport(sessionId, onClose);
  return (
    <Dialog title="Export" onClose={onClose}>
      <fieldset className="export-formats" disabled={progress !== null}>
        <legend className="unseen">Format</legend>
        {FORMATS.map(([each, name, what]) => (
          <label key={each} className="export-format">
            <input
              type="radio"
              name="format"
              checked={each === format}
              onChange={() => setFormat(each)}
            />
            <span>
              <strong>{name}</strong>
              <span className="dim">{what}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {problem && (
        <p role="alert" className="bad-text">
          {problem}
        </p>
      )}
      <div className="row export-end">
        {progress && (
          <>
            <progress aria-label="Exported" max={Math.max(1, progress.of)} value={progress.done} />
            <span role="status" className="dim small">
              {progress.done.toLocaleString("en")} of {progress.of.toLocaleString("en")} events
            </span>
          </>
        )}
        <span className="grow" />
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <button
          type="button"
          className="button primary"
          disabled={progress !== null}
          onClick={() => void save(format)}
        >
          Save
        </button>
      </div>
    </Dialog>
  );
}

function useExport(sessionId: string, onDone: () => void) {
  const [progress, setProgress] = useState<{ done: number; of: number } | null>(null);
  const [failure, setFailure] = useState("");
  const problem = useProblem(failure);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const save = async (format: Format) => {
    stop.current = new AbortController();
    const { signal } = stop.current;
    setFailure("");
    setProgress({ done: 0, of: 0 });
    try {
      const session = await client.getSession(sessionId);
      const onProgress = (done: number) => setProgress({ done, of: session.eventCount });
      const file = await exported(client, session, format, { signal, onProgress });
      saveFile(file, nameOf(session, format));
      say(`Saved ${nameOf(session, format)}.`);
      onDone();
    } catch (error) {
      if (signal.aborted) return;
      setFailure(reason(error));
      setProgress(null);
    }
  };
  return { progress, problem, save };
}
