import { useProblem } from "../app/reconnect";
import { Plain } from "../parts/Plain";
import { focusBeside } from "../ui/focus";
import { bytes } from "../ui/words";
import type { Attached, Draft } from "./draft";
import { focusField } from "./speaking";
import "./Attachments.css";

/** The files that will go with the message. */
export function Attachments(props: { draft: Draft; files: readonly Attached[] }) {
  if (props.files.length === 0) return null;
  return (
    <ul className="attachments" aria-label="Attachments">
      {props.files.map((file) => (
        <li
          key={file.id}
          className="attachments-file"
          data-bad={file.problem !== null || undefined}
        >
          <Picture file={file} />
          <div className="attachments-about">
            <span className="attachments-name cut" title={file.name}>
              <Plain text={file.name} />
            </span>
            <Progress file={file} />
          </div>
          {file.problem !== null && (
            <button
              type="button"
              className="button quiet small"
              onClick={() => void props.draft.upload(file.id)}
            >
              Try again
            </button>
          )}
          <button
            type="button"
            className="button quiet small"
            aria-label={`Remove ${file.name}`}
            onClick={(event) => {
              if (!focusBeside(event.currentTarget.closest("li"))) focusField();
              props.draft.detach(file.id);
            }}
          >
            ✕
          </button>
        </li>
      ))}
    </ul>
  );
}

function Picture({ file }: { file: Attached }) {
  if (file.preview !== null) {
    return <img className="attachments-picture" src={file.preview} alt={file.name} />;
  }
  const suffix = /\.([a-z0-9]{1,4})$/i.exec(file.name)?.[1] ?? "file";
  return (
    <span className="attachments-picture mono" aria-hidden="true">
      {suffix}
    </span>
  );
}

function Progress({ file }: { file: Attached }) {
  const problem = useProblem(file.problem);
  if (problem !== null) {
    return (
      <span role="alert" className="bad-text">
        {problem}
      </span>
    );
  }
  if (file.path !== null) return <span className="dim">{bytes(file.size)}</span>;
  return (
    <progress aria-label={`Uploading ${file.name}`} value={file.progress} max={1}>
      {Math.round(file.progress * 100)} %
    </progress>
  );
}
