"""What `opencode acp` has beside the shared scenarios."""

from __future__ import annotations

import sys

from dragoman.testing.conform import mcp_server
from tests.agents.live import Bench, calls
from tests.agents.results import output, results
from tests.agents.watch import heard, labelled, statuses
from tests.testing.story import items, of_type, parts


def test_a_file_is_asked_for_and_written_by_the_agent_itself(opencode: Bench) -> None:
    """It calls `fs/write_text_file` although that is not offered, and goes on without it."""
    live = opencode.session()
    path = live.workspace / "a.txt"
    live.model.add(calls(opencode.agent.write(str(path), "a\n")), "Written.")
    live.send("Write it")
    request = live.until("permission.requested")
    assert request["data"]["metadata"]["path"] == str(path)
    assert "+a" in request["data"]["metadata"]["diff"]
    live.reply(request, "once")
    live.until("turn.ended")
    events = live.conforms()
    (result,) = results(events)
    (file,) = parts(result, "file_ref")
    assert (file["action"], "+a" in file["diff"]) == ("write", True)
    assert path.read_text() == "a\n"
    assert len(statuses(events, "refused")) == 1


def test_a_mode_of_its_own_is_switched_to(opencode: Bench) -> None:
    live = opencode.session("One.", "Two.", agentMode="plan")
    live.turn("1")
    assert live.info["agentMode"] == "plan"
    live.patch(agentMode="build")
    live.turn("2")
    assert live.info["agentMode"] == "build"
    live.conforms()


def test_a_tool_of_an_mcp_server_is_called(opencode: Bench) -> None:
    server = {"type": "stdio", "command": [sys.executable, mcp_server.__file__]}
    shout = calls({"tool": "tiny_shout", "input": {"text": "hello"}})
    live = opencode.session(shout, "Done.", mcp={"tiny": server}, permissionMode="bypass")
    events = live.turn("Shout")
    (call,) = items(events, "tool_call")
    assert call["server"] == "tiny"
    (result,) = results(events)
    assert (result["status"], "HELLO" in output(result)) == ("completed", True)
    live.conforms()


def test_its_commands_are_listed(opencode: Bench) -> None:
    live = opencode.session("Hello.")
    live.turn("Hi")
    heard(live, labelled("commands"))
    assert of_type(live.conforms(), "agent.unparsed") == []
