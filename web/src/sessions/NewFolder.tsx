import { type FormEvent, useState } from "react";
import { client } from "../app/api";
import { useProblem } from "../app/reconnect";
import { reason } from "../ui/notices";
import { Icon } from "./Icon";
import { join } from "./paths";

/** Makes a folder in a folder. */
export function NewFolder(props: { folder: string; onMade: (path: string) => void }) {
  const [name, setName] = useState<string | null>(null);
  const [failure, setFailure] = useState("");
  const problem = useProblem(failure);
  const make = async (event: FormEvent) => {
    event.preventDefault();
    setFailure("");
    try {
      const { path } = await client.files.makeFolder(join(props.folder, (name ?? "").trim()));
      props.onMade(path);
    } catch (error) {
      setFailure(reason(error));
    }
  };
  if (name === null) {
    return (
      <button
        type="button"
        className="button small"
        disabled={props.folder === ""}
        onClick={() => setName("")}
      >
        <Icon name="plus" />
        New folder
      </button>
    );
  }
  return (
    <form className="row wrap grow" onSubmit={make}>
      <input
        className="input grow"
        aria-label="Name of the new folder"
        placeholder="Name of the new folder"
        autoComplete="off"
        value={name}
        onChange={(event) => setName(event.target.value)}
        // biome-ignore lint/a11y/noAutofocus: the person has just asked for this field.
        autoFocus
      />
      <button type="submit" className="button" disabled={name.trim() === ""}>
        Create
      </button>
      {problem && (
        <p role="alert" className="bad-text small">
          {problem}
        </p>
      )}
    </form>
  );
}
