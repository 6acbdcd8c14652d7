/** What a new session shall be, as the form holds it, and as the daemon wants it. */

import {
  type AgentInfo,
  type CreateSession,
  DragomanError,
  type SkillSource,
} from "dragoman-client";
import { type ServerRow, serversOf } from "./mcp";
import { newKey, type Pair, pairsOf } from "./pairs";

export type PermissionMode = NonNullable<CreateSession["permissionMode"]>;

export interface SkillRow {
  key: number;
  type: SkillSource["type"];
  source: string;
  /** Names, separated by commas; empty is all. */
  skills: string;
  ref: string;
  subpath: string;
}

export interface Draft {
  agent: string;
  model: string;
  variant: string;
  mode: string;
  permissionMode: PermissionMode;
  directory: string;
  title: string;
  agentVersion: string;
  mcp: readonly ServerRow[];
  skills: readonly SkillRow[];
  env: readonly Pair[];
}

export type Field = keyof Draft;

export const EMPTY: Draft = {
  agent: "",
  model: "",
  variant: "",
  mode: "",
  permissionMode: "default",
  directory: "",
  title: "",
  agentVersion: "",
  mcp: [],
  skills: [],
  env: [],
};

export function newSkill(): SkillRow {
  return { key: newKey(), type: "local", source: "", skills: "", ref: "", subpath: "" };
}

/** The agent to begin with: the last one, else one that is ready, else the mock. */
export function firstAgent(agents: readonly AgentInfo[], last: string): string {
  const known = agents.find(({ id }) => id === last);
  const ready = agents.find(
    ({ id, installed, credentialsAvailable }) => id !== "mock" && installed && credentialsAvailable,
  );
  return (known ?? ready)?.id ?? "mock";
}

/** The request; what was left empty is left out. */
export function requestOf(draft: Draft): CreateSession {
  const said = (text: string) => text.trim() || undefined;
  const sources = draft.skills.filter(({ source }) => said(source)).map(sourceOf);
  return {
    agent: draft.agent,
    agentMode: said(draft.mode),
    permissionMode: draft.permissionMode,
    model: said(draft.model),
    variant: said(draft.variant),
    agentVersion: said(draft.agentVersion),
    directory: said(draft.directory),
    title: said(draft.title),
    mcp: orNothing(serversOf(draft.mcp)),
    skills: sources.length > 0 ? { sources } : undefined,
    env: orNothing(pairsOf(draft.env)),
  };
}

/** Which field the daemon complains about. */
export function fieldOf(error: unknown): Field | null {
  if (!(error instanceof DragomanError)) return null;
  const named = String(error.problem.details?.field ?? "").split(/[.[]/)[0] ?? "";
  if (named === "agentMode") return "mode";
  return Object.keys(EMPTY).find((field): field is Field => field === named) ?? null;
}

function sourceOf(row: SkillRow): SkillSource {
  const names = row.skills.split(",").map((name) => name.trim());
  const skills = names.filter(Boolean);
  return {
    type: row.type,
    source: row.source.trim(),
    ...(skills.length > 0 && { skills }),
    ...(row.ref.trim() && { ref: row.ref.trim() }),
    ...(row.subpath.trim() && { subpath: row.subpath.trim() }),
  };
}

function orNothing<T extends object>(record: T): T | undefined {
  return Object.keys(record).length > 0 ? record : undefined;
}
