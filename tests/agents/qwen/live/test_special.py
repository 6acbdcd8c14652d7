"""What Qwen Code has beside the shared scenarios: plans, modes, servers, diffs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from dragoman.testing.conform import mcp_server
from tests.agents.live import Bench, Block, calls
from tests.agents.results import output, results
from tests.agents.scenarios.test_attachments import images, png, send
from tests.agents.watch import heard, labelled, says, statuses
from tests.testing.story import items, of_type, outcome, parts, said


def tool(name: str, **arguments: Any) -> Block:
    return {"tool": name, "input": arguments}


def test_a_file_is_edited_with_its_diff(qwen: Bench) -> None:
    live = qwen.session()
    path = live.workspace / "a.txt"
    path.write_text("one\ntwo\n")
    edit = {"file_path": str(path), "old_string": "two\n", "new_string": "three\n"}
    live.model.add(
        calls(tool("read_file", file_path=str(path))), calls(tool("edit", **edit)), "Done."
    )
    live.send("Edit it")
    request = live.until("permission.requested")
    about = request["data"]["metadata"]
    assert about["path"] == str(path)
    assert "-two\n+three\n" in about["diff"]
    live.reply(request, "once")
    live.until("turn.ended")
    events = live.conforms()
    read, changed = results(events)
    assert [part["action"] for part in parts(read, "file_ref")] == ["read"]
    (file,) = parts(changed, "file_ref")
    assert (file["path"], file["action"]) == (str(path), "patch")
    assert "-two\n+three\n" in file["diff"]
    assert path.read_text() == "one\nthree\n"


def test_a_plan_is_a_status(qwen: Bench) -> None:
    todos = [
        {"id": "1", "content": "Look", "status": "completed"},
        {"id": "2", "content": "Write", "status": "in_progress"},
    ]
    live = qwen.session(calls(tool("todo_write", todos=todos)), "Planned.")
    events = live.turn("Plan it")
    (plan,) = statuses(events, "plan")
    assert plan["content"][0]["detail"] == "1 of 2 done"
    assert said(events) == ["Planned."]
    live.conforms()


def test_a_session_begins_in_a_mode_that_asks(qwen: Bench) -> None:
    """Left alone it would ask its model, and not people."""
    live = qwen.session("Hello.")
    live.turn("Hi")
    assert live.info["agentMode"] == "default"
    live.conforms()


def test_a_mode_of_its_own_is_switched_to(qwen: Bench) -> None:
    live = qwen.session("One.", calls(qwen.agent.shell("touch made")), "Done.", agentMode="plan")
    live.turn("1")
    assert live.info["agentMode"] == "plan"
    live.patch(agentMode="yolo")
    events = live.turn("Make it")
    assert not of_type(events, "permission.requested")
    assert (live.workspace / "made").exists()
    assert live.info["agentMode"] == "yolo"
    live.conforms()


def test_a_tool_of_an_mcp_server_is_asked_for_and_called(qwen: Bench) -> None:
    server = {"type": "stdio", "command": [sys.executable, mcp_server.__file__]}
    shout = calls(tool("mcp__tiny__shout", text="hello"))
    live = qwen.session(shout, "Done.", mcp={"tiny": server})
    live.send("Shout")
    request = live.until("permission.requested")
    assert request["data"]["action"] == "mcp__tiny__shout"
    live.reply(request, "once")
    live.until("turn.ended")
    events = live.conforms()
    (call,) = items(events, "tool_call")
    assert call["server"] == "tiny"
    (result,) = results(events)
    assert (result["status"], "HELLO" in output(result)) == ("completed", True)


def test_commands_are_listed_and_one_is_answered_by_itself(qwen: Bench) -> None:
    live = qwen.session("Hello.")
    live.turn("Hi")
    heard(live, labelled("commands"))
    events = live.turn("/context")
    assert outcome(events) == "completed"
    assert said(events)
    assert len(live.model.mains) == 1
    live.conforms()


def test_a_command_that_fails_has_its_exit_code(qwen: Bench) -> None:
    live = qwen.session(
        calls(qwen.agent.shell("echo out; exit 3")), "Done.", permissionMode="bypass"
    )
    (result,) = results(live.turn("Run it"))
    assert (result["status"], result["exit_code"], output(result)) == ("failed", 3, "out")
    live.conforms()


def test_an_image_reaches_the_model(qwen: Bench, tmp_path: Path) -> None:
    """What it makes of images itself, it does not show."""
    (tmp_path / "a.png").write_bytes(png())
    live = qwen.session("Red.")
    send(live, "Look", {"path": str(tmp_path / "a.png")})
    assert images(live) == [("image/png", png())]
    (message,) = items(live.conforms(), "message", "user")
    assert parts(message, "image")


def test_edits_are_accepted_inside_and_asked_for_outside(qwen: Bench) -> None:
    live = qwen.session(permissionMode="acceptEdits")
    inside, outside = live.workspace / "a.txt", live.folder / "out.txt"
    write = qwen.agent.write
    live.model.add(
        {"blocks": [{"text": "Now."}, write(str(inside), "a\n")]}, calls(write(str(outside), "a\n"))
    )
    live.send("Write them")
    heard(live, says("Now."))
    while "out.txt" not in str(request := live.until("permission.requested")):
        pass  # what the mode answers by itself is asked for, too
    live.reply(request, "reject")
    live.until("turn.ended")
    assert [each["status"] for each in results(live.conforms())] == ["completed", "failed"]
    assert (inside.exists(), outside.exists()) == (True, False)
