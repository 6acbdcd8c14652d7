/** How an ended session goes on in a new one. Pure. */

import type { CreateSession, McpServer, SessionInfo } from "dragoman-client";

/** What the daemon shows in place of a secret. */
const MASK = "***";
const MODES = ["default", "plan", "bypass", "acceptEdits"] as const;

export interface Continuation {
  request: CreateSession;
  /** MCP servers that cannot come along: their secrets are told to nobody. */
  left: readonly string[];
}

export function continuationOf(session: SessionInfo): Continuation {
  const servers = Object.entries(session.mcp ?? {});
  const [kept, left] = [servers.filter(isWhole), servers.filter((server) => !isWhole(server))];
  return {
    request: {
      agent: session.agent,
      agentMode: session.agentMode,
      permissionMode: MODES.find((mode) => mode === session.permissionMode),
      model: session.model,
      variant: session.variant,
      directory: session.directory,
      title: session.title,
      skills: session.skills,
      mcp: kept.length > 0 ? Object.fromEntries(kept) : null,
      resume: { sessionId: session.sessionId },
    },
    left: left.map(([name]) => name),
  };
}

function isWhole([, { env, environment, headers, oauth }]: [string, McpServer]): boolean {
  const secrets = [env, environment, headers].flatMap((each) => Object.values(each ?? {}));
  if (typeof oauth === "object" && oauth?.clientSecret) secrets.push(oauth.clientSecret);
  return !secrets.includes(MASK);
}
