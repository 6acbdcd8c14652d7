import { useId, useMemo } from "react";
import { sessions } from "../app/api";
import { useStore } from "../state/store";
import { FormField } from "./FormField";
import { Icon } from "./Icon";
import { recent } from "./recent";

const MOST = 20;

/** Where the agent works: typed, chosen from those used lately, or picked. */
export function DirectoryField(props: {
  value: string;
  problem: string | null;
  onChange: (directory: string) => void;
  onBrowse: () => void;
}) {
  const list = useId();
  const known = useStore(sessions.known);
  const used = useMemo(() => {
    const all = recent(known.values(), known.size).flatMap(({ directory }) => directory ?? []);
    return [...new Set(all)].slice(0, MOST);
  }, [known]);
  return (
    <FormField
      label="Folder"
      hint="Where the agent works. Empty: the daemon's own folder."
      problem={props.problem}
    >
      {(wiring) => (
        <div className="row">
          <input
            {...wiring}
            className="input mono grow"
            list={list}
            placeholder="/home/me/project"
            autoComplete="off"
            spellCheck={false}
            value={props.value}
            onChange={(event) => props.onChange(event.target.value)}
          />
          <datalist id={list}>
            {used.map((directory) => (
              <option key={directory} value={directory} />
            ))}
          </datalist>
          <button type="button" className="button" onClick={props.onBrowse}>
            <Icon name="folder" />
            Browse
          </button>
        </div>
      )}
    </FormField>
  );
}
