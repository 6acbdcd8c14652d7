"""Grok's tools: arguments as they are written, output in bytes, files, MCP servers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from dragoman.testing.conform import mcp_server
from tests.agents.grok.live.scripts import command, tool
from tests.agents.live import Bench, Live, calls
from tests.agents.results import file_of, output, results
from tests.agents.scenarios.test_attachments import png
from tests.agents.watch import statuses
from tests.testing.story import items, of_type, parts, said


def free(grok: Bench, *steps: Any, **more: Any) -> Live:
    """A session that asks for nothing."""
    return grok.session(*steps, permissionMode="bypass", **more)


def test_arguments_stream_as_the_model_writes_them(grok: Bench) -> None:
    live = free(grok, calls(command("echo a-rather-long-word; echo another"), text="So."), "Done.")
    events = live.turn("Go")
    (call,) = items(events, "tool_call")
    pieces = [
        event["data"]["delta"]
        for event in events
        if event["type"] == "item.delta" and event["data"]["content_type"] == "arguments"
    ]
    assert len(pieces) > 1
    assert "".join(pieces) == parts(call, "tool_call")[0]["arguments"]
    assert call["command"] == "echo a-rather-long-word; echo another"
    live.conforms()


def test_bytes_that_a_command_prints_are_a_text(grok: Bench) -> None:
    live = free(grok, calls(command("printf 'Grüße\\n\\377'; exit 3")), "Done.")
    (result,) = results(live.turn("Go"))
    assert (result["status"], result["exit_code"]) == ("failed", 3)
    assert output(result) == "Grüße\n\ufffd"
    live.conforms()


def test_output_streams(grok: Bench) -> None:
    live = free(grok, calls(command("echo one; sleep 0.4; echo two")), "Done.")
    events = live.turn("Go")
    (result,) = results(events)
    pieces = [
        event["data"]["delta"]
        for event in events
        if event["type"] == "item.delta" and event["data"]["content_type"] == "output"
    ]
    assert pieces == ["one\n", "two\n"]
    assert output(result) == "one\ntwo\n"
    live.conforms()


def test_an_edit_has_its_diff(grok: Bench) -> None:
    live = free(grok)
    path = live.workspace / "a.txt"
    path.write_text("one\ntwo\nthree\n")
    edit = tool("search_replace", file_path=str(path), old_string="two", new_string="TWO")
    live.model.add(calls(tool("read_file", target_file=str(path))), calls(edit), "Done.")
    read, changed = results(live.turn("Go"))
    assert "two" in output(read)
    assert file_of(read)["action"] == "read"
    file = file_of(changed)
    assert (file["path"], file["action"]) == (str(path), "patch")
    assert "@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n" in file["diff"]
    assert path.read_text() == "one\nTWO\nthree\n"
    live.conforms()


def test_what_is_to_be_done_is_a_plan(grok: Bench) -> None:
    todos = [
        {"id": "1", "content": "Look", "status": "completed"},
        {"id": "2", "content": "Write", "status": "in_progress"},
    ]
    live = free(grok, calls(tool("todo_write", merge=False, todos=todos)), "Planned.")
    events = live.turn("Plan it")
    assert statuses(events, "plan")[0]["content"][0]["detail"] == "1 of 2 done"
    (result,) = results(events)
    assert output(result) == "- [completed] 1: Look\n- [in_progress] 2: Write\n"
    live.conforms()


def test_an_image_that_is_read_is_stored(grok: Bench) -> None:
    live = free(grok, calls(tool("read_file", target_file="a.png")), "Red.")
    (live.workspace / "a.png").write_bytes(png())
    (result,) = results(live.turn("Look"))
    (image,) = parts(result, "image")
    assert image["mime"] == "image/png"
    assert Path(image["path"]).is_file()
    live.conforms()


def test_an_image_that_grok_drops_is_told(grok: Bench, tmp_path: Path) -> None:
    (tmp_path / "tiny.png").write_bytes(png(2))
    live = grok.session("Which picture?")
    body = {"message": "Look", "attachments": [{"path": str(tmp_path / "tiny.png")}]}
    assert live.post("/messages", body).status == 204
    live.until("turn.ended")
    (dropped,) = statuses(live.conforms(), "image dropped")
    assert "too small" in dropped["content"][0]["detail"]


# --- MCP servers ---


def served(grok: Bench, *steps: Any, **more: Any) -> Live:
    """A session with a server that comes up."""
    server = {"type": "stdio", "command": [sys.executable, mcp_server.__file__]}
    return grok.session(*steps, mcp={"tiny": server}, **more)


def shout() -> Any:
    return calls(tool("use_tool", tool_name="tiny__shout", tool_input={"text": "hello"}))


def test_a_tool_of_a_server_is_there_for_the_first_message(grok: Bench) -> None:
    live = served(grok, shout(), "Done.", permissionMode="bypass")
    events = live.turn("Shout")
    (call,) = items(events, "tool_call")
    assert call["server"] == "tiny"
    told = parts(call, "tool_call")[0]
    assert told["name"] == "tiny__shout"
    assert '"tool_input":{"text":"hello"}' in told["arguments"]
    (result,) = results(events)
    assert (result["status"], output(result)) == ("completed", "HELLO")
    live.conforms()


def test_a_tool_of_a_server_is_asked_for(grok: Bench) -> None:
    live = served(grok, shout(), "Then not.")
    live.send("Shout")
    request = live.until("permission.requested")
    assert request["data"]["action"] == "tiny__shout"
    live.reply(request, "reject", message="Be quiet.")
    live.until("turn.ended")
    events = live.conforms()
    assert [each["status"] for each in results(events)] == ["failed"]
    assert said(events) == ["Then not."]


def test_a_server_that_is_not_there_is_told(grok: Bench) -> None:
    live = grok.session("Hello.", mcp={"gone": {"type": "stdio", "command": ["/no/such/server"]}})
    assert said(live.turn("Hi")) == ["Hello."]
    (told,) = statuses(live.conforms(), "mcp_server")
    assert told["status"] == "failed"
    assert of_type(live.events(), "error") == []
