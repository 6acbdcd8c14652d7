import { Plain } from "../parts/Plain";

/** Why there is nothing to see. */
export function ChangesEmpty(props: {
  isOff: boolean;
  /** It may still come, or something else says already why it does not. */
  isWaiting: boolean;
  isTurn: boolean;
  hasNotes: boolean;
  directory: string;
}) {
  if (props.isOff) {
    return (
      <div className="changes-empty">
        <h2>File events are off</h2>
        <p>
          Nobody looks at this session's files, and there are no diffs: it was created with{" "}
          <code>fileEvents: false</code>, or the daemon's settings say so.
        </p>
      </div>
    );
  }
  if (props.isWaiting || props.hasNotes) return <div className="changes-empty" />;
  if (props.isTurn) {
    return (
      <div className="changes-empty">
        <h2>This turn has changed no files</h2>
      </div>
    );
  }
  return (
    <div className="changes-empty">
      <h2>No changes yet</h2>
      <p>
        What changes from the first turn on in <Path directory={props.directory} /> appears here,
        whoever changes it.
      </p>
    </div>
  );
}

function Path({ directory }: { directory: string }) {
  if (directory === "") return "the session's directory";
  return (
    <code>
      <Plain text={directory} />
    </code>
  );
}
