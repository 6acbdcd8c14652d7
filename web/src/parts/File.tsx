import type { FileRef } from "dragoman-client";
import { Diff } from "./Diff";
import { visible } from "./marks";
import { Plain } from "./Plain";
import { nameOf } from "./paths";
import "./File.css";

const WORDS = { read: "Read", write: "Wrote", patch: "Changed" } as const;

/** A file that was read, written or changed, with what changed in it. */
export function File({ id, part }: { id: string; part: FileRef }) {
  if (part.diff) return <Diff id={id} diff={part.diff} paths={[part.path]} />;
  return (
    <p className="file" title={visible(part.path)}>
      <span className="dim">{WORDS[part.action]}</span>{" "}
      <span className="mono">
        <Plain text={part.path} />
      </span>
    </p>
  );
}

/** A file that a person gave along with a message. */
export function Attachment({ path }: { path: string }) {
  return (
    <span className="chip file-attached" title={visible(path)}>
      <span aria-hidden="true">📎</span>
      <span className="cut">
        <Plain text={nameOf(path)} />
      </span>
    </span>
  );
}
