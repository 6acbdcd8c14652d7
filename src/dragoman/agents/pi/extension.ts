// Dragoman gives this file to each Pi session that it starts (`pi -e`). It asks a person, through
// Dragoman, before a tool that may change something runs, and names the session's MCP servers.
// Nothing of it is kept by Pi, and no file of the user's is touched.

const READS = new Set(["read", "grep", "find", "ls", "tool_search"]);
const MCP = "DRAGOMAN_PI_MCP";
const ASKS = "DRAGOMAN_PI_ASKS";

export default function (pi: any) {
  let asks = process.env[ASKS] !== "no";
  const servers = JSON.parse(process.env[MCP] ?? "{}");
  // What tools start need not know either; the servers' secrets are among it.
  delete process.env[MCP];
  delete process.env[ASKS];

  if (typeof pi.registerMcpServer === "function") {
    for (const [name, config] of Object.entries(servers)) pi.registerMcpServer(name, config);
  }

  // A tool of the user's own extension may say that it only reads; that of a server proves nothing.
  const reads = (name: string) => {
    if (READS.has(name)) return true;
    const tool = pi.getAllTools().find((each: any) => each.name === name);
    return !name.startsWith("mcp__") && tool?.annotations?.readOnlyHint === true;
  };

  pi.on("tool_call", async (event: any, ctx: any) => {
    if (!asks || reads(event.toolName)) return undefined;
    const about = { toolCallId: event.toolCallId, toolName: event.toolName, input: event.input };
    const answer = await ctx.ui.input("dragoman.permission", JSON.stringify(about), {
      signal: ctx.signal,
    });
    if (answer === "allow") return undefined;
    return { block: true, reason: answer || "The user declined this tool call." };
  });

  pi.registerCommand("dragoman-permissions", {
    description: "Whether Dragoman is asked before tools run: ask or allow.",
    handler: async (words: string) => {
      asks = words.trim() !== "allow";
    },
  });
}
