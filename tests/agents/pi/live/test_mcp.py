"""MCP servers that are given with a session, and their tools."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.testing.conform import mcp_server
from tests.agents.live import Bench, Live, calls, capabilities_of
from tests.agents.pi.live.agent import PI
from tests.agents.pi.live.scripts import bash, tool
from tests.agents.results import output, results
from tests.testing.story import items, of_type

pytestmark = pytest.mark.skipif(
    "mcpTools" not in capabilities_of(PI.adapter).shown, reason="this version takes no MCP servers"
)


def session(pi: Bench, *steps: Any, **more: Any) -> Live:
    """A session with a server that comes up."""
    server = {"type": "stdio", "command": [sys.executable, mcp_server.__file__]}
    env = {"env": {"TINY_SECRET": "correct-horse-battery"}}
    return pi.session(*steps, mcp={"tiny": {**server, **env}}, **more)


def test_a_tool_of_a_server_is_called(pi: Bench) -> None:
    live = session(
        pi, calls(tool("mcp__tiny__shout", text="hello")), "Done.", permissionMode="bypass"
    )
    events = live.turn("Shout")
    (call,) = items(events, "tool_call")
    assert call["server"] == "tiny"
    (result,) = results(events)
    assert (result["status"], output(result)) == ("completed", "HELLO")
    live.conforms()


def test_a_tool_of_a_server_is_asked_for(pi: Bench) -> None:
    live = session(pi, calls(tool("mcp__tiny__shout", text="hello")), "Done.")
    live.send("Shout")
    request = live.until("permission.requested")
    assert request["data"]["action"] == "mcp__tiny__shout"
    live.reply(request, "reject")
    live.until("turn.ended")
    assert [each["status"] for each in results(live.conforms())] == ["failed"]


def test_a_servers_secret_is_on_no_command_line_and_in_no_file(pi: Bench) -> None:
    live = session(pi, calls(bash("env | grep -c TINY_SECRET")), "Done.", permissionMode="bypass")
    (result,) = results(live.turn("Look"))
    assert output(result).strip() == "0"
    for pid in live.processes():
        assert "correct-horse" not in Path(f"/proc/{pid}/cmdline").read_text()
    kept = [file for file in live.home.rglob("*") if file.is_file()]
    assert not [file for file in kept if b"correct-horse" in file.read_bytes()]
    assert of_type(live.conforms(), "error") == []
