"""The command line and environment of an Amp process, which lives for one turn."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.adapter import Spec
from dragoman.facts import Launch

FLAGS = (
    "--execute",
    "--stream-json",
    "--stream-json-thinking",
    "--stream-json-input",
    # Otherwise the first turn archives the thread, and no other process can continue it.
    "--no-archive-after-execute",
    "--no-ide",
    "--no-color",
    "--no-notifications",
)
QUIET = {"AMP_SKIP_UPDATE_CHECK": "1"}
"""A daemon's process does not look for updates."""


def launch(spec: Spec, command: tuple[str, ...]) -> Launch:
    """How to start a process for the next turn of this session."""
    thread = spec.native_session_id
    argv = [*command, *(("threads", "continue", thread) if thread else ()), *FLAGS]
    argv += ["--mode", spec.variant] if spec.variant else []
    argv += ["--dangerously-allow-all"] if spec.permission_mode == "bypass" else []
    env = {**QUIET, **spec.env}
    servers = {
        name: _server(name, config, env)
        for name, config in spec.mcp.items()
        if config.get("enabled") is not False
    }
    if servers:
        argv += ["--mcp-config", msgspec.json.encode(servers).decode()]
    return Launch(argv=tuple(argv), env=env, cwd=spec.directory, lifetime="turn")


def _server(name: str, config: dict[str, Any], env: dict[str, str]) -> dict[str, Any]:
    """An MCP server in Amp's configuration. Values that may be secret go by environment."""
    if config["type"] in ("remote", "http"):
        headers = {
            header: _variable(f"{name}_{header}", value, env)
            for header, value in (config.get("headers") or {}).items()
        }
        for header, variable in (config.get("envHeaders") or {}).items():
            headers[header] = f"${{{variable}}}"
        if config.get("bearerTokenEnvVar"):
            headers["Authorization"] = f"Bearer ${{{config['bearerTokenEnvVar']}}}"
        return {"url": _variable(f"{name}_url", config["url"], env), "headers": headers}
    command = config["command"]
    words = [command] if isinstance(command, str) else list(command)
    environment = {**(config.get("environment") or {}), **(config.get("env") or {})}
    return {
        "command": words[0],
        "args": [*words[1:], *(config.get("args") or ())],
        "env": {key: _variable(f"{name}_{key}", value, env) for key, value in environment.items()},
    }


def _variable(name: str, value: str, env: dict[str, str]) -> str:
    """Put a value into the environment and return a reference to it.

    Variables are numbered, since two names may differ only in characters that no variable has.
    """
    suffix = "".join(c if c.isascii() and c.isalnum() else "_" for c in name).upper()
    variable = f"MCP_{len(env)}_{suffix}"
    env[variable] = value
    return f"${{{variable}}}"
