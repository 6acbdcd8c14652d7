"""Talking to an agent from the terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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
    QuestionResolved,
    TurnEnded,
)
from dragoman.schema.items import (
    Item,
    ItemStatus,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Visibility,
)
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


@pytest.mark.parametrize(
    ("words", "stdin"), [([""], None), (["  ", ""], None), (["-"], ""), (["-"], "\n")]
)
def test_a_message_that_says_nothing_is_wrong_usage_and_makes_no_session(
    daemon: Canned, terminal: Terminal, words: list[str], stdin: str | None
) -> None:
    done = terminal.run("send", "s1", *words, "--agent", "mock", stdin=stdin, code=2)
    assert "needs words" in done.stderr
    assert "Traceback" not in done.stderr
    assert not daemon.seen


def test_what_is_attached_needs_no_words(daemon: Canned, terminal: Terminal) -> None:
    file = terminal.home / "notes.txt"
    file.write_text("notes")
    says(daemon, *turn("seen"))
    terminal.run("send", "s1", "", "--attach", str(file))
    assert daemon.seen[0].json() == {"message": "", "attachments": [{"path": str(file)}]}


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


def test_a_command_is_shown_itself_and_a_failure_with_its_code_and_output(
    daemon: Canned, terminal: Terminal
) -> None:
    call = ToolCall(name="Bash", arguments="{}", call_id="c1")
    result = ToolResult(call_id="c1", output="Exit code 3\nfirst\nsecond\n")
    command, title = "rm -f x; exit 3", "Tidy up a little"
    says(
        daemon,
        event(1, ItemCompleted(item=_item("1", "tool_call", call, command=command, title=title))),
        event(2, ItemCompleted(item=_item("2", "tool_result", result, exit_code=3))),
        event(3, TurnEnded(outcome="completed")),
    )
    assert terminal.run("send", "s1", "hi").stdout.splitlines()[:-1] == [
        "→ Bash: rm -f x; exit 3  Tidy up a little",
        "✗ exit 3",
        "  | first",
        "  | second",
    ]


def test_of_a_long_failure_the_end_is_shown(daemon: Canned, terminal: Terminal) -> None:
    output = "\n".join(f"line {number}" for number in range(1, 31))
    result = ToolResult(call_id="c1", output=output)
    failed = _item("2", "tool_result", result, status="failed")
    says(daemon, event(1, ItemCompleted(item=failed)), event(2, TurnEnded(outcome="completed")))
    shown = terminal.run("send", "s1", "hi").stdout.splitlines()
    assert shown[:3] == ["✗ failed", "  | … 18 more lines", "  | line 19"]
    assert shown[-2] == "  | line 30"


def test_results_of_tools_that_run_at_once_say_whose_they_are(
    daemon: Canned, terminal: Terminal
) -> None:
    calls = [ToolCall(name=name, arguments="{}", call_id=name) for name in ("Read", "Grep")]
    results = [ToolResult(call_id=name, output="found") for name in ("Read", "Grep")]
    items = [_item(f"c{at}", "tool_call", call) for at, call in enumerate(calls)]
    items += [_item(f"r{at}", "tool_result", result) for at, result in enumerate(results)]
    bodies = [ItemCompleted(item=item) for item in items]
    ended = TurnEnded(outcome="completed")
    says(daemon, *(event(at, body) for at, body in enumerate([*bodies, ended], 1)))
    shown = terminal.run("send", "s1", "hi").stdout.splitlines()
    assert shown[2:4] == ["← Read: found", "← Grep: found"]


def test_what_the_system_says_is_printed_once(daemon: Canned, terminal: Terminal) -> None:
    notice = Item(item_id="i1", kind="system", role="system", content=(), status="in_progress")
    whole = msgspec.structs.replace(notice, content=(Text(text="A hook"),), status="completed")
    says(
        daemon,
        event(1, ItemStarted(item=notice)),
        event(2, ItemDelta(item_id="i1", delta="A hook")),
        event(3, ItemCompleted(item=whole)),
        event(4, TurnEnded(outcome="completed")),
    )
    assert terminal.run("send", "s1", "hi").stdout == "· A hook\ncompleted\n"


@pytest.mark.parametrize(
    ("visibility", "shown"), [("public", "~ first\n~ second\n"), ("private", "")]
)
def test_reasoning_is_marked_and_raw_thoughts_are_not_shown(
    daemon: Canned, terminal: Terminal, visibility: Visibility, shown: str
) -> None:
    def thought(text: str, status: ItemStatus) -> Item:
        part = Reasoning(text=text, visibility=visibility)
        return Item(item_id="i1", kind="message", role="assistant", content=(part,), status=status)

    streamed = [
        ItemStarted(item=thought("", "in_progress")),
        ItemDelta(item_id="i1", delta="first\nsec", content_type="reasoning"),
        ItemDelta(item_id="i1", delta="ond", content_type="reasoning"),
    ]
    whole = [ItemCompleted(item=thought("first\nsecond", "completed"))]
    for bodies in (streamed + whole, whole):
        all_of_it = [*bodies, TurnEnded(outcome="completed")]
        says(daemon, *(event(at, body) for at, body in enumerate(all_of_it, 1)))
        assert terminal.run("send", "s1", "hi").stdout == f"{shown}completed\n"


def test_text_that_was_cut_and_is_said_anew_is_marked(daemon: Canned, terminal: Terminal) -> None:
    cut = Item(item_id="i1", kind="message", role="assistant", content=(), status="in_progress")
    parts = (Text(text="Once upon"),)
    failed = msgspec.structs.replace(cut, content=parts, status="failed", reason="retracted")
    says(
        daemon,
        event(1, ItemStarted(item=cut)),
        event(2, ItemDelta(item_id="i1", delta="Once upon")),
        event(3, ItemCompleted(item=failed)),
        *turn("Once more.", first=4),
    )
    assert terminal.run("send", "s1", "hi").stdout.splitlines()[:3] == [
        "Once upon",
        "(cut off; the agent tries again)",
        "Once more.",
    ]


def test_a_permission_shows_what_is_wanted_and_the_command_that_answers(
    daemon: Canned, terminal: Terminal
) -> None:
    asked = PermissionRequested(
        permission_id="perm 1",
        action="Bash",
        metadata={"command": "ls\x1b[8m; rm -rf ~\x1b[0m", "rule": "Bash(ls\x1b[8m:*)"},
    )
    says(daemon, event(1, asked), event(2, TurnEnded(outcome="completed")))
    shown = terminal.run("send", "s1", "hi", "--url", daemon.url).stdout
    assert "| ls\\x1b[8m; rm -rf ~\\x1b[0m\n" in shown
    assert "  once | always (Bash(ls\\x1b[8m:*)) | reject\n" in shown
    assert f"dragoman reply s1 'perm 1' once --url {daemon.url}\n" in shown


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
    assert "1. Which?\n     - A b: why\n" in shown
    assert "dragoman reply s1 q1 -a '1=A b' -a 2=TEXT\n" in shown


def test_a_question_that_takes_several_answers_shows_how_to_give_them(
    daemon: Canned, terminal: Terminal
) -> None:
    sizes = tuple(QuestionOption(label=label) for label in ("S, M", "L", "XL"))
    parts = (
        Question(prompt="Which?", header="Colour", options=(QuestionOption(label="Red"),)),
        Question(prompt="Sizes?", header="Size", options=sizes, multi_select=True),
    )
    asked = QuestionRequested(question_id="q1", prompt="Which?", options=("Red",), questions=parts)
    resolved = QuestionResolved(
        question_id="q1",
        prompt="Which?",
        options=("Red",),
        response="Red",
        status="answered",
        questions=parts,
        answers=(("Red",), ("S, M", "L")),
    )
    says(daemon, event(1, asked), event(2, resolved), event(3, TurnEnded(outcome="completed")))
    shown = terminal.run("send", "s1", "hi").stdout
    assert "  2. Size: Sizes? (several)\n" in shown
    assert "dragoman reply s1 q1 -a 1=Red -a '2=S, M' -a 2=L\n" in shown
    assert "question answered: Colour: Red; Size: S, M, L\n" in shown


def test_a_plan_that_is_asked_about_is_shown_whole(daemon: Canned, terminal: Terminal) -> None:
    plan = "# Plan\n\n" + "\n".join(f"{step}. Do something" for step in range(1, 40))
    parts = (Question(prompt=plan, header="Plan", options=(QuestionOption(label="Approve"),)),)
    asked = QuestionRequested(question_id="q1", prompt=plan, options=("Approve",), questions=parts)
    says(daemon, event(1, asked), event(2, TurnEnded(outcome="completed")))
    shown = terminal.run("send", "s1", "hi").stdout
    assert "  Plan:\n  | # Plan\n  | \n  | 1. Do something\n" in shown
    assert "  | 39. Do something\n" in shown
    assert "-a Approve\n" in shown


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


def test_a_new_session_is_what_the_options_say(
    daemon: Canned, terminal: Terminal, tmp_path: Path
) -> None:
    terminal.environ["MINE"] = "from here"
    (tmp_path / "picture.png").write_bytes(b"png")
    daemon.problem("GET", "/v1/sessions/s1", 404, "Session Not Found")
    daemon.on("POST", "/v1/sessions/s1", Answer(200, {"healthy": True}))
    says(daemon, *turn("hi"))
    new = ("--model", "big", "--variant", "high", "--mode", "plan", "--permission-mode", "bypass")
    env = ("--env", "A=b=c", "--env", "MINE", "--directory", "sub")
    more = ("--attach", "picture.png", "--delivery", "steer")
    terminal.run("send", "s1", "hi", "--agent", "mock", *new, *env, *more)
    assert daemon.seen[1].json() == {
        "agent": "mock",
        "directory": str(tmp_path / "sub"),
        "model": "big",
        "variant": "high",
        "agentMode": "plan",
        "permissionMode": "bypass",
        "env": {"A": "b=c", "MINE": "from here"},
    }
    attached = [{"path": str(tmp_path / "picture.png")}]
    assert daemon.seen[2].json() == {"message": "hi", "attachments": attached}
    assert daemon.seen[2].query["delivery"] == "steer"


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--model", "big"), "goes with --agent"),
        (("--agent", "mock", "--env", "NOT_SET_ANYWHERE"), "NOT_SET_ANYWHERE is not set here"),
        (("--attach", "no-such-file"), "there is no file"),
    ],
)
def test_options_that_cannot_work_are_wrong_usage(
    daemon: Canned, terminal: Terminal, flags: tuple[str, ...], told: str
) -> None:
    daemon.problem("GET", "/v1/sessions/s1", 404, "Session Not Found")
    assert told in terminal.run("send", "s1", "hi", *flags, code=2).stderr
    assert all(seen.method == "GET" for seen in daemon.seen)


def test_an_id_that_was_used_and_removed_is_told(daemon: Canned, terminal: Terminal) -> None:
    daemon.problem("GET", "/v1/sessions/s1", 404, "Session Not Found")
    daemon.problem("POST", "/v1/sessions/s1", 409, "Session Already Exists")
    told = terminal.run("send", "s1", "hi", "--agent", "mock", code=4).stderr
    assert told == "dragoman: the id 's1' was used before and removed; choose another id\n"


def test_a_session_of_another_agent_is_told(daemon: Canned, terminal: Terminal) -> None:
    daemon.on("GET", "/v1/sessions/s1", Answer(body=session_info(agent="claude")))
    told = terminal.run("send", "s1", "hi", "--agent", "mock", code=4).stderr
    assert "session 's1' is one of claude, not of mock" in told
    assert [seen.method for seen in daemon.seen] == ["GET"]


def test_with_an_agent_a_session_that_exists_is_used(daemon: Canned, terminal: Terminal) -> None:
    daemon.on("GET", "/v1/sessions/s1", Answer(body=session_info()))
    says(daemon, *turn("hi"))
    done = terminal.run("send", "s1", "hi", "--agent", "mock", "--dir", "sub", "--mode", "build")
    assert [seen.path for seen in daemon.seen] == ["/v1/sessions/s1", STREAM]
    assert done.stderr == (
        "s1 exists: only a new session takes --dir; `dragoman set` changes one\n"
    )


def test_a_missing_session_gets_a_hint(daemon: Canned, terminal: Terminal) -> None:
    daemon.problem("POST", STREAM, 404, "Session Not Found", detail="there is no session 's1'")
    assert "--agent NAME" in terminal.run("send", "s1", "hi", code=4).stderr


def _item(item_id: str, kind: str, part: ToolCall | ToolResult, **more: Any) -> Item:
    fields = {"item_id": item_id, "kind": kind, "content": (part,), "status": "completed"}
    return msgspec.convert({**fields, **more}, Item)
