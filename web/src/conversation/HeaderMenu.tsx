import type { SessionInfo } from "dragoman-client";
import { useState } from "react";
import { client, sessions } from "../app/api";
import { ExportDialog } from "../inspect/ExportDialog";
import { DeleteDialog, RenameDialog } from "../sessions/dialogs";
import { Icon } from "../sessions/Icon";
import { Menu, type MenuItem } from "../sessions/Menu";
import { copyText } from "../ui/clipboard";
import { Dialog } from "../ui/Dialog";
import { complain, say } from "../ui/notices";

type Open = "rename" | "export" | "delete" | "terminate" | null;

/** What one can do with a session as a whole. */
export function HeaderMenu({ session }: { session: SessionInfo }) {
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  const [open, setOpen] = useState<Open>(null);
  const close = () => setOpen(null);
  return (
    <>
      <button
        type="button"
        className="button quiet small"
        aria-label="Actions for this session"
        aria-haspopup="menu"
        aria-expanded={anchor !== null}
        onClick={(event) => setAnchor(event.currentTarget)}
      >
        <Icon name="more" />
      </button>
      {anchor && (
        <Menu
          label="Actions for this session"
          anchor={anchor}
          items={itemsFor(session, setOpen)}
          onClose={() => setAnchor(null)}
        />
      )}
      {open === "rename" && <RenameDialog session={session} onClose={close} />}
      {open === "export" && <ExportDialog sessionId={session.sessionId} onClose={close} />}
      {open === "delete" && <DeleteDialog session={session} onClose={close} />}
      {open === "terminate" && <TerminateDialog session={session} onClose={close} />}
    </>
  );
}

function itemsFor(session: SessionInfo, open: (what: Open) => void): MenuItem[] {
  const id = session.sessionId;
  const terminate = {
    label: "End the session…",
    act: () => open("terminate"),
    danger: true,
    changes: true,
  };
  return [
    { label: "Rename…", act: () => open("rename"), changes: true },
    { label: "Copy id", act: () => void copy(id) },
    { label: "Export…", act: () => open("export") },
    ...(session.status === "ended" ? [] : [terminate]),
    { label: "Delete…", act: () => open("delete"), danger: true, changes: true },
  ];
}

function TerminateDialog(props: { session: SessionInfo; onClose: () => void }) {
  const [busy, setBusy] = useState(false);
  const id = props.session.sessionId;
  const terminate = async () => {
    setBusy(true);
    try {
      await client.terminateSession(id);
      await sessions.refresh(id);
    } catch (error) {
      complain(error);
    }
    props.onClose();
  };
  return (
    <Dialog title="End the session?" onClose={props.onClose}>
      <p>Its agent is stopped, and no message can be sent any more. All that was said stays.</p>
      <div className="row session-dialog-buttons">
        <button type="button" className="button" onClick={props.onClose}>
          Cancel
        </button>
        <button type="button" className="button danger" disabled={busy} onClick={terminate}>
          End the session
        </button>
      </div>
    </Dialog>
  );
}

async function copy(id: string): Promise<void> {
  try {
    await copyText(id);
    say("The id is copied.");
  } catch (error) {
    complain(error);
  }
}
