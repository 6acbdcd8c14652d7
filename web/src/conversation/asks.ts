/** What agents ask of people, and what became of it, in words. Pure. */

import {
  type Approver,
  DragomanError,
  NoAnswer,
  type PermissionRequested,
  type Question,
  type QuestionRequested,
  type QuestionResolved,
} from "dragoman-client";
import { readDiff } from "../parts/unified";
import { reason } from "../ui/notices";
import type { Mood } from "../ui/words";

type Facts = Readonly<Record<string, unknown>>;

/** What would be done, as far as the agent says it. */
export interface Wanted {
  command: string | null;
  cwd: string | null;
  paths: readonly string[];
  diff: string | null;
  /** The agent's own words about it. */
  description: string | null;
  why: string | null;
  /** What "always" would allow for the rest of the session. */
  rule: string;
  bySubagent: boolean;
  /** The tool's input, as JSON, where it says more than the rest. */
  input: string | null;
}

export function wantedBy(asked: Pick<PermissionRequested, "action" | "metadata">): Wanted {
  const about = facts(asked.metadata);
  return {
    command: text(about.command),
    cwd: text(about.cwd),
    paths: texts(about.paths ?? about.path),
    diff: text(about.diff),
    description: text(about.description),
    why: text(about.agent_reason),
    rule: text(about.rule) ?? asked.action,
    bySubagent: text(about.subagent_id) !== null,
    input: inputOf(about.input, [about.command, about.cwd, about.description]),
  };
}

/** What the agent wants to do, as one would say it: "run a command", "change 2 files". */
export function wishOf(action: string, { command, diff, paths }: Wanted): string {
  if (command !== null) return "run a command";
  if (diff === null) return `use ${action}`;
  const files = readDiff(diff);
  const count = files.length || paths.length || 1;
  const is = (change: string) => files.length > 0 && files.every((file) => file.change === change);
  const verb = is("new") ? "create" : is("deleted") ? "delete" : "change";
  return `${verb} ${count === 1 ? "a file" : `${count} files`}`;
}

/** What was asked for, in one line. */
export function receiptOf(action: string, wanted: Wanted): string {
  const wish = wishOf(action, wanted);
  const said = wish.charAt(0).toUpperCase() + wish.slice(1);
  return [said, summaryOf(wanted)].filter(Boolean).join(": ");
}

/** One line that says what it is about. */
export function summaryOf({ command, paths, description }: Wanted): string {
  return command ?? (paths.length > 0 ? paths.join(", ") : (description ?? ""));
}

function inputOf(input: unknown, shown: readonly unknown[]): string | null {
  if (input === undefined || input === null) return null;
  if (typeof input === "string") return input;
  const isShown =
    typeof input === "object" && Object.values(input).every((it) => shown.includes(it));
  return isShown ? null : JSON.stringify(input, null, 2);
}

// --- What became of it ---

/** A request that is over; the winner of a reply that came too late has the same shape. */
export interface Settled {
  status: string;
  approver?: Approver;
  metadata?: unknown;
}

export interface Outcome {
  word: string;
  mood: Mood;
  /** Who, or which rule; null for a withdrawal. */
  by: string | null;
  /** Why it was withdrawn, or what the agent was told. */
  why: string | null;
}

const WITHDRAWN: Readonly<Record<string, string>> = {
  interrupt: "the turn was interrupted",
  turn_end: "the turn ended",
  process_exit: "the agent's process ended",
  session_end: "the session ended",
  restart: "the daemon restarted",
  agent: "the agent took it back",
};

const WORDS: Readonly<Record<string, string>> = {
  accept: "Allowed once",
  accept_for_session: "Always allowed",
  reject: "Rejected",
  answered: "Answered",
  rejected: "Rejected",
};

/** How it ended; `caller` is the token of whoever reads this. */
export function outcomeOf(
  { status, approver, metadata }: Settled,
  caller: string | null = null,
): Outcome {
  const about = facts(metadata);
  const withdrawn = approver ? null : text(about.reason);
  if (withdrawn !== null) {
    return { word: "Withdrawn", mood: "", by: null, why: WITHDRAWN[withdrawn] ?? withdrawn };
  }
  const refused = status === "reject" || status === "rejected";
  return {
    // A mode or a rule answers each time anew: "once" would say something about the next time.
    word: approver?.rule && !refused ? "Allowed" : (WORDS[status] ?? status),
    mood: refused ? "bad" : "good",
    by: approver ? byWhom(approver, caller) : null,
    why: refused ? text(about.message) : null,
  };
}

const SENT: Readonly<Record<string, string>> = {
  once: "accept",
  always: "accept_for_session",
  reject: "reject",
  answer: "answered",
};

/** How a request ended, as far as it is known: by its event, else by the answer from here that counts. */
export function endOf(
  resolved: Settled | null,
  given: string | null,
  caller: string | null,
): Outcome {
  if (resolved !== null) return outcomeOf(resolved, caller);
  if (given !== null) return { ...outcomeOf({ status: SENT[given] ?? given }), by: BY_YOU };
  return { word: "Over", mood: "", by: null, why: "It waits no more." };
}

const BY_YOU = "by you";

function byWhom({ token, rule }: Approver, caller: string | null): string | null {
  if (!rule && token && token === caller) return BY_YOU;
  if (!rule) return token ? `by the token ${token}` : null;
  const [kind, ...rest] = rule.split(":");
  const name = rest.join(":");
  if (kind === "mode") return `by the permission mode ${name}`;
  if (kind === "always") return `by an earlier Always: ${name}`;
  if (rule === "deadline") return "since nobody answered in time";
  return `by the rule ${rule}`;
}

/** Why an answer did not count: what was answered before, and by whom; else the daemon's words. */
export function refusalOf(error: unknown, caller: string | null = null): string {
  if (error instanceof NoAnswer) return `${reason(error)} You can answer again.`;
  const winner = error instanceof DragomanError ? error.problem.details?.winner : undefined;
  if (typeof winner !== "object" || winner === null) return `Not answered: ${reason(error)}`;
  const won = winner as Facts;
  const settled = {
    status: String(won.status),
    approver: won.approver as Approver | undefined,
    metadata: won,
  };
  const { word, by, why } = outcomeOf(settled, caller);
  const answers = answersIn(won.answers);
  const what = word.toLowerCase() + (answers && `: ${answers}`);
  if (by === BY_YOU) return `You had answered before: ${what}.`;
  const who = by === null ? "It was over before your answer came" : "Somebody else was first";
  return `${who}: ${[what, by, why].filter(Boolean).join(", ")}.`;
}

function answersIn(answers: unknown): string {
  return Array.isArray(answers) ? answers.map((each) => texts(each).join(", ")).join("; ") : "";
}

// --- Questions ---

/** The parts of a question; an older daemon names only the first. */
export function questionsOf(asked: QuestionRequested | QuestionResolved): readonly Question[] {
  if (asked.questions && asked.questions.length > 0) return asked.questions;
  return [{ prompt: asked.prompt, options: asked.options.map((label) => ({ label })) }];
}

/** An address that the agent wants the person to visit, where it is one for a browser. */
export function addressIn(metadata: unknown): string | null {
  const url = text(facts(metadata).url);
  return url !== null && /^https?:\/\//i.test(url) ? url : null;
}

// --- Facts of any shape ---

function facts(metadata: unknown): Facts {
  return typeof metadata === "object" && metadata !== null ? (metadata as Facts) : {};
}

function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function texts(value: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.filter((each): each is string => typeof each === "string" && each !== "");
}
