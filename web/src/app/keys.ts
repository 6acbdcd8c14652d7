/** Keys that do something everywhere. A field that is being typed in keeps its own. */

import { useEffect } from "react";
import { Store } from "../state/store";

export interface Shortcut {
  key: string;
  does: string;
  act: () => void;
  /** Also while a field is being typed in. */
  always?: boolean;
  /** How the help sheet names it, where it stands for others too. */
  shown?: readonly string[];
  /** Not named in the help sheet: another of the same kind is. */
  unlisted?: boolean;
}

/** The field that is being typed in: as long as there is one, keys are letters. */
export const focusedField = new Store<Element | null>(null);

document.addEventListener("focusin", ({ target }) =>
  focusedField.set(isField(target) ? target : null),
);
document.addEventListener("focusout", ({ relatedTarget }) => {
  if (relatedTarget === null) focusedField.set(null);
});

/** All shortcuts that are in force, for the help sheet. */
export const shortcuts = new Set<readonly Shortcut[]>();

export function useShortcuts(keys: readonly Shortcut[]): void {
  useEffect(() => {
    shortcuts.add(keys);
    return () => {
      shortcuts.delete(keys);
    };
  }, [keys]);
}

window.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const typing = isField(event.target) || isBusy();
  for (const keys of [...shortcuts].reverse()) {
    const found = keys.find(({ key, always }) => key === event.key && (always || !typing));
    if (found) {
      event.preventDefault();
      found.act();
      return;
    }
  }
});

/** Whether a dialog or a menu is open: keys belong to it, and Escape closes it. */
export function isBusy(): boolean {
  return document.querySelector("dialog[open], :popover-open, [role=menu]") !== null;
}

/** What takes letters; a box that is ticked takes none. */
function isField(target: EventTarget | null): target is HTMLElement {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      target.matches("input:not([type=radio], [type=checkbox]), textarea, select"))
  );
}
