"""The converter's part of `fs/*` and `terminal/*`: who is asked, what is kept, what is answered."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from dragoman.adapter import Spec
from dragoman.dialects.acp import services, terminals
from dragoman.dialects.acp.convert import AcpConverter
from dragoman.dialects.acp.native import TerminalParams
from dragoman.dialects.acp.profile import Profile
from dragoman.dialects.acp.terminals import PrintedText, shown_command
from dragoman.facts import Exit
from dragoman.schema.commands import AnswerPermission, Interrupt, Prompt
from dragoman.schema.events import Stderr
from dragoman.services import (
    EndTerminal,
    FileRead,
    FileWritten,
    ReadTextFile,
    ServiceRefused,
    StartTerminal,
    TerminalExited,
    TerminalOutput,
    TerminalStarted,
    WriteTextFile,
)
from dragoman.steps import (
    AskPermission,
    CompleteItem,
    Defer,
    Delta,
    Request,
    Resolve,
    Respond,
    StartItem,
    Step,
    Withdraw,
)
from dragoman.wire.jsonrpc import Result

SPEC = Spec(session_id="s", agent="a", agent_mode="", directory="/work")
GONE = Exit(code=0, signal=None, expected=False, stderr=Stderr(head="", truncated=False))
OFFERS = Profile(name="A", reads_files=True, uses_terminals=True)


class Scripted:
    """A converter in a turn, and an agent that asks it for things."""

    def __init__(self, profile: Profile = OFFERS, *, in_turn: bool = True) -> None:
        self.converter = AcpConverter(SPEC, profile)
        self._numbers = itertools.count(100)
        list(self.converter.on_open(SPEC))
        self.reply("initialize", {"protocolVersion": 1})
        self.reply("open", {"sessionId": "n"})
        if in_turn:
            list(self.converter.command(Prompt(message_id="m", text="hi")))

    def reply(self, tag: str, result: Any) -> list[Step]:
        return list(self.converter.on_reply(tag, Result(json.dumps(result).encode())))

    def ask(self, method: str, **params: Any) -> tuple[str, list[Step]]:
        """A request; its key, and what comes of it."""
        key = str(next(self._numbers))
        line = {"id": int(key), "method": method, "params": {"sessionId": "n", **params}}
        return key, list(self.converter.receive(json.dumps(line).encode()))

    def tell(self, kind: str, /, **update: Any) -> list[Step]:
        params = {"sessionId": "n", "update": {"sessionUpdate": kind, **update}}
        line = {"method": "session/update", "params": params}
        return list(self.converter.receive(json.dumps(line).encode()))

    def on(self, event: Any) -> list[Step]:
        return list(self.converter.on_service(event))

    def allow(self, key: str) -> list[Step]:
        return list(self.converter.command(AnswerPermission(key=key, reply="once")))

    def run(self, command: str = "make", **more: Any) -> str:
        """Run a command that a person allows; the terminal's id."""
        key, _ = self.ask("terminal/create", command=command, **more)
        started = next(each for each in self.allow(key) if isinstance(each, StartTerminal))
        assert self.on(TerminalStarted(key=started.key)) == [
            Respond(key=key, result={"terminalId": started.key})
        ]
        return started.key

    def end_turn(self, reason: str = "end_turn") -> list[Step]:
        return self.reply("prompt", {"stopReason": reason})


def errors_in(steps: list[Step]) -> list[int]:
    return [each.error.code for each in steps if isinstance(each, Respond) and each.error]


def test_a_file_is_read_without_asking_anybody() -> None:
    agent = Scripted()
    key, steps = agent.ask("fs/read_text_file", path="/work/a", line=2, limit=3)
    assert steps == [ReadTextFile(key=key, path="/work/a", line=2, limit=3)]
    assert agent.on(FileRead(key=key, content="x")) == [Respond(key=key, result={"content": "x"})]
    assert agent.on(FileRead(key=key, content="x")) == []


@pytest.mark.parametrize(
    ("reason", "code"), [("not_found", -32002), ("invalid", -32602), ("failed", -32603)]
)
def test_refusals_have_codes_of_their_own(reason: Any, code: int) -> None:
    agent = Scripted()
    key, _ = agent.ask("fs/read_text_file", path="/work/a")
    steps = agent.on(ServiceRefused(key=key, reason=reason, message="no"))
    assert errors_in(steps) == [code]
    # Agents look for files that may not be there; people need not hear of it.
    assert any(isinstance(each, StartItem) for each in steps) == (reason != "not_found")


def test_a_write_and_a_command_are_asked_for_and_done_when_allowed() -> None:
    agent = Scripted()
    key, steps = agent.ask("fs/write_text_file", path="/work/a", content="x")
    (ask,) = (each for each in steps if isinstance(each, AskPermission))
    assert (ask.edits_files, ask.files, ask.rule) == (
        True, ("/work/a",), "write_text_file(/work/a)",
    )  # fmt: skip
    allowed = agent.allow(key)
    assert allowed[0] == WriteTextFile(key=key, path="/work/a", content="x")
    assert isinstance(allowed[1], Resolve)
    key, steps = agent.ask(
        "terminal/create", command="make", args=["all"], env=[{"name": "A", "value": "b"}]
    )
    (ask,) = (each for each in steps if isinstance(each, AskPermission))
    assert (ask.edits_files, ask.rule) == (False, "terminal(make all)")
    (started, _) = agent.allow(key)
    assert started == StartTerminal(
        key="term_1", command="make", args=("all",), env={"A": "b"}, cwd="/work"
    )


def test_what_is_rejected_is_an_error_and_nothing_is_done() -> None:
    agent = Scripted()
    key, _ = agent.ask("terminal/create", command="make")
    no = AnswerPermission(key=key, reply="reject", message="use ninja")
    respond, resolve = agent.converter.command(no)
    assert isinstance(respond, Respond)
    assert respond.error is not None
    assert (respond.error.code, respond.error.message) == (
        services.NOT_ALLOWED, "this was not allowed: use ninja",
    )  # fmt: skip
    assert resolve == Resolve(command=no)


def test_what_changes_something_needs_a_turn() -> None:
    agent = Scripted(in_turn=False)
    for method, params in (
        ("fs/write_text_file", {"path": "/work/a", "content": ""}),
        ("terminal/create", {"command": "make"}),
    ):
        _, steps = agent.ask(method, **params)
        assert errors_in(steps) == [services.NOT_ALLOWED]
    key, steps = agent.ask("fs/read_text_file", path="/work/a")
    assert steps == [ReadTextFile(key=key, path="/work/a")]


def test_an_interrupt_and_a_cancelled_request_take_back_what_is_asked() -> None:
    agent = Scripted()
    first, _ = agent.ask("terminal/create", command="make")
    line = {"method": "$/cancel_request", "params": {"requestId": int(first)}}
    steps = list(agent.converter.receive(json.dumps(line).encode()))
    assert errors_in(steps) == [-32800]
    assert Withdraw(key=first) in steps
    agent.ask("terminal/create", command="make")
    assert errors_in(list(agent.converter.command(Interrupt()))) == [-32800]
    _, steps = agent.ask("terminal/create", command="make")
    assert errors_in(steps) == [services.NOT_ALLOWED]


@pytest.mark.parametrize(
    ("words", "is_covered"),
    [
        (("npm test",), True),
        (("npm", "test"), True),
        (("bash", "-lc", "npm test"), True),
        (("/bin/sh", "-c", "npm test"), True),
        (("npm test; rm -rf /",), False),
        (("python", "-c", "npm test"), False),
        (("npm", "test", "--all"), False),
    ],
)
def test_a_grant_covers_the_very_command_that_was_shown(
    words: tuple[str, ...], is_covered: bool
) -> None:
    agent = Scripted()
    call = {"toolCallId": "c", "kind": "execute", "rawInput": {"command": "npm test"}}
    key, _ = agent.ask("session/request_permission", toolCall=call, options=[])
    agent.allow(key)
    _, steps = agent.ask("terminal/create", command=words[0], args=list(words[1:]))
    assert isinstance(steps[-1], StartTerminal if is_covered else AskPermission)
    agent.tell("tool_call_update", toolCallId="c", status="completed")
    _, steps = agent.ask("terminal/create", command="npm test")
    assert isinstance(steps[-1], AskPermission), "a grant ends with its call"


def test_an_output_streams_into_the_result_of_the_call_that_shows_it() -> None:
    agent = Scripted()
    agent.tell("tool_call", toolCallId="c", title="Run", kind="execute", rawInput={"command": "m"})
    terminal = agent.run("m")
    assert agent.on(TerminalOutput(key=terminal, text="one\n")) == []
    shows = [{"type": "terminal", "terminalId": terminal}]
    steps = agent.tell("tool_call_update", toolCallId="c", status="in_progress", content=shows)
    assert steps[-1] == Delta("c:result", "one\n", "output")
    (delta,) = agent.on(TerminalOutput(key=terminal, text="two\n"))
    assert delta == Delta("c:result", "two\n", "output")
    agent.on(TerminalExited(key=terminal, code=2))
    steps = agent.tell("tool_call_update", toolCallId="c", status="completed")
    done = steps[-1]
    assert isinstance(done, CompleteItem)
    assert done.content is not None
    assert (done.content[0].output, done.status) == ("one\ntwo\n", "failed")  # type: ignore[union-attr]
    assert done.fields == {"exit_code": 2}
    assert not [each for each in agent.end_turn() if isinstance(each, StartItem)]


def test_what_an_agent_puts_into_words_in_the_end_counts() -> None:
    agent = Scripted()
    agent.tell("tool_call", toolCallId="c", kind="execute", rawInput={"command": "m"})
    terminal = agent.run("m")
    agent.on(TerminalOutput(key=terminal, text="raw"))
    shows = [{"type": "terminal", "terminalId": terminal}]
    agent.tell("tool_call_update", toolCallId="c", content=shows)
    words = [{"type": "content", "content": {"type": "text", "text": "words"}}]
    steps = agent.tell("tool_call_update", toolCallId="c", status="completed", content=words)
    done = steps[-1]
    assert isinstance(done, CompleteItem)
    assert done.content is not None
    assert done.content[0].output == "words"  # type: ignore[union-attr]


def test_a_command_that_no_call_shows_has_items_of_its_own() -> None:
    agent = Scripted()
    terminal = agent.run("make")
    agent.on(TerminalOutput(key=terminal, text="made\n"))
    key, steps = agent.ask("terminal/release", terminalId=terminal)
    assert steps == [EndTerminal(key=terminal)]
    respond, *shown = agent.on(TerminalExited(key=terminal, signal="SIGTERM"))
    assert respond == Respond(key=key, result={})
    kinds = [each.kind for each in shown if isinstance(each, StartItem)]
    assert kinds == ["tool_call", "tool_result"]
    last = shown[-1]
    assert isinstance(last, CompleteItem)
    assert last.content is not None
    assert (last.content[0].output, last.status) == ("made\n", "failed")  # type: ignore[union-attr]


def test_exits_are_waited_for_and_told_at_once_later() -> None:
    agent = Scripted()
    terminal = agent.run()
    first, steps = agent.ask("terminal/wait_for_exit", terminalId=terminal)
    assert steps == [Defer()]
    kill, steps = agent.ask("terminal/kill", terminalId=terminal)
    assert steps == [EndTerminal(key=terminal)]
    status = {"exitCode": None, "signal": "SIGKILL"}
    assert agent.on(TerminalExited(key=terminal, signal="SIGKILL")) == [
        Respond(key=first, result=status),
        Respond(key=kill, result={}),
    ]
    key, steps = agent.ask("terminal/wait_for_exit", terminalId=terminal)
    assert steps == [Respond(key=key, result=status)]
    key, steps = agent.ask("terminal/kill", terminalId=terminal)
    assert steps == [Respond(key=key, result={})]


def test_a_turn_that_is_stopped_ends_its_commands_and_another_does_not() -> None:
    agent = Scripted()
    terminal = agent.run()
    assert EndTerminal(key=terminal) not in agent.end_turn()
    list(agent.converter.command(Prompt(message_id="m2", text="on")))
    other = agent.run()
    ended = [each for each in agent.end_turn("cancelled") if isinstance(each, EndTerminal)]
    assert ended == [EndTerminal(key=other)]


def test_who_is_released_when_the_turn_ends_is_answered_all_the_same() -> None:
    agent = Scripted()
    terminal = agent.run()
    key, steps = agent.ask("terminal/release", terminalId=terminal)
    assert steps == [EndTerminal(key=terminal)]
    agent.end_turn()
    assert agent.on(TerminalExited(key=terminal, code=0)) == [Respond(key=key, result={})]
    _, steps = agent.ask("terminal/output", terminalId=terminal)
    assert errors_in(steps) == [-32002]


def test_so_many_terminals_and_files_and_no_more() -> None:
    agent = Scripted()
    opened = [agent.run() for _ in range(services.MAX_TERMINALS)]
    _, steps = agent.ask("terminal/create", command="make")
    assert errors_in(steps) == [-32603]
    agent.ask("terminal/release", terminalId=opened[0])
    agent.on(TerminalExited(key=opened[0], code=0))
    agent.run()
    for _ in range(services.MAX_PENDING):
        agent.ask("fs/read_text_file", path="/work/a")
    _, steps = agent.ask("fs/read_text_file", path="/work/a")
    assert errors_in(steps) == [-32603]


def test_the_diff_of_a_file_that_is_written_twice_is_of_both() -> None:
    agent = Scripted()
    here = [{"path": "/work/a"}]
    call = {"toolCallId": "c", "kind": "edit", "locations": here}
    key, _ = agent.ask("session/request_permission", toolCall=call, options=[])
    agent.allow(key)
    for before, after in (("one\n", "two\n"), ("two\n", "three\n")):
        key, steps = agent.ask("fs/write_text_file", path="/work/a", content=after)
        assert steps == [WriteTextFile(key=key, path="/work/a", content=after)]
        event = FileWritten(key=key, is_new=False, before=before)
        assert agent.on(event) == [Respond(key=key, result={})]
    *_, done = agent.tell("tool_call_update", toolCallId="c", status="completed")
    assert isinstance(done, CompleteItem)
    assert done.content is not None
    diff = done.content[1].diff  # type: ignore[union-attr]
    assert diff is not None
    assert diff.endswith("-one\n+three\n")


def test_what_is_not_offered_is_not_there() -> None:
    agent = Scripted(Profile(name="A"))
    for method in ("fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/kill"):
        _, steps = agent.ask(method, path="/work/a", content="", command="x", terminalId="t")
        assert errors_in(steps) == [-32601]


def test_a_process_that_is_gone_takes_its_terminals_with_it() -> None:
    agent = Scripted()
    terminal = agent.run()
    agent.on(TerminalOutput(key=terminal, text="half"))
    shown = list(agent.converter.on_close(GONE))
    assert [each.kind for each in shown if isinstance(each, StartItem)] == [
        "tool_call", "tool_result",
    ]  # fmt: skip
    assert agent.on(TerminalExited(key=terminal, code=0)) == []


# --- Outputs ---


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 5, 8, 100, None])
@pytest.mark.parametrize("pieces", [["añ€𝄞b"], list("añ€𝄞b"), ["añ", "", "€𝄞b"]])
def test_an_output_is_cut_from_the_beginning_between_characters(
    limit: int | None, pieces: list[str]
) -> None:
    output = PrintedText(limit)
    for piece in pieces:
        output.add(piece)
    answer = output.answer(None)
    whole = "".join(pieces)
    most = len(whole.encode()) if limit is None else limit
    wanted = next(whole[at:] for at in range(len(whole) + 1) if len(whole[at:].encode()) <= most)
    assert answer == {"output": wanted, "truncated": wanted != whole}


def test_of_a_long_output_beginning_and_end_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminals, "MAX_SHOWN", 6)
    monkeypatch.setattr(terminals, "SHOWN_END", 4)
    output = PrintedText(None)
    assert [output.add(piece) for piece in ("abcd", "efgh", "ij")] == ["abcd", "ef", ""]
    assert (output.beginning, output.ending, output.is_cut) == ("abcdef", "ghij", True)
    output.add("klmno")
    assert output.ending == "\n[5 bytes are left out here]\nlmno"
    short = PrintedText(None)
    short.add("abcdef")
    assert (short.beginning, short.ending, short.is_cut) == ("abcdef", "", False)


def test_commands_are_shown_as_a_person_would_type_them() -> None:
    assert shown_command(TerminalParams(command="a && b").words) == "a && b"
    assert shown_command(("git", "commit", "-m", "two words")) == "git commit -m 'two words'"
    assert shown_command(("/bin/zsh", "-lc", "a | b")) == "a | b"
    assert shown_command(("bash", "script.sh", "x")) == "bash script.sh x"


def test_terminals_of_another_process_are_not_mixed_up() -> None:
    agent = Scripted()
    first = agent.run()
    list(agent.converter.on_close(GONE))
    list(agent.converter.on_open(SPEC))
    agent.reply("initialize", {"protocolVersion": 1})
    agent.reply("open", {"sessionId": "n"})
    (request,) = (
        each
        for each in agent.converter.command(Prompt(message_id="m2", text="hi"))
        if isinstance(each, Request)
    )
    assert request.method == "session/prompt"
    assert agent.run() != first
