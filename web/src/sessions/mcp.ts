/** MCP servers as rows of a form, and as JSON. */

import type { McpServer } from "dragoman-client";
import { newKey, type Pair, pairsOf } from "./pairs";
import { quote, words } from "./shell";

export interface ServerRow {
  key: number;
  name: string;
  kind: "local" | "remote";
  /** The command line of a local one. */
  line: string;
  url: string;
  /** Environment variables of a local one, headers of a remote one. */
  pairs: readonly Pair[];
  /** What the form has no field for, as it came. */
  rest: Partial<McpServer>;
}

export function newServer(): ServerRow {
  return { key: newKey(), name: "", kind: "local", line: "", url: "", pairs: [], rest: {} };
}

/** The servers that have a name, as the daemon wants them. */
export function serversOf(rows: readonly ServerRow[]): Record<string, McpServer> {
  const named = rows.filter(({ name }) => name.trim() !== "");
  return Object.fromEntries(named.map((row) => [row.name.trim(), serverOf(row)]));
}

function serverOf(row: ServerRow): McpServer {
  const pairs = row.pairs.some(({ name }) => name.trim()) ? pairsOf(row.pairs) : null;
  if (row.kind === "local") {
    return { ...row.rest, type: "local", command: words(row.line), ...(pairs && { env: pairs }) };
  }
  return { ...row.rest, type: "remote", url: row.url.trim(), ...(pairs && { headers: pairs }) };
}

/** Rows of what stands in a file: by name, also under `mcpServers`, also without a type. */
export function rowsOf(json: string): ServerRow[] {
  const whole = record(parsed(json), "The servers must be an object: a server under each name.");
  const wrapped = whole.mcpServers;
  const servers = wrapped === undefined ? whole : record(wrapped, "mcpServers must be an object.");
  return Object.entries(servers).map(([name, server]) =>
    rowOf(name, record(server, `${name} must be an object.`) as Partial<McpServer>),
  );
}

function rowOf(name: string, server: Partial<McpServer>): ServerRow {
  const { type, command, args, env, environment, url, headers, ...rest } = server;
  const isLocal = type === "local" || type === "stdio" || (type === undefined && command != null);
  if (isLocal ? !command : !url) {
    throw new Error(`${name} needs ${isLocal ? "a command" : "a url"}.`);
  }
  const given = { ...(isLocal ? { ...environment, ...env } : headers) };
  return {
    key: newKey(),
    name,
    kind: isLocal ? "local" : "remote",
    line: isLocal ? lineOf(command, args) : "",
    url: url ?? "",
    pairs: Object.entries(given).map(([each, value]) => ({ key: newKey(), name: each, value })),
    rest,
  };
}

function lineOf(command: McpServer["command"], args: McpServer["args"]): string {
  // A command that is one string may be a line already; with arguments beside it, it is a word.
  if (typeof command === "string" && !args?.length) return command;
  return [command ?? [], args ?? []].flat().map(quote).join(" ");
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json.trim() || "{}");
  } catch (error) {
    throw new Error(`This is not JSON: ${error instanceof Error ? error.message : error}`);
  }
}

function record(value: unknown, otherwise: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error(otherwise);
  }
  return value as Record<string, unknown>;
}
