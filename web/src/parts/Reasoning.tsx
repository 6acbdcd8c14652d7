import { Fold } from "./Fold";
import { Markdown } from "./Markdown";
import { Plain } from "./Plain";
import "./Reasoning.css";

/** What the model thought: a line of it, and all of it behind that. */
export function Reasoning(props: { id: string; text: string; private: boolean; growing: boolean }) {
  const { id, text, growing } = props;
  const name = growing ? "Thinking…" : props.private ? "Thought, in private" : "Thought";
  if (text.trim() === "") {
    return <p className="reasoning reasoning-silent">{growing ? name : `${name}, not shown`}</p>;
  }
  return (
    <Fold
      id={id}
      className="reasoning"
      label={
        <>
          <span className="reasoning-name">{name}</span>
          <span className="reasoning-preview cut">
            <Plain text={preview(text, growing)} />
          </span>
        </>
      }
    >
      <Markdown id={id} text={text} growing={growing} />
    </Fold>
  );
}

/** One line of a thought: its beginning, or while it grows what is newest. */
export function preview(text: string, growing: boolean): string {
  const lines = text.trim().split("\n");
  const line = (growing ? lines.at(-1) : lines[0]) ?? "";
  return line.replace(/^#+\s*|[*_`]/g, "").slice(0, 200);
}
