import type { ContentPart } from "dragoman-client";
import { Diff } from "./Diff";
import { File } from "./File";
import { Json } from "./Json";
import { Markdown } from "./Markdown";
import { Output } from "./Output";
import { Picture } from "./Picture";
import { Plan } from "./Plan";
import { Reasoning } from "./Reasoning";
import { Status } from "./Status";
import { isRecord, stepsOf } from "./steps";

/** One part of an item's content. */
export function Part(props: { id: string; part: ContentPart; growing?: boolean }) {
  const { id, part, growing = false } = props;
  switch (part.type) {
    case "text":
      return <Markdown id={id} text={part.text} growing={growing} />;
    case "reasoning":
      return (
        <Reasoning
          id={id}
          text={part.text}
          private={part.visibility === "private"}
          growing={growing}
        />
      );
    case "file_ref":
      return <File id={id} part={part} />;
    case "image":
      return <Picture path={part.path} mime={part.mime ?? null} filename={part.filename} />;
    case "json":
      return <Structured id={id} value={part.json} />;
    case "status":
      return <Status id={id} label={part.label} detail={part.detail ?? null} />;
    case "tool_call":
      return <Json id={id} value={part.arguments} />;
    case "tool_result":
      return <Output id={id} text={part.output} />;
    default:
      return <Json id={id} value={part} />;
  }
}

/** JSON, shown as what it is where that is known: a plan, a diff. */
export function Structured({ id, value }: { id: string; value: unknown }) {
  const steps = stepsOf(value);
  if (steps) return <Plan steps={steps} />;
  if (isRecord(value) && typeof value.diff === "string") return <Diff id={id} diff={value.diff} />;
  return <Json id={id} value={value} />;
}
