import type { Delivery } from "dragoman-client";
import { useRef } from "react";
import { type DraftValue, obstacle } from "./draft";
import { isTouch } from "./touch";

/** What the key Escape does. */
export type EscapeKey = "interrupts" | "goes to the request";

/** The buttons below the field. */
export function ComposerBar(props: {
  value: DraftValue;
  isRunning: boolean;
  isStopping: boolean;
  escapeKey: EscapeKey | null;
  canSteer: boolean;
  isDropping: boolean;
  onAttach: (files: Iterable<File>) => void;
  onInterrupt: () => void;
  onSend: (delivery: Delivery) => void;
}) {
  const why = obstacle(props.value);
  const off = why !== null;
  return (
    <div className="composer-bar">
      <Attach onAttach={props.onAttach} />
      <span className="composer-hint dim" aria-live="polite">
        {hint(props)}
      </span>
      {props.isRunning && (
        <button
          type="button"
          className="button danger"
          disabled={props.isStopping}
          title={`Ends the turn, not the session${props.escapeKey === "interrupts" ? " (Esc)" : ""}`}
          onClick={props.onInterrupt}
        >
          <StopIcon />
          {props.isStopping ? "Interrupting…" : "Interrupt"}
        </button>
      )}
      {props.canSteer && (
        <button
          type="button"
          className="button"
          disabled={off}
          title={why ?? "The agent hears it at once (Ctrl+Enter)"}
          onClick={() => props.onSend("steer")}
        >
          Send into the running turn
        </button>
      )}
      <button
        type="button"
        className="button primary"
        disabled={off}
        title={why ?? undefined}
        onClick={() => props.onSend("queue")}
      >
        {props.value.sending ? "Sending…" : "Send"}
      </button>
    </div>
  );
}

function hint(props: Parameters<typeof ComposerBar>[0]): string {
  const { value, isRunning, isDropping, escapeKey } = props;
  if (isDropping) return "Drop files to attach them";
  if (value.files.some((file) => file.path === null && file.problem === null)) return "Uploading…";
  const isWaiting = isRunning && value.text !== "";
  const waits = isWaiting ? "It will wait for the turn to end" : "";
  if (isTouch()) return waits;
  const escapes = escapeKey === null ? "" : `Esc ${escapeKey}`;
  if (isRunning || escapes) return [waits, escapes].filter(Boolean).join(" · ");
  return "Enter sends, Shift+Enter makes a new line";
}

function Attach(props: { onAttach: (files: Iterable<File>) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button
        type="button"
        className="button quiet composer-attach"
        aria-label="Attach files"
        title="Attach files: choose, paste or drop them"
        onClick={() => input.current?.click()}
      >
        <ClipIcon />
      </button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-hidden="true"
        tabIndex={-1}
        onChange={(event) => {
          props.onAttach([...(event.target.files ?? [])]);
          // So that the same file can be chosen again.
          event.target.value = "";
        }}
      />
    </>
  );
}

function ClipIcon() {
  return (
    <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true" className="composer-icon">
      <path d="M15.5 9.2 9.6 15a3.6 3.6 0 0 1-5.1-5.1l6.2-6.2a2.4 2.4 0 0 1 3.4 3.4l-6.1 6.1a1.2 1.2 0 0 1-1.7-1.7l5.4-5.4" />
    </svg>
  );
}

function StopIcon() {
  return (
    <svg viewBox="0 0 12 12" width="10" height="10" aria-hidden="true">
      <rect width="12" height="12" rx="2" fill="currentColor" />
    </svg>
  );
}
