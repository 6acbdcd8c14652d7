import type { SessionInfo } from "dragoman-client";
import { type ReactNode, useCallback, useState } from "react";
import { copyText } from "../ui/clipboard";
import { complain, say } from "../ui/notices";
import { titleOf } from "../ui/words";
import { DeleteDialog, RenameDialog } from "./dialogs";
import { Menu, type MenuItem } from "./Menu";

interface Open {
  session: SessionInfo;
  anchor: HTMLElement;
}

/** The menu of a row, and what it leads to. There is one for all rows, which come and go. */
export function useRowMenu(): {
  open: (session: SessionInfo, anchor: HTMLElement) => void;
  element: ReactNode;
} {
  const [menu, setMenu] = useState<Open | null>(null);
  const [renaming, setRenaming] = useState<SessionInfo | null>(null);
  const [deleting, setDeleting] = useState<SessionInfo | null>(null);
  const open = useCallback(
    (session: SessionInfo, anchor: HTMLElement) => setMenu({ session, anchor }),
    [],
  );
  const itemsFor = (session: SessionInfo): readonly MenuItem[] => [
    { label: "Rename…", act: () => setRenaming(session), changes: true },
    { label: "Copy id", act: () => void copyId(session.sessionId) },
    { label: "Delete…", act: () => setDeleting(session), danger: true, changes: true },
  ];
  const element = (
    <>
      {menu && (
        <Menu
          label={`Actions for ${titleOf(menu.session)}`}
          anchor={menu.anchor}
          items={itemsFor(menu.session)}
          onClose={() => setMenu(null)}
        />
      )}
      {renaming && <RenameDialog session={renaming} onClose={() => setRenaming(null)} />}
      {deleting && <DeleteDialog session={deleting} onClose={() => setDeleting(null)} />}
    </>
  );
  return { open, element };
}

async function copyId(sessionId: string): Promise<void> {
  try {
    await copyText(sessionId);
    say("The id is copied.");
  } catch (error) {
    complain(error);
  }
}
