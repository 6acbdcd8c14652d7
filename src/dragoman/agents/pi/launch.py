"""The command line and environment of a Pi process."""

from __future__ import annotations

import posixpath
from typing import Any

import msgspec

from dragoman.adapter import Spec
from dragoman.facts import Launch, is_since
from dragoman.wire.mcp_config import mcp_server

EXTENSION = posixpath.join(posixpath.dirname(__file__), "extension.ts")
"""Our own extension, which asks for permissions: Pi itself asks for none."""
FIRST_WITH_SESSION_ID = "0.76.0"
FIRST_WITH_MCP = "0.99.0"
FIRST_WITH_MAX = "0.80.6"
FIRST_WITH_CLEAR_QUEUE = "0.84.4"
QUIET = {"PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}
"""A daemon's process neither looks for updates nor reports itself."""


def launch(spec: Spec, command: tuple[str, ...]) -> Launch:
    """How to start a process that begins this session's conversation, resumes or forks it."""
    argv = [*command, "--mode", "rpc", "-e", EXTENSION, *_conversation(spec)]
    argv += ["--model", spec.model] if spec.model else []
    argv += ["--thinking", level_of(spec.variant, spec.agent_version)] if spec.variant else []
    for folder in spec.skills:
        argv += ["--skill", posixpath.join(folder, "skills")]
    env = {**QUIET, **spec.env}
    if spec.permission_mode == "bypass":
        env["DRAGOMAN_PI_ASKS"] = "no"
    servers = {name: _server(config) for name, config in servers_of(spec).items()}
    if servers:
        env["DRAGOMAN_PI_MCP"] = msgspec.json.encode(servers).decode()
    return Launch(argv=tuple(argv), env=env, cwd=spec.directory)


def level_of(variant: str, version: str | None) -> str:
    """The thinking level: before 0.80.6 the highest has another name, and Pi ignores a word that
    it does not know."""
    return "xhigh" if variant == "max" and not is_since(version, FIRST_WITH_MAX) else variant


def servers_of(spec: Spec) -> dict[str, dict[str, Any]]:
    """The MCP servers that the session is to have."""
    return {name: each for name, each in spec.mcp.items() if each.get("enabled") is not False}


def _conversation(spec: Spec) -> list[str]:
    # `--session` fails where there is no such conversation; `--session-id` would begin one.
    can_choose = is_since(spec.agent_version, FIRST_WITH_SESSION_ID)
    if spec.native_session_id and spec.fork:
        chosen = ["--session-id", spec.fresh_id] if can_choose else []
        return ["--fork", spec.native_session_id, *chosen]
    if spec.native_session_id:
        return ["--session", spec.native_session_id]
    # Before that, what was not stored cannot be found by its name either.
    return ["--session-id", spec.tentative_id or spec.fresh_id] if can_choose else []


def _server(config: dict[str, Any]) -> dict[str, Any]:
    """An MCP server in the words of Pi's own configuration."""
    settings = mcp_server(config)
    if "command" in settings:
        settings["cwd"] = config.get("cwd")
    timeout = config.get("timeoutMs") or config.get("timeout")
    settings["timeout"] = None if timeout is None else timeout / 1000
    # Pi would offer tools of MCP servers to scripts only; other agents offer them to the model.
    settings["exposure"] = "direct"
    return {name: value for name, value in settings.items() if value not in (None, {})}
