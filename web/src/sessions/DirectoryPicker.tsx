import type { FsEntry } from "dragoman-client";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { Plain } from "../parts/Plain";
import { Dialog } from "../ui/Dialog";
import { Icon } from "./Icon";
import { NewFolder } from "./NewFolder";
import { type Crumb, crumbs } from "./paths";
import { useFolder } from "./useFolder";
import "./DirectoryPicker.css";

/** Looks for a folder on the daemon's machine. */
export function DirectoryPicker(props: {
  start: string;
  onPick: (path: string) => void;
  onClose: () => void;
}) {
  const { folder, enter } = useFolder(props.start);
  const [isHiddenShown, showHidden] = useState(false);
  const shown = folder.folders.filter(({ name }) => isHiddenShown || !name.startsWith("."));
  const way = folder.path ? crumbs(folder.path, folder.root) : [];
  const parent = way.at(-2)?.path ?? null;
  const pick = () => {
    props.onPick(folder.path);
    props.onClose();
  };
  return (
    <Dialog title="Choose a folder" onClose={props.onClose}>
      <div className="picker">
        <Crumbs way={way} onEnter={enter} />
        {folder.problem && (
          <p role="alert" className="bad-text small">
            {folder.problem}
          </p>
        )}
        <FolderList
          key={folder.path}
          folders={shown}
          parent={parent}
          loading={folder.loading}
          onEnter={enter}
        />
        <div className="row wrap">
          <NewFolder key={folder.path} folder={folder.path} onMade={enter} />
          <label className="row small grow picker-hidden">
            <input
              type="checkbox"
              checked={isHiddenShown}
              onChange={(event) => showHidden(event.target.checked)}
            />
            Hidden folders
          </label>
        </div>
        <div className="row picker-buttons">
          <button type="button" className="button" onClick={props.onClose}>
            Cancel
          </button>
          <button
            type="button"
            className="button primary"
            disabled={folder.path === ""}
            onClick={pick}
          >
            Choose this folder
          </button>
        </div>
      </div>
    </Dialog>
  );
}

function Crumbs({ way, onEnter }: { way: readonly Crumb[]; onEnter: (path: string) => void }) {
  return (
    <nav aria-label="The way here" className="picker-crumbs">
      <ol>
        {way.map(({ name, path }, at) => (
          <li key={path}>
            <button
              type="button"
              className="picker-crumb mono"
              aria-current={at === way.length - 1 ? "location" : undefined}
              onClick={() => onEnter(path)}
            >
              <Plain text={name} />
            </button>
          </li>
        ))}
      </ol>
    </nav>
  );
}

function FolderList(props: {
  folders: readonly FsEntry[];
  parent: string | null;
  loading: boolean;
  onEnter: (path: string) => void;
}) {
  const list = useRef<HTMLUListElement>(null);
  const { parent, onEnter, loading } = props;
  useEffect(() => {
    if (!loading) list.current?.querySelector("button")?.focus();
  }, [loading]);
  return (
    <ul
      ref={list}
      className="picker-list scroll"
      aria-label="Folders"
      aria-busy={loading}
      onKeyDown={(event) => walk(event, parent, onEnter)}
    >
      {parent !== null && (
        <li>
          <button type="button" className="picker-folder dim" onClick={() => onEnter(parent)}>
            <Icon name="up" />
            The folder above
          </button>
        </li>
      )}
      {props.folders.map(({ name, path }) => (
        <li key={path}>
          <button type="button" className="picker-folder" onClick={() => onEnter(path)}>
            <Icon name="folder" />
            <span className="cut">
              <Plain text={name} />
            </span>
          </button>
        </li>
      ))}
      {props.folders.length === 0 && (
        <li className="picker-empty dim">{loading ? "Looking…" : "No folders in here."}</li>
      )}
    </ul>
  );
}

/** Arrows walk, the right one enters, the left one and Backspace go up. */
function walk(
  event: KeyboardEvent<HTMLElement>,
  parent: string | null,
  enter: (path: string) => void,
): void {
  const buttons = [...event.currentTarget.querySelectorAll("button")];
  const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
  const isUp = event.key === "ArrowLeft" || event.key === "Backspace";
  if (to === undefined && !isUp && event.key !== "ArrowRight") return;
  event.preventDefault();
  if (to !== undefined) buttons[Math.max(0, Math.min(to, buttons.length - 1))]?.focus();
  else if (!isUp) buttons[at]?.click();
  else if (parent !== null) enter(parent);
}
