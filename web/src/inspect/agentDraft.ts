/** What one fills in to add an agent, and what is asked of the daemon then. */

import { type AddAgent, DragomanError } from "dragoman-client";
import { type Pair, pairsOf } from "../sessions/pairs";

export interface AgentDraft {
  id: string;
  name: string;
  command: string;
  env: readonly Pair[];
  fs: boolean;
  terminal: boolean;
}

export const EMPTY_AGENT: AgentDraft = {
  id: "",
  name: "",
  command: "",
  env: [],
  fs: false,
  terminal: false,
};

/** The request; what was left empty is left out. */
export function agentOf(draft: AgentDraft): AddAgent {
  const env = pairsOf(draft.env);
  return {
    id: draft.id.trim(),
    command: draft.command.trim(),
    ...(draft.name.trim() && { name: draft.name.trim() }),
    ...(Object.keys(env).length > 0 && { env }),
    ...(draft.fs && { fs: true }),
    ...(draft.terminal && { terminal: true }),
  };
}

/** Which field of the form an error is about; null: none, or several. */
export function agentField(error: unknown): keyof AgentDraft | null {
  if (!(error instanceof DragomanError)) return null;
  if (error.problem.status === 409) return "id";
  const named = String(error.problem.details?.field ?? "").split(/[.[]/)[0] ?? "";
  return Object.keys(EMPTY_AGENT).find((it): it is keyof AgentDraft => it === named) ?? null;
}
