/** The last choice, kept in the browser: never values of variables, nor headers. */

import type { McpServer } from "dragoman-client";
import { type Shelf, shelf } from "../state/shelf";
import { type Draft, EMPTY, newSkill, type PermissionMode, type SkillRow } from "./draft";
import { newServer, type ServerRow } from "./mcp";
import { newKey } from "./pairs";

const KEY = "dragoman.new-session";
/** What may be kept of an MCP server that the form has no field for. */
const HARMLESS: readonly (keyof McpServer)[] = [
  "cwd",
  "transport",
  "enabled",
  "timeout",
  "timeoutMs",
  "bearerTokenEnvVar",
];

/** What was chosen for one agent. */
export type ForAgent = Pick<Draft, "model" | "variant" | "mode">;

interface Memory {
  agent: string;
  agents: Record<string, ForAgent>;
  permissionMode: PermissionMode;
  directory: string;
  mcp: readonly Partial<ServerRow>[];
  skills: readonly Partial<SkillRow>[];
}

type Kept = Pick<Shelf, "getItem" | "setItem">;

/** Keep what was chosen; environment variables, headers and anything like them are left out. */
export function remember(draft: Draft, on: Kept = shelf): void {
  const { agent, model, variant, mode, permissionMode, directory, skills } = draft;
  const memory: Memory = {
    agent,
    agents: { ...read(on).agents, [agent]: { model, variant, mode } },
    permissionMode,
    directory,
    mcp: draft.mcp.map(({ name, kind, line, url, rest }) => ({
      name,
      kind,
      line,
      url,
      rest: Object.fromEntries(HARMLESS.flatMap((it) => (it in rest ? [[it, rest[it]]] : []))),
    })),
    skills,
  };
  on.setItem(KEY, JSON.stringify(memory));
}

/** A form that begins with the last choice. */
export function recall(on: Kept = shelf): Draft {
  const { agent = "", permissionMode, directory, mcp, skills } = read(on);
  return {
    ...EMPTY,
    agent,
    ...recallFor(agent, on),
    // That nobody shall be asked is chosen anew each time.
    permissionMode: permissionMode === "bypass" ? "default" : (permissionMode ?? "default"),
    directory: directory ?? "",
    mcp: (mcp ?? []).map((row) => ({ ...newServer(), ...row })),
    skills: (skills ?? []).map((row) => ({ ...newSkill(), ...row, key: newKey() })),
  };
}

/** What was chosen last for an agent. */
export function recallFor(agent: string, on: Kept = shelf): ForAgent {
  return { model: "", variant: "", mode: "", ...read(on).agents?.[agent] };
}

function read(on: Kept): Partial<Memory> {
  try {
    const kept: unknown = JSON.parse(on.getItem(KEY) ?? "{}");
    return typeof kept === "object" && kept !== null ? kept : {};
  } catch {
    // Written by something else, or by hand: one begins anew.
    return {};
  }
}
