/** What agents can, in words. */

import type { FeatureSupport } from "dragoman-client";

/** The features in the order in which people ask for them; what is not here comes after. */
const NAMES: Readonly<Record<string, string>> = {
  textMessages: "Messages",
  streamingDeltas: "Streaming",
  reasoning: "Reasoning",
  toolCalls: "Tool calls",
  toolResults: "Tool results",
  commandExecution: "Commands",
  fileChanges: "File changes",
  mcpTools: "MCP tools",
  subagents: "Subagents",
  permissions: "Permissions",
  questions: "Questions",
  planMode: "Plan mode",
  interrupt: "Interrupt",
  steer: "Steer a running turn",
  resume: "Resume",
  fork: "Fork",
  images: "Images",
  fileAttachments: "Attachments",
  variants: "Variants",
  usage: "Usage and cost",
  status: "Status lines",
  errorEvents: "Errors",
  sessionLifecycle: "Start and end",
  itemStarted: "Item starts",
  sharedProcess: "One process for all",
};

export interface Feature {
  id: string;
  name: string;
}

/** All features that any of the agents names. */
export function featuresOf(agents: readonly Readonly<Record<string, unknown>>[]): Feature[] {
  const named = new Set(agents.flatMap((features) => Object.keys(features)));
  const known = Object.keys(NAMES).filter((id) => named.has(id));
  const others = [...named].filter((id) => !(id in NAMES));
  return [...known, ...others].map((id) => ({ id, name: NAMES[id] ?? spaced(id) }));
}

export interface Verdict {
  word: string;
  mood: "good" | "wait" | "";
}

/** Whether an agent has it, and whether the stream shows it. */
export function verdict(support: FeatureSupport | undefined): Verdict {
  if (!support) return { word: "unknown", mood: "" };
  if (support.native) {
    return support.shown ? { word: "yes", mood: "good" } : { word: "not shown", mood: "wait" };
  }
  return support.shown ? { word: "by Dragoman", mood: "good" } : { word: "no", mood: "" };
}

function spaced(id: string): string {
  const words = id.replace(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}
