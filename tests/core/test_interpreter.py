"""Requests of an agent, and replies to ours: one answer to each, and nothing is lost."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import msgspec
import pytest

from dragoman.adapter import Spec
from dragoman.core.fold import SessionState
from dragoman.core.interpreter import Interpreter
from dragoman.core.normalize import Output
from dragoman.facts import IgnoredMessage
from dragoman.schema.commands import AnswerPermission, Command, PermissionMode, Prompt
from dragoman.schema.events import AgentUnparsed, Draft, SessionUpdated
from dragoman.steps import (
    AskPermission,
    Claim,
    Delivered,
    EndInput,
    Notify,
    Request,
    Resolve,
    Respond,
    Send,
    Step,
    Unparsed,
    Update,
)
from dragoman.wire.jsonrpc import METHOD_NOT_FOUND, Overdue, Reply, Result

ASK = AskPermission(key="1", action="sing")
NEWS = SessionUpdated(title="News")


class Scripted:
    """A converter that returns what it was given."""

    def __init__(self, *steps: Step, error: Exception | None = None) -> None:
        self._steps = steps
        self._error = error
        self.replies: list[tuple[str, Reply]] = []

    def _say(self) -> Iterable[Step]:
        if self._error is not None:
            raise self._error
        return self._steps

    def receive(self, message: bytes) -> Iterable[Step]:
        return self._say()

    def on_reply(self, tag: str, reply: Reply) -> Iterable[Step]:
        self.replies.append((tag, reply))
        return self._say()

    def command(self, command: Command) -> Iterable[Step]:
        if isinstance(command, Prompt):
            return ()
        assert isinstance(command, AnswerPermission)
        return Respond(key=command.key, result=command.reply), Resolve(command=command)

    def steers(self) -> bool:
        return False

    def on_open(self, spec: Spec) -> Iterable[Step]:
        return ()

    def on_close(self, exit: object) -> Iterable[Step]:
        return ()


def interpreter(
    converter: Scripted,
    mode: PermissionMode = "default",
    ignored: tuple[IgnoredMessage, ...] | None = None,
) -> Interpreter:
    numbers = itertools.count(1)
    state = SessionState(agent_mode="build", permission_mode=mode)
    return Interpreter(
        "test",
        converter,
        state,
        lambda kind: f"{kind}_{next(numbers)}",
        on_defect=defects.append,
        ignored=ignored,
    )


defects: list[Exception] = []


def asked(converter: Scripted, mode: PermissionMode = "default") -> list[Output]:
    told = interpreter(converter, mode)
    told.on_request("1", b'{"id":1,"method":"m"}')
    return told.take()


def answers(outputs: list[Output]) -> list[Respond]:
    return [output for output in outputs if isinstance(output, Respond)]


def unparsed(outputs: list[Output]) -> list[Draft]:
    drafts = [output for output in outputs if isinstance(output, Draft)]
    return [draft for draft in drafts if isinstance(draft.body, AgentUnparsed)]


@pytest.mark.parametrize(
    "converter",
    [
        Scripted(),
        Scripted(Unparsed(error="odd", location="test")),
        Scripted(error=msgspec.ValidationError("unknown method")),
        Scripted(error=ZeroDivisionError("a defect")),
    ],
)
def test_a_request_that_is_not_understood_is_kept_and_then_refused_once(
    converter: Scripted,
) -> None:
    outputs = asked(converter)
    (draft,) = unparsed(outputs)
    assert draft.raw == b'{"id":1,"method":"m"}'
    (answer,) = answers(outputs)
    assert answer.key == "1"
    assert answer.error is not None
    assert answer.error.code == METHOD_NOT_FOUND
    assert outputs.index(draft) < outputs.index(answer)


def test_a_request_for_a_person_waits_for_the_person() -> None:
    outputs = asked(Scripted(ASK))
    assert answers(outputs) == []
    assert unparsed(outputs) == []


def test_a_request_that_a_rule_answers_has_one_answer() -> None:
    (answer,) = answers(asked(Scripted(ASK), "bypass"))
    assert (answer.key, answer.result, answer.error) == ("1", "once", None)


def test_a_request_that_the_converter_answers_has_that_answer() -> None:
    mine = Respond(key="1", result={"fine": True})
    assert answers(asked(Scripted(mine))) == [mine]


@pytest.mark.parametrize(
    ("reply", "message"), [(Result(b"7"), b'{"id":"x","result":7}'), (Overdue(), None)]
)
def test_a_reply_comes_under_its_tag(reply: Reply, message: bytes | None) -> None:
    converter = Scripted(Claim("thread"))
    told = interpreter(converter)
    told.on_reply("tag", reply, message)
    assert converter.replies == [("tag", reply)]
    assert told.take() == [Claim("thread")]


def test_a_reply_that_is_not_understood_is_kept() -> None:
    told = interpreter(Scripted(error=msgspec.ValidationError("no thread in it")))
    told.on_reply("tag", Result(b"{}"), b'{"id":"x","result":{}}')
    (draft,) = unparsed(told.take())
    assert draft.raw == b'{"id":"x","result":{}}'


PING = IgnoredMessage(where={"type": "ping"}, why="nothing")


@pytest.mark.parametrize("steps", [(), (Send(b"x"),), (Claim("c"),)])
def test_case_16_what_comes_to_no_event_and_is_no_noise_is_kept(steps: tuple[Step, ...]) -> None:
    """Before, a line that was understood, and was about nothing that was there, vanished."""
    told = interpreter(Scripted(*steps), ignored=(PING,))
    told.receive(b'{"type":"pong"}')
    told.receive(message := b'{"type":"pong","n":2}')
    assert unparsed(told.take())[-1].raw is message
    told.on_reply("tag", Result(b"7"), reply := b'{"id":"x","result":7}')
    assert [draft.raw for draft in unparsed(told.take())] == [reply]
    told.on_request("1", asks := b'{"id":1,"method":"m"}')
    assert [draft.raw for draft in unparsed(told.take())] == [asks]


@pytest.mark.parametrize("line", [b'{"type":"ping"}', b'{"type":"ping","cut":"\\ud83d"}'])
def test_noise_leaves_no_event(line: bytes) -> None:
    told = interpreter(Scripted(), ignored=(PING,))
    told.receive(line)
    assert told.take() == []


def test_what_waits_for_a_persons_message_to_be_shown_is_no_noise_either() -> None:
    told = interpreter(Scripted(Delivered(message_id="m1", echoed=True), Update(body=NEWS)),
                       ignored=())  # fmt: skip
    list(told.command(Prompt(message_id="m1", text="Hi")))
    told.receive(b'{"type":"begin"}')
    assert unparsed(told.take()) == []


def test_what_is_for_the_agent_keeps_its_order() -> None:
    steps = (
        Request(method="a"), Notify(method="b"), Claim("c"), Send(b"d"), EndInput(),
    )  # fmt: skip
    told = interpreter(Scripted(*steps))
    told.receive(b"{}")
    assert tuple(told.take()) == steps


@pytest.mark.parametrize("error", [ZeroDivisionError("a defect"), msgspec.ValidationError("odd")])
def test_case_16_a_defect_of_a_dialect_is_handed_out_and_what_an_agent_says_is_not(
    error: Exception,
) -> None:
    """Before, nobody learned of it: the message became `agent.unparsed`, and that was all."""
    found: list[Exception] = []
    state = SessionState(agent_mode="build")
    converter = Scripted(error=error)
    told = Interpreter("test", converter, state, str, on_defect=found.append)
    told.receive(b"{}")
    told.on_request("1", b"{}")
    told.on_reply("tag", Result(b"1"), b"{}")
    assert len(unparsed(told.take())) == 3
    assert found == ([error] * 3 if isinstance(error, ZeroDivisionError) else [])
