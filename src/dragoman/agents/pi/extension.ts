// Dragoman gives this file to each Pi session that it starts (`pi -e`). It asks a person, through
// Dragoman, before a tool that may change something runs; tells what a file held that is written
// anew; names the session's MCP servers; and sees to it that a message that is sent again, after a
// crash, is taken once. It writes to no file; Pi stores Dragoman's id beside each message.

import { existsSync, readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";

const READS = new Set(["read", "grep", "find", "ls", "tool_search"]);
const MCP = "DRAGOMAN_PI_MCP";
const ASKS = "DRAGOMAN_PI_ASKS";
const LONGEST_FILE = 1024 * 1024;
const MESSAGE_ID = "application/x-dragoman-message-id";

export default function (pi: any) {
  let asks = process.env[ASKS] !== "no";
  const servers = JSON.parse(process.env[MCP] ?? "{}");
  // What tools start need not know either; the servers' secrets are among it.
  delete process.env[MCP];
  delete process.env[ASKS];

  if (typeof pi.registerMcpServer === "function") {
    for (const [name, config] of Object.entries(servers)) pi.registerMcpServer(name, config);
  }

  takeEachMessageOnce(pi);

  // A tool of the user's own extension may say that it only reads; that of a server proves nothing.
  const reads = (name: string) => {
    if (READS.has(name)) return true;
    const tool = pi.getAllTools().find((each: any) => each.name === name);
    return !name.startsWith("mcp__") && tool?.annotations?.readOnlyHint === true;
  };

  pi.on("tool_call", async (event: any, ctx: any) => {
    if (asks && !reads(event.toolName)) {
      const about = { toolCallId: event.toolCallId, toolName: event.toolName, input: event.input };
      const answer = await ctx.ui.input("dragoman.permission", JSON.stringify(about), {
        signal: ctx.signal,
      });
      if (answer !== "allow") {
        return { block: true, reason: answer || "The user declined this tool call." };
      }
    }
    if (event.toolName === "write") tellWhatIsReplaced(event, ctx);
    return undefined;
  });

  pi.registerCommand("dragoman-permissions", {
    description: "Whether Dragoman is asked before tools run: ask or allow.",
    handler: async (words: string) => {
      asks = words.trim() !== "allow";
    },
  });
}

// Pi does not tell what a file held before it is written anew, and Dragoman shows the change.
function tellWhatIsReplaced(event: any, ctx: any) {
  const path = resolve(ctx.cwd, String(event.input?.path ?? ""));
  if (!existsSync(path)) return;
  const replaced = { toolCallId: event.toolCallId, content: readText(path) };
  ctx.ui.setStatus("dragoman.replaced", JSON.stringify(replaced));
}

function readText(path: string): string | null {
  try {
    if (statSync(path).size > LONGEST_FILE) return null;
    const text = readFileSync(path, "utf8");
    return text.includes("\0") || text.includes("\ufffd") ? null : text;
  } catch {
    return null; // what cannot be read need not be shown, and the tool says itself what is wrong
  }
}

// Dragoman sends its id of a message as an image before the others. Pi stores the id with the
// message, in one write, so that it has both or neither.
function takeEachMessageOnce(pi: any) {
  let pending: { id?: string; text: string }[] = [];

  pi.on("input", async (event: any, ctx: any) => {
    const images = event.images ?? [];
    const id = images.find((each: any) => each.mimeType === MESSAGE_ID)?.data;
    const isStored = (entry: any) => entry.type === "message" && entry.message.dragomanId === id;
    if (id !== undefined && ctx.sessionManager.getEntries().some(isStored)) {
      ctx.ui.setStatus("dragoman.delivered", id);
      return { action: "handled" };
    }
    // What was taken back, or by another extension, never comes.
    if (ctx.isIdle()) pending = [];
    pending.push({ id, text: event.text });
    if (id === undefined) return undefined;
    const rest = images.filter((each: any) => each.mimeType !== MESSAGE_ID);
    return { action: "transform", text: event.text, images: rest };
  });

  pi.on("message_end", async ({ message }: any) => {
    if (message.role !== "user" || pending.length === 0) return undefined;
    // Pi takes messages in order, but for those that wait for the end of a run. Of a skill or a
    // template the text is another by now.
    const text = textOf(message.content);
    const index = pending.findIndex((each) => each.text === text);
    const [{ id }] = pending.splice(Math.max(index, 0), 1);
    return id === undefined ? undefined : { message: { ...message, dragomanId: id } };
  });
}

function textOf(content: any): string {
  if (typeof content === "string") return content;
  return content.filter((each: any) => each.type === "text").map((each: any) => each.text).join("");
}
