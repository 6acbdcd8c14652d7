"""How Claude Code is started: what is secret stays off the command line."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from dragoman.adapter import Spec
from dragoman.agents.claude.launch import launch
from dragoman.facts import Launch


def started(**given: Any) -> Launch:
    """The start of a session."""
    about = {"session_id": "s", "agent": "claude", "agent_mode": "build", "directory": "/w"}
    return launch(Spec(**{**about, "fresh_id": "id", **given}), ("claude",))


def servers(start: Launch) -> Any:
    """The MCP servers as Claude Code reads them, with their variables filled in."""
    config = start.argv[start.argv.index("--mcp-config") + 1]
    filled = re.sub(r"\$\{(\w+)\}", lambda found: start.env[found[1]], config)
    return msgspec.json.decode(filled)["mcpServers"]


def test_servers_with_like_names_keep_their_own_secrets() -> None:
    start = started(
        mcp={
            "a": {"type": "stdio", "command": "x", "env": {"B_C": "one"}},
            "a_b": {"type": "local", "command": ["y", "z"], "environment": {"C": "two"}},
            "a-b": {"type": "local", "command": "y", "args": ["z"], "env": {"C": "three"}},
        }
    )
    assert not any(secret in " ".join(start.argv) for secret in ("one", "two", "three"))
    found = servers(start)
    assert found["a"] == {"type": "stdio", "command": "x", "args": [], "env": {"B_C": "one"}}
    assert found["a_b"] == {"type": "stdio", "command": "y", "args": ["z"], "env": {"C": "two"}}
    assert found["a-b"]["env"] == {"C": "three"}


def test_a_remote_server_keeps_address_and_headers_secret() -> None:
    remote = {
        "type": "remote",
        "url": "http://x/?key=one",
        "headers": {"X": "two"},
        "envHeaders": {"Y": "OWN"},
        "bearerTokenEnvVar": "TOKEN",
        "transport": "sse",
    }
    start = started(mcp={"far": remote}, env={"OWN": "three", "TOKEN": "four"})
    assert not any(secret in " ".join(start.argv) for secret in ("one", "two", "three", "four"))
    assert servers(start)["far"] == {
        "type": "sse",
        "url": "http://x/?key=one",
        "headers": {"X": "two", "Y": "three", "Authorization": "Bearer four"},
    }


def test_without_servers_the_users_own_are_left_alone() -> None:
    off = {"type": "stdio", "command": "x", "enabled": False}
    assert "--mcp-config" not in started(mcp={"a": off}).argv


@pytest.mark.parametrize(
    ("given", "flags"),
    [
        ({}, ["--permission-mode", "default", "--session-id", "id"]),
        ({"agent_mode": "plan"}, ["--permission-mode", "plan"]),
        ({"permission_mode": "acceptEdits"}, ["--permission-mode", "acceptEdits"]),
        ({"permission_mode": "bypass"}, ["--dangerously-skip-permissions"]),
        ({"native_session_id": "old"}, ["--resume", "old"]),
        ({"native_session_id": "old", "fork": True}, ["--resume", "old", "--fork-session"]),
        ({"model": "opus", "variant": "high"}, ["--model", "opus", "--effort", "high"]),
    ],
    ids=str,
)
def test_what_was_asked_for_becomes_flags(given: dict[str, Any], flags: list[str]) -> None:
    argv = list(started(**given).argv)
    at = argv.index(flags[0])
    assert argv[at : at + len(flags)] == flags


def test_root_may_bypass_and_may_say_otherwise() -> None:
    assert started(permission_mode="bypass").env["IS_SANDBOX"] == "1"
    assert started(permission_mode="bypass", env={"IS_SANDBOX": "0"}).env["IS_SANDBOX"] == "0"
    assert "IS_SANDBOX" not in started().env


@pytest.mark.parametrize(
    ("timeouts", "told"),
    [
        ((), None),
        (({},), None),
        (({"timeoutMs": 2000},), "2000"),
        (({"timeout": 3000}, {"timeoutMs": 2000}), "3000"),
        (({"timeoutMs": 2000}, {}), "30000"),
        (({"timeoutMs": 2000}, {"enabled": False}), "2000"),
    ],
)
def test_the_longest_time_that_a_server_may_take_is_told(
    timeouts: tuple[dict[str, Any], ...], told: str | None
) -> None:
    """Before, what a server was given had no effect, and Claude Code waited for 30 seconds."""
    each = {"type": "local", "command": "x"}
    start = started(mcp={str(at): {**each, **more} for at, more in enumerate(timeouts)})
    assert start.env.get("MCP_TIMEOUT") == told


def test_a_time_that_the_session_sets_itself_stays() -> None:
    server = {"type": "local", "command": "x", "timeoutMs": 2000}
    start = started(mcp={"a": server}, env={"MCP_TIMEOUT": "9"})
    assert start.env["MCP_TIMEOUT"] == "9"
