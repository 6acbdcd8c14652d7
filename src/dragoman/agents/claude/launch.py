"""The command line and environment of a Claude Code process."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from dragoman.adapter import Spec
from dragoman.agents.claude.settings import BYPASS, native_mode
from dragoman.facts import Launch, is_since
from dragoman.wire.mcp_config import into_environment, mcp_server

FLAGS = (
    "-p",
    "--input-format", "stream-json",
    "--output-format", "stream-json",
    "--verbose",
    "--include-partial-messages",
    "--replay-user-messages",
    "--permission-prompt-tool", "stdio",
)  # fmt: skip
LATER_FLAGS = {
    "--include-hook-events": "2.1.88",
    "--forward-subagent-text": "2.1.211",
}
"""Flags that older versions refuse, with the first version that has each."""
MCP_TIMEOUT_MS = 30_000
"""How long Claude Code waits for an MCP server to connect, unless MCP_TIMEOUT says otherwise."""


def launch(spec: Spec, command: tuple[str, ...]) -> Launch:
    """How to start a process that begins this session's conversation, or resumes it."""
    argv = [*command, *FLAGS]
    argv += [flag for flag, first in LATER_FLAGS.items() if is_since(spec.agent_version, first)]
    # CLAUDECODE is emptied: it would mark a nested session, where the daemon itself was started
    # from within Claude Code.
    env = {"DISABLE_AUTOUPDATER": "1", "CLAUDECODE": "", **spec.env}
    mode = native_mode(spec.agent_mode, spec.permission_mode) or "default"
    if mode == BYPASS:
        argv.append("--dangerously-skip-permissions")
        # Claude Code lets root bypass only in a sandbox; who asks for bypass says that this is one.
        env.setdefault("IS_SANDBOX", "1")
    else:
        argv += ["--permission-mode", mode]
    if spec.native_session_id:
        argv += ["--resume", spec.native_session_id]
        argv += ["--fork-session"] if spec.fork else []
    else:
        argv += ["--session-id", spec.fresh_id]
    argv += ["--model", spec.model] if spec.model else []
    argv += ["--effort", spec.variant] if spec.variant else []
    enabled = {name: each for name, each in spec.mcp.items() if each.get("enabled") is not False}
    servers = {name: _server(name, config, env) for name, config in enabled.items()}
    if servers:
        env = {**_mcp_timeout(enabled.values()), **env}
        config = msgspec.json.encode({"mcpServers": servers}).decode()
        argv += ["--mcp-config", config]
    for folder in spec.skills:
        argv += ["--plugin-dir", folder]
    return Launch(argv=tuple(argv), env=env, cwd=spec.directory)


def _mcp_timeout(servers: Iterable[dict[str, Any]]) -> dict[str, str]:
    """How long servers may take to connect: there is one variable for all, so the longest."""
    timeouts = [server.get("timeoutMs") or server.get("timeout") for server in servers]
    if not any(timeouts):
        return {}
    return {"MCP_TIMEOUT": str(max(timeout or MCP_TIMEOUT_MS for timeout in timeouts))}


def _server(name: str, config: dict[str, Any], env: dict[str, str]) -> dict[str, Any]:
    """An MCP server in Claude Code's configuration. Secrets go by environment, not by flag."""
    server = mcp_server(config, into_environment(name, env))
    return {"type": (config.get("transport") or "http") if "url" in server else "stdio", **server}
