/** A line of the conversation as text, for the clipboard. */

import type { ContentPart } from "dragoman-client";
import { pretty } from "../parts/Json";
import type { Entry } from "../state/fold";

export function textOf(entry: Entry): string {
  switch (entry.kind) {
    case "item":
      return entry.item.content.map(partText).join("\n\n");
    case "tool":
      return [...(entry.call?.content ?? []), ...(entry.result?.content ?? [])]
        .map(partText)
        .join("\n\n");
    case "permission":
    case "question":
      return pretty(entry.resolved ?? entry.asked);
    case "note":
      return pretty(entry.event);
    case "turn":
      return pretty(entry.ended);
  }
}

function partText(part: ContentPart): string {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text;
    case "tool_call":
      return `${part.name} ${part.arguments}`;
    case "tool_result":
      return part.output;
    case "file_ref":
      return part.diff ?? part.path;
    case "image":
      return part.path;
    case "status":
      return part.detail ? `${part.label}: ${part.detail}` : part.label;
    case "json":
      return pretty(part.json);
    default:
      return pretty(part);
  }
}
