/** A session as Markdown: what was said, done, asked and what went wrong. Pure. */

import type { ContentPart, Item, SessionInfo } from "dragoman-client";
import type {
  Entry,
  ItemEntry,
  NoteEntry,
  PermissionEntry,
  QuestionEntry,
  ToolEntry,
  TurnEntry,
  View,
} from "../state/fold";
import { cost, duration, plural, tokensIn } from "../ui/words";

/** What is said about the session at the top. */
export type About = Pick<SessionInfo, "sessionId" | "agent"> &
  Partial<Pick<SessionInfo, "title" | "model" | "directory">>;

export function toMarkdown(view: View, about: About): string {
  const blocks = view.order.flatMap((key) => entryBlocks(view, key));
  return `${[...head(about), ...blocks].join("\n\n")}\n`;
}

function head(about: About): string[] {
  const facts = [
    ["Session", about.sessionId],
    ["Agent", about.agent],
    ["Model", about.model],
    ["Directory", about.directory],
  ].filter(([, value]) => value);
  return [
    `# ${inline(about.title || about.sessionId)}`,
    facts.map(([name, value]) => `- ${name}: ${code(value ?? "")}`).join("\n"),
  ];
}

function entryBlocks(view: View, key: string): string[] {
  const entry = view.entries.get(key);
  if (entry === undefined) return [];
  const blocks = ownBlocks(entry);
  if (entry.kind !== "tool") return blocks;
  const below = [...entry.requests, ...entry.children].flatMap((each) => entryBlocks(view, each));
  return below.length === 0 ? blocks : [...blocks, quoted(below.join("\n\n"))];
}

function ownBlocks(entry: Entry): string[] {
  switch (entry.kind) {
    case "item":
      return itemBlocks(entry);
    case "tool":
      return toolBlocks(entry);
    case "permission":
      return [permissionLine(entry)];
    case "question":
      return questionBlocks(entry);
    case "note":
      return noteBlocks(entry);
    case "turn":
      return [turnLine(entry)];
  }
}

const WHO: Readonly<Record<string, string>> = {
  user: "You",
  assistant: "Agent",
  system: "System",
  tool: "Tool",
};

function itemBlocks({ item }: ItemEntry): string[] {
  const parts = item.content.flatMap((part) => partBlocks(part));
  if (parts.length === 0) return [];
  if (item.kind === "status") return parts;
  if (item.content.some((part) => part.type === "reasoning")) return [quoted(parts.join("\n\n"))];
  const failed = item.status === "failed" ? ` (${item.reason ?? "failed"})` : "";
  return [`## ${WHO[item.role ?? ""] ?? item.kind}${failed}`, ...parts];
}

function partBlocks(part: ContentPart): string[] {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text.trim() === "" ? [] : [part.text.trim()];
    case "json":
      return [fenced(JSON.stringify(part.json, null, 2), "json")];
    case "tool_call":
      return [fenced(prettyJson(part.arguments), "json")];
    case "tool_result":
      return part.output === "" ? [] : [fenced(part.output)];
    case "file_ref":
      return [
        `${said(part.action)} ${code(part.path)}`,
        ...(part.diff ? [fenced(part.diff, "diff")] : []),
      ];
    case "image":
      return [`Image ${code(part.path)}`];
    case "status":
      return [`*${inline([part.label, part.detail].filter(Boolean).join(": "))}*`];
    default:
      return [fenced(JSON.stringify(part, null, 2), "json")];
  }
}

const ACTIONS: Readonly<Record<string, string>> = {
  read: "Read",
  write: "Wrote",
  patch: "Changed",
};
const said = (action: string) => ACTIONS[action] ?? action;

function toolBlocks({ call, result }: ToolEntry): string[] {
  const part = call?.content.find((each) => each.type === "tool_call");
  const name = part?.type === "tool_call" ? part.name : "A tool";
  const facts = [stateOf(call, result), exitOf(result), took(result)].filter(Boolean).join(", ");
  const command = call?.command;
  const blocks = call?.content.flatMap((each) =>
    each.type === "tool_call" && command ? [fenced(`$ ${command}`, "console")] : partBlocks(each),
  );
  return [
    `### ${code(name)}${facts ? ` (${facts})` : ""}`,
    ...(blocks ?? []),
    ...(result?.content.flatMap((each) => partBlocks(each)) ?? []),
  ];
}

function stateOf(call: Item | null, result: Item | null): string {
  const last = result ?? call;
  return last?.status === "failed" ? (last.reason ?? "failed") : "";
}

function exitOf(result: Item | null): string {
  return result?.exit_code === undefined ? "" : `exit code ${result.exit_code}`;
}

function took(result: Item | null): string {
  return result?.duration_ms === undefined ? "" : duration(result.duration_ms);
}

const ANSWERS: Readonly<Record<string, string>> = {
  accept: "allowed once",
  accept_for_session: "allowed for the session",
  reject: "refused",
};

function permissionLine({ asked, resolved }: PermissionEntry): string {
  const { action, metadata } = resolved ?? asked ?? { action: "", metadata: null };
  const { command, path, reason } = (metadata ?? {}) as Record<string, string | undefined>;
  const what = [code(action), ...[command ?? path].flatMap((it) => (it ? [code(it)] : []))];
  const answer = resolved === null ? "not answered" : (ANSWERS[resolved.status] ?? resolved.status);
  const who = resolved?.approver?.rule ?? resolved?.approver?.token;
  const why = reason ? `withdrawn (${reason})` : who ? `${answer} by ${inline(who)}` : answer;
  return `**Permission** ${what.join(" ")}: ${why}`;
}

function questionBlocks({ asked, resolved }: QuestionEntry): string[] {
  const data = resolved ?? asked;
  const prompts = data?.questions?.map((each) => each.prompt) ?? [data?.prompt ?? ""];
  return prompts.map((prompt, index) => {
    const given = resolved?.answers?.[index]?.join(", ") ?? (index === 0 ? resolved?.response : "");
    const answer = resolved === null ? "not answered" : given || resolved.status;
    return `**Question** ${inline(prompt)}\n**Answer** ${inline(answer)}`;
  });
}

function noteBlocks({ event }: NoteEntry): string[] {
  switch (event.type) {
    case "error": {
      const { code: name, message, details } = event.data;
      const more = details ? [fenced(JSON.stringify(details, null, 2), "json")] : [];
      return [`**Error**${name ? ` ${code(name)}` : ""}: ${inline(message)}`, ...more];
    }
    case "agent.unparsed":
      return [`**Not understood** (${inline(event.data.location)}): ${inline(event.data.error)}`];
    case "session.ended":
      return ["---", `The session ended: ${inline(event.data.message ?? event.data.reason)}.`];
    case "session.updated":
      return [`*Changed: ${inline(changes(event.data))}*`];
    case "session.started":
      return [];
  }
}

function changes(data: object): string {
  return Object.entries(data)
    .filter(([, value]) => typeof value === "string")
    .map(([name, value]) => `${name.replace("_", " ")} ${value}`)
    .join(", ");
}

function turnLine({ ended, startedAt, time, changes }: TurnEntry): string {
  const { usage, outcome } = ended;
  const facts = [
    outcome ?? "ended",
    startedAt && duration(Date.parse(time) - Date.parse(startedAt)),
    usage && `${tokensIn(usage)} tokens in, ${usage.output_tokens ?? 0} out`,
    cost(usage),
    changes && `${plural(changes.files, "file")} +${changes.additions} −${changes.deletions}`,
  ];
  return `*Turn ${facts.filter(Boolean).join(" · ")}*`;
}

/** A block of code; its fence is longer than any in it. */
function fenced(text: string, language = ""): string {
  const longest = Math.max(2, ...(text.match(/`{3,}/g) ?? []).map((fence) => fence.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}`;
}

function code(text: string): string {
  const flat = text.replace(/\s+/g, " ");
  if (!flat.includes("`")) return `\`${flat}\``;
  const longest = Math.max(...(flat.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence} ${flat} ${fence}`;
}

/** One line in which nothing is Markdown. */
function inline(text: string): string {
  return text.replace(/\s+/g, " ").replace(/[\\`*_[\]<>#|~]/g, "\\$&");
}

const quoted = (text: string) => text.replace(/^/gm, "> ");

function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
