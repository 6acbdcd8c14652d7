/** What all events of a session add up to: the same fold as the daemon's own. */

import type {
  Context,
  Event,
  ModelUsage,
  PermissionRequested,
  PermissionResolved,
  QuestionRequested,
  QueuedMessage,
  SessionStatus,
  Usage,
} from "dragoman-client";
import { type Counts, countChanges } from "./changeCount";

export interface SessionState {
  agentMode: string | null;
  permissionMode: string;
  model: string | null;
  variant: string | null;
  title: string | null;
  turnId: string | null;
  turnStartedAt: string | null;
  ended: boolean;
  lastOutcome: "completed" | "interrupted" | "failed" | null;
  continuity: "restored" | "rewound" | "sandbox_lost" | null;
  usage: Usage | null;
  /** The tools of the agent, where it has told them. */
  tools: readonly string[] | null;
  /** What the last turn that changed files left of changes in the directory. */
  changes: Counts | null;
  /** What the turn that is about to end has changed itself. */
  turnChanges: Counts | null;
  permissions: Readonly<Record<string, PermissionRequested>>;
  questions: Readonly<Record<string, QuestionRequested>>;
  rules: readonly string[];
  queue: readonly QueuedMessage[];
  context: Context | null;
  rateLimits: unknown;
  /** For each subagent, the line of the call that started it. */
  hosts: Readonly<Record<string, string>>;
}

export function newState(known: Partial<SessionState> = {}): SessionState {
  return {
    agentMode: null,
    permissionMode: "default",
    model: null,
    variant: null,
    title: null,
    turnId: null,
    turnStartedAt: null,
    ended: false,
    lastOutcome: null,
    continuity: null,
    usage: null,
    tools: null,
    changes: null,
    turnChanges: null,
    permissions: {},
    questions: {},
    rules: [],
    queue: [],
    context: null,
    rateLimits: null,
    hosts: {},
    ...known,
  };
}

export function statusOf(state: SessionState): SessionStatus {
  if (state.ended) return "ended";
  if (Object.keys(state.permissions).length + Object.keys(state.questions).length > 0) {
    return "waiting";
  }
  return state.turnId ? "running" : "idle";
}

const MODES = ["default", "plan", "bypass", "acceptEdits"];

/** The state after one event. */
export function apply(state: SessionState, event: Event): SessionState {
  switch (event.type) {
    case "turn.started":
      return { ...state, turnId: event.data.turn_id || null, turnStartedAt: event.time };
    case "turn.ended": {
      const { usage, outcome } = event.data;
      return {
        ...state,
        turnId: null,
        turnStartedAt: null,
        turnChanges: null,
        lastOutcome: outcome ?? null,
        usage: usage ? (state.usage ? add(state.usage, usage) : usage) : state.usage,
      };
    }
    case "permission.requested": {
      const permissions = { ...state.permissions, [event.data.permission_id]: event.data };
      return { ...state, permissions };
    }
    case "question.requested":
      return { ...state, questions: { ...state.questions, [event.data.question_id]: event.data } };
    case "permission.resolved":
      return resolved(state, event.data);
    case "question.resolved":
      return { ...state, questions: without(state.questions, event.data.question_id) };
    case "session.updated":
      return updated(state, event.data);
    case "queue.updated":
      return { ...state, queue: event.data.messages };
    case "file.changed":
      return { ...state, changes: countChanges(event.data) };
    case "turn.diff":
      return { ...state, turnChanges: countChanges(event.data) };
    case "session.ended":
      return { ...state, ended: true };
    default:
      return state;
  }
}

function resolved(state: SessionState, data: PermissionResolved): SessionState {
  const asked = state.permissions[data.permission_id];
  const permissions = without(state.permissions, data.permission_id);
  if (data.status !== "accept_for_session" || !asked) return { ...state, permissions };
  const named = (asked.metadata as { rule?: string } | null | undefined)?.rule;
  const rule = named || asked.action;
  const rules = state.rules.includes(rule) ? state.rules : [...state.rules, rule];
  return { ...state, permissions, rules };
}

function updated(
  state: SessionState,
  data: Extract<Event, { type: "session.updated" }>["data"],
): SessionState {
  const mode = data.permission_mode;
  return {
    ...state,
    model: data.model ?? state.model,
    variant: data.variant ?? state.variant,
    agentMode: data.mode ?? state.agentMode,
    // An agent may have modes that are not ours; they are shown, and decide nothing here.
    permissionMode: mode !== undefined && MODES.includes(mode) ? mode : state.permissionMode,
    title: data.title ?? state.title,
    tools: data.tools ?? state.tools,
    context: data.context ?? state.context,
    rateLimits: data.rate_limits ?? state.rateLimits,
    continuity: data.continuity ?? state.continuity,
  };
}

function without<T>(record: Readonly<Record<string, T>>, key: string): Record<string, T> {
  const { [key]: _, ...rest } = record;
  return rest;
}

/** The sum of two usages; a cost that is known for one of them only stays what it is. */
export function add(one: Usage, other: Usage): Usage {
  const sources = new Set([one.cost_source, other.cost_source].filter((it) => it !== undefined));
  const models: Record<string, ModelUsage> = { ...one.models };
  for (const [name, usage] of Object.entries(other.models ?? {})) {
    const known = models[name];
    models[name] = known ? withoutZeros(sum(known, usage)) : usage;
  }
  return {
    ...(sum(one, other) as Usage),
    ...(sources.size > 0 && {
      cost_source: sources.size === 1 ? [...sources][0] : ("estimated" as const),
    }),
    ...(Object.keys(models).length > 0 && { models }),
  };
}

function withoutZeros(usage: ModelUsage): ModelUsage {
  const counted = Object.entries(usage).filter(([name, value]) => name === "cost_usd" || value);
  return Object.fromEntries(counted);
}

const COUNTS = [
  "input_tokens",
  "cached_input_tokens",
  "cache_write_tokens",
  "output_tokens",
  "reasoning_tokens",
] as const;

function sum(one: Usage | ModelUsage, other: Usage | ModelUsage) {
  const counts = Object.fromEntries(
    COUNTS.map((name) => [name, (one[name] ?? 0) + (other[name] ?? 0)]),
  );
  const costs = [one.cost_usd, other.cost_usd].filter(
    (cost) => cost !== undefined && cost !== null,
  );
  const cost = costs.reduce((total, each) => total + each, 0);
  return costs.length > 0 ? { ...counts, cost_usd: Math.round(cost * 1e9) / 1e9 } : counts;
}
