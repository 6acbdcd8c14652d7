"""Talking to an agent from the terminal."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from dragoman.schema.events import (
    Event,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    PermissionRequested,
    Question,
    QuestionOption,
    QuestionRequested,
    TurnEnded,
)
from dragoman.schema.items import Item, Text, ToolCall, ToolResult
from tests.cli.conftest import Terminal
from tests.client.canned import Answer, Canned, event, frame, session_info, stream, turn

STREAM = "/v1/sessions/s1/messages/stream"


def says(daemon: Canned, *bodies: Event) -> None:
    """Let the daemon answer the message with these events."""
    daemon.on("POST", STREAM, stream(*map(frame, bodies)))


def test_text_is_streamed_and_joined(daemon: Canned, terminal: Terminal) -> None:
    says(daemon, *turn("Hel", "lo [b]you[/b]\n", "there"))
    shown = terminal.run("send", "s1", "say", "hi").stdout
    assert shown.startswith("Hello [b]you[/b]\nthere\n")
    assert daemon.seen[0].json() == {"message": "say hi"}


def test_control_sequences_of_an_agent_do_not_reach_the_terminal(
    daemon: Canned, terminal: Terminal
) -> None:
    says(daemon, *turn("a\x1b]52;c;ZXZpbA==\x07b\x1b[2J", "\x9b31mc\r\x08d"))
    shown = terminal.run("send", "s1", "hi").stdout
    assert shown.startswith("abcd\n")


def test_ones_own_message_is_not_repeated(daemon: Canned, terminal: Terminal) -> None:
    mine = Item(item_id="itm_u", kind="message", role="user", content=(), status="in_progress")
    whole = msgspec.structs.replace(mine, content=(Text(text="my words"),), status="completed")
    said = turn("answer", first=4)
    says(
        daemon,
        event(1, ItemStarted(item=mine)),
        event(2, ItemDelta(item_id="itm_u", delta="my words")),
        event(3, ItemCompleted(item=whole)),
        *said,
    )
    shown = terminal.run("send", "s1", "my words").stdout
    assert "my words" not in shown
    assert "answer" in shown


def test_tools_are_one_line_each(daemon: Canned, terminal: Terminal) -> None:
    call = ToolCall(name="Bash", arguments='{"command":\n"ls"}', call_id="c1")
    result = ToolResult(call_id="c1", output="one\ntwo")
    says(
        daemon,
        event(1, ItemCompleted(item=_item("itm_1", "tool_call", call))),
        event(2, ItemCompleted(item=_item("itm_2", "tool_result", result))),
        event(3, TurnEnded(outcome="completed")),
    )
    first, second, _ = terminal.run("send", "s1", "hi").stdout.splitlines()
    assert first == '→ Bash {"command": "ls"}'
    assert second == "← one two"


def test_a_permission_shows_what_is_wanted_and_the_command_that_answers(
    daemon: Canned, terminal: Terminal
) -> None:
    asked = PermissionRequested(
        permission_id="perm 1", action="Bash", metadata={"command": "ls\x1b[8m; rm -rf ~\x1b[0m"}
    )
    says(daemon, event(1, asked), event(2, TurnEnded(outcome="completed")))
    shown = terminal.run("send", "s1", "hi", "--url", daemon.url).stdout
    assert "| ls\\x1b[8m; rm -rf ~\\x1b[0m\n" in shown
    assert f"dragoman reply s1 'perm 1' once --url {daemon.url}" in shown


def test_a_question_shows_its_options_and_the_command_that_answers(
    daemon: Canned, terminal: Terminal
) -> None:
    parts = (
        Question(prompt="Which?", options=(QuestionOption(label="A b", description="why"),)),
        Question(prompt="Name?"),
    )
    asked = QuestionRequested(question_id="q1", prompt="Which?", options=("A b",), questions=parts)
    says(daemon, event(1, asked), event(2, TurnEnded(outcome="completed")))
    shown = terminal.run("send", "s1", "hi").stdout
    assert "- A b: why" in shown
    assert "dragoman reply s1 q1 --answer 'A b' --answer TEXT" in shown


@pytest.mark.parametrize("outcome", ["failed", "interrupted"])
def test_a_turn_that_is_not_completed_is_an_error(
    daemon: Canned, terminal: Terminal, outcome: str
) -> None:
    ended = event(1, msgspec.convert({"outcome": outcome}, TurnEnded))
    says(daemon, ended)
    assert outcome in terminal.run("send", "s1", "hi", code=1).stdout


def test_for_programs_a_turn_is_json_lines(daemon: Canned, terminal: Terminal) -> None:
    said = turn("a", "b")
    says(daemon, *said)
    lines = terminal.run("send", "s1", "hi", "--json").stdout.splitlines()
    assert [json.loads(line)["sequence"] for line in lines] == [e.sequence for e in said]


def test_no_wait_prints_the_message_id(daemon: Canned, terminal: Terminal) -> None:
    daemon.on(
        "POST", "/v1/sessions/s1/messages", Answer(204, headers={"dragoman-message-id": "msg_1"})
    )
    assert terminal.run("send", "s1", "hi", "--no-wait").stdout == "msg_1\n"
    done = terminal.run("send", "s1", "-", "--no-wait", "--json", stdin="from stdin")
    assert json.loads(done.stdout) == {"messageId": "msg_1"}
    assert daemon.seen[1].json() == {"message": "from stdin"}


def test_with_an_agent_a_missing_session_is_created_here(
    daemon: Canned, terminal: Terminal, tmp_path: Path
) -> None:
    daemon.problem("GET", "/v1/sessions/s1", 404, "Session Not Found")
    daemon.on("POST", "/v1/sessions/s1", Answer(200, {"healthy": True}))
    says(daemon, *turn("hi"))
    terminal.run("send", "s1", "hi", "--agent", "mock")
    assert [seen.method for seen in daemon.seen] == ["GET", "POST", "POST"]
    assert daemon.seen[1].json() == {"agent": "mock", "directory": str(tmp_path)}


def test_with_an_agent_a_session_that_exists_is_used(daemon: Canned, terminal: Terminal) -> None:
    daemon.on("GET", "/v1/sessions/s1", Answer(body=session_info()))
    says(daemon, *turn("hi"))
    terminal.run("send", "s1", "hi", "--agent", "mock", "--dir", "sub")
    assert [seen.path for seen in daemon.seen] == ["/v1/sessions/s1", STREAM]


def test_a_missing_session_gets_a_hint(daemon: Canned, terminal: Terminal) -> None:
    daemon.problem("POST", STREAM, 404, "Session Not Found", detail="there is no session 's1'")
    assert "--agent NAME" in terminal.run("send", "s1", "hi", code=4).stderr


def _item(item_id: str, kind: str, part: ToolCall | ToolResult) -> Item:
    return msgspec.convert(
        {"item_id": item_id, "kind": kind, "content": (part,), "status": "completed"}, Item
    )
