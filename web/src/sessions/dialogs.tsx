import type { SessionInfo } from "dragoman-client";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { client, sessions } from "../app/api";
import { useProblem } from "../app/reconnect";
import { go, route } from "../app/route";
import { Plain } from "../parts/Plain";
import { Dialog } from "../ui/Dialog";
import { reason, say } from "../ui/notices";
import { titleOf } from "../ui/words";
import "./dialogs.css";

interface DialogProps {
  session: SessionInfo;
  onClose: () => void;
}

/** Gives a session another title. */
export function RenameDialog({ session, onClose }: DialogProps) {
  const [title, setTitle] = useState(session.title ?? "");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.select(), []);
  const deed = useDeed(async () => {
    await client.updateSession(session.sessionId, { title: title.trim() });
    await sessions.refresh(session.sessionId);
    onClose();
  });
  return (
    <Dialog title="Rename the session" onClose={onClose}>
      <form className="session-dialog" onSubmit={deed.run}>
        <div className="field">
          <label htmlFor="rename-title">Title</label>
          <input
            ref={field}
            id="rename-title"
            className="input"
            value={title}
            placeholder={session.sessionId}
            autoComplete="off"
            onChange={(event) => setTitle(event.target.value)}
          />
        </div>
        <Problem text={deed.problem} />
        <div className="row session-dialog-buttons">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={deed.busy}>
            Rename
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** Asks before a session is deleted, and deletes it. */
export function DeleteDialog({ session, onClose }: DialogProps) {
  const deed = useDeed(async () => {
    await client.deleteSession(session.sessionId);
    sessions.forget(session.sessionId);
    onClose();
    const here = route.get();
    if (here.at === "session" && here.id === session.sessionId) go({ at: "home" });
    say("The session is deleted.");
  });
  return (
    <Dialog title="Delete the session?" onClose={onClose}>
      <form className="session-dialog" onSubmit={deed.run}>
        <p>
          <strong>
            <Plain text={titleOf(session)} />
          </strong>{" "}
          and its {session.eventCount.toLocaleString("en")} events will be gone, and its agent is
          stopped. Files in its folder stay. This cannot be undone.
        </p>
        <Problem text={deed.problem} />
        <div className="row session-dialog-buttons">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button danger" disabled={deed.busy}>
            Delete
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** Something that a form does once, and what went wrong with it. */
function useDeed(act: () => Promise<void>) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const run = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem("");
    try {
      await act();
    } catch (error) {
      setProblem(reason(error));
    } finally {
      setBusy(false);
    }
  };
  return { busy, problem, run };
}

function Problem(props: { text: string }) {
  const text = useProblem(props.text);
  if (!text) return null;
  return (
    <p role="alert" className="bad-text">
      {text}
    </p>
  );
}
