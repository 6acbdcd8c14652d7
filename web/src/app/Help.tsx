import { useMemo, useState } from "react";
import { Dialog } from "../ui/Dialog";
import { type Shortcut, shortcuts, useShortcuts } from "./keys";
import { go } from "./route";
import { nextTheme } from "./theme";

/** The shortcuts that work everywhere, and the sheet that names all. */
export function Help() {
  const [open, setOpen] = useState(false);
  const keys = useMemo<readonly Shortcut[]>(
    () => [
      { key: "?", does: "Show this sheet", act: () => setOpen(true) },
      { key: "c", does: "New session", act: () => go({ at: "new" }) },
      { key: "i", does: "What waits for you", act: () => go({ at: "inbox" }) },
      { key: "g", does: "Agents", act: () => go({ at: "agents" }) },
      { key: "t", does: "Light, dark, or as the system", act: nextTheme },
    ],
    [],
  );
  useShortcuts(keys);
  if (!open) return null;
  const all = [...shortcuts].flat().filter(({ unlisted }) => !unlisted);
  return (
    <Dialog title="Keyboard shortcuts" onClose={() => setOpen(false)}>
      <dl className="keys">
        {all.map(({ key, does, shown = [key] }) => (
          <div key={key + does} className="row">
            <dt className="row">
              {shown.map((name) => (
                <kbd key={name}>{name}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
