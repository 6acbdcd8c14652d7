"""The command line and environment of an Amp process, which lives for one turn."""

from __future__ import annotations

import msgspec

from dragoman.adapter import Spec
from dragoman.facts import Launch
from dragoman.wire.mcp_config import into_environment, mcp_server

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
        name: mcp_server(config, into_environment(name, env))
        for name, config in spec.mcp.items()
        if config.get("enabled") is not False
    }
    if servers:
        argv += ["--mcp-config", msgspec.json.encode(servers).decode()]
    return Launch(argv=tuple(argv), env=env, cwd=spec.directory, lifetime="turn")
