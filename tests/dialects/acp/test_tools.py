"""Tool calls: names, arguments, output, exit codes, files."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from dragoman.schema.commands import Interrupt
from tests.dialects.acp.peer import SPEC, Peer


def text(words: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": words}}


def call(peer: Peer, *updates: dict[str, Any], **first: Any) -> tuple[Any, Any]:
    """A call from its start to its end; the items of call and result."""
    peer.update("tool_call", toolCallId="c1", **first)
    for each in updates:
        peer.update("tool_call_update", toolCallId="c1", **each)
    (made,), (result,) = peer.items("tool_call"), peer.items("tool_result")
    peer.conforms()
    return made, result


def test_a_command_has_its_words_its_output_and_its_exit_code() -> None:
    made, result = call(
        Peer().in_turn(),
        {"status": "in_progress", "rawInput": {"command": "ls", "cwd": "sub"}, "title": "ls"},
        {"status": "in_progress", "content": [text("a\n")]},
        {"status": "in_progress", "content": [text("a\nb\n")]},
        {"status": "failed", "rawOutput": {"output": "a\nb\n", "metadata": {"exit": 3}}},
        title="bash", kind="execute", status="pending",
    )  # fmt: skip
    assert made["content"][0]["name"] == "bash"
    assert (made["command"], made["cwd"], made["title"]) == ("ls", "/project/sub", "ls")
    assert result["content"][0]["output"] == "a\nb\n"
    assert (result["status"], result["exit_code"]) == ("failed", 3)


def test_output_streams_piece_by_piece() -> None:
    peer = Peer().in_turn()
    call(
        peer,
        {"status": "in_progress", "content": [text("one ")]},
        {"status": "in_progress", "content": [text("one two")]},
        {"status": "completed"},
        title="ls", kind="execute", rawInput={"command": "ls"},
    )  # fmt: skip
    pieces = [each for each in peer.of_type("item.delta") if each["content_type"] == "output"]
    assert [each["delta"] for each in pieces] == ["one ", "two"]


def test_a_command_shows_what_it_printed_and_not_what_is_said_of_it() -> None:
    """Before, Qwen Code's report of the command stood in the place of its output."""
    _, result = call(
        Peer().in_turn(),
        {
            "status": "failed",
            "content": [text("Command: ls\nOutput: a\nExit Code: 2")],
            "rawOutput": {"output": "a", "exitCode": 2, "truncated": True},
        },
        title="Shell", kind="execute",
    )  # fmt: skip
    assert (result["content"][0]["output"], result["exit_code"]) == ("a", 2)
    assert result["truncated"] is True


def test_arguments_that_come_in_as_text_are_no_output() -> None:
    """Before, Kimi Code's arguments were shown as what its tool printed."""
    peer = Peer().in_turn()
    made, result = call(
        peer,
        {"status": "in_progress", "content": [text('{"command":"to')]},
        {"status": "in_progress", "content": [text('{"command":"touch a"}')]},
        {"status": "completed", "content": [text("Done.")], "rawOutput": "Done."},
        title="Bash", kind="execute", status="pending", content=[text("")],
    )  # fmt: skip
    assert (made["command"], result["content"][0]["output"]) == ("touch a", "Done.")
    assert made["content"][0]["arguments"] == '{"command":"touch a"}'


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ({"title": "Read a file", "_meta": {"toolName": "read_file"}}, "read_file"),
        ({"title": "Read", "_meta": {"claudeCode": {"toolName": "Read"}}}, "Read"),
        ({"title": "bash", "kind": "execute"}, "bash"),
        ({"title": "Reading a.txt", "kind": "read"}, "read"),
        ({"title": "Reading a.txt", "kind": "other"}, "Reading a.txt"),
        ({}, "tool"),
    ],
)
def test_a_tool_is_called_by_the_best_name_there_is(told: Any, name: str) -> None:
    made, _ = call(Peer().in_turn(), {"status": "completed"}, **told)
    assert made["content"][0]["name"] == name


def test_a_tool_of_an_mcp_server_names_it() -> None:
    servers = {"weather": {"type": "local", "command": ["w"]}}
    peer = Peer(replace(SPEC, mcp=servers)).in_turn()
    made, _ = call(peer, {"status": "completed"}, title="mcp__weather__rain")
    assert made["server"] == "weather"


def test_a_diff_is_a_file_that_was_changed() -> None:
    changed = {"type": "diff", "path": "a.txt", "oldText": "a\n", "newText": "b\n"}
    made = {"type": "diff", "path": "/project/b.txt", "newText": "new\n"}
    _, result = call(
        Peer().in_turn(),
        {"status": "completed", "content": [changed, made]},
        title="edit", kind="edit",
    )  # fmt: skip
    first, second = result["content"][1:]
    assert (first["path"], first["action"]) == ("/project/a.txt", "patch")
    assert "-a\n+b\n" in first["diff"]
    assert (second["path"], second["action"]) == ("/project/b.txt", "write")


def test_a_diff_of_a_call_that_failed_changed_nothing() -> None:
    changed = {"type": "diff", "path": "a.txt", "oldText": "a\n", "newText": "b\n"}
    _, result = call(
        Peer().in_turn(), {"status": "failed", "content": [changed]}, title="edit", kind="edit"
    )
    assert [each["type"] for each in result["content"]] == ["tool_result"]


def test_a_file_that_is_read_is_named() -> None:
    _, result = call(
        Peer().in_turn(),
        {"status": "completed", "content": [text("words")]},
        title="read", kind="read", locations=[{"path": "a.txt", "line": 3}, {"no": "path"}],
    )  # fmt: skip
    assert result["content"][1]["path"] == "/project/a.txt"
    assert result["content"][1]["action"] == "read"


def test_other_content_stays_in_the_result() -> None:
    image = {"type": "content", "content": {"type": "image", "data": "iVBORw==", "mimeType": "x"}}
    terminal = {"type": "terminal", "terminalId": "t1"}
    _, result = call(
        Peer().in_turn(),
        {"status": "completed", "content": [text("Seen."), image, terminal, {"type": "new"}]},
        title="look", kind="read",
    )  # fmt: skip
    types = [each["type"] for each in result["content"]]
    assert types[0] == "tool_result"
    assert "json" in types
    assert len(types) >= 3


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("plain", "plain"),
        ({"text": "named"}, "named"),
        ({"error": "broken"}, "broken"),
        ({"output": [104, 105]}, "hi"),
        ({"rows": 3}, '{"rows":3}'),
    ],
)
def test_a_result_that_only_the_agents_own_form_tells(output: Any, expected: str) -> None:
    _, result = call(Peer().in_turn(), {"status": "completed", "rawOutput": output}, title="x")
    assert result["content"][0]["output"] == expected


def test_what_is_cut_by_an_interrupt_says_so() -> None:
    peer = Peer().in_turn()
    peer.update("tool_call", toolCallId="c1", title="ls", kind="execute", status="in_progress")
    peer.command(Interrupt())
    peer.update("tool_call_update", toolCallId="c1", status="failed")
    peer.end("cancelled")
    (result,) = peer.items("tool_result")
    assert (result["status"], result["reason"]) == ("failed", "interrupted")
    peer.conforms()


def test_what_still_comes_of_a_call_that_is_over_changes_nothing() -> None:
    peer = Peer().in_turn()
    call(peer, {"status": "completed", "content": [text("a")]}, title="ls")
    peer.end()
    before = len(peer.items("tool_result"))
    peer.send()
    peer.update("tool_call_update", toolCallId="c1", status="completed", content=[text("b")])
    peer.end()
    assert len(peer.items("tool_result")) == before
    peer.conforms()
