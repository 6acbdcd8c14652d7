"""What the mock agent says: each line is a step, if it is the agent's to say."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.adapter import Spec
from dragoman.agents.mock import ADAPTER
from dragoman.agents.mock.convert import MockConverter
from dragoman.core.fold import SessionState
from dragoman.core.interpreter import Interpreter
from dragoman.schema.events import (
    AgentUnparsed,
    Body,
    Context,
    ModelUsage,
    Question,
    QuestionOption,
    SessionUpdated,
    TurnEnded,
    Usage,
)
from dragoman.schema.items import FileRef, Json, Reasoning, Status, Text, ToolCall, ToolResult
from dragoman.steps import (
    AskPermission,
    AskQuestion,
    BeginTurn,
    Bind,
    Blob,
    Claim,
    CompleteItem,
    Delivered,
    Delta,
    Echo,
    EndInput,
    EndSession,
    EndTurn,
    Notify,
    Report,
    Respond,
    Send,
    StartItem,
    Step,
    Unparsed,
    Update,
    Used,
    Withdraw,
)
from tests.agents.counts import NO_COSTS, NO_COUNTS
from tests.core import dialect
from tests.core.tape import Tape, new_ids

SPEC = Spec(session_id="s1", agent="mock", agent_mode="build", directory="/project")


def hear(converter: MockConverter, line: Any) -> Step:
    (step,) = converter.receive(msgspec.json.encode(line))
    return step


# --- The words ---

WORDS: list[tuple[dict[str, Any], Step]] = [
    ({"type": "bind", "native_session_id": "mock-1"}, Bind("mock-1")),
    ({"type": "begin_turn"}, BeginTurn()),
    (
        {"type": "end_turn", "outcome": "failed", "stop_reason": "error"},
        EndTurn(outcome="failed", stop_reason="error"),
    ),
    (
        {"type": "end_turn", "outcome": "completed", "usage": {"models": {"m": {"cost_usd": 1}}}},
        EndTurn(outcome="completed", usage=Usage(models={"m": ModelUsage(cost_usd=1)})),
    ),
    ({"type": "delta", "key": "m1", "text": "Hi"}, Delta("m1", "Hi")),
    (
        {"type": "delta", "key": "t1", "text": "{", "content_type": "arguments"},
        Delta("t1", "{", "arguments"),
    ),
    ({"type": "complete_item", "key": "m1"}, CompleteItem(key="m1")),
    (
        {"type": "complete_item", "key": "t1", "status": "failed", "fields": {"exit_code": 1}},
        CompleteItem(key="t1", status="failed", fields={"exit_code": 1}),
    ),
    ({"type": "withdraw", "key": "p1"}, Withdraw(key="p1")),
    (
        {"type": "report", "message": "Oh.", "code": "bad", "details": {"a": 1}},
        Report(message="Oh.", code="bad", details={"a": 1}),
    ),
    (
        {"type": "update", "body": {"model": "mock", "context": {"used": 5, "window": 10}}},
        Update(body=SessionUpdated(model="mock", context=Context(used=5, window=10))),
    ),
    ({"type": "end_session", "message": "Bye."}, EndSession(message="Bye.")),
    (
        {"type": "ask_permission", "key": "p1", "action": "edit", "metadata": {"path": "/a"}},
        AskPermission(key="p1", action="edit", metadata={"path": "/a"}),
    ),
    (
        {
            "type": "ask_question",
            "key": "q1",
            "questions": [{"prompt": "Which?", "options": [{"label": "Red"}]}],
        },
        AskQuestion(
            key="q1",
            questions=(Question(prompt="Which?", options=(QuestionOption(label="Red"),)),),
        ),
    ),
]


@pytest.mark.parametrize(("line", "step"), WORDS, ids=lambda each: str(each)[:40])
def test_a_line_is_a_step(converter: MockConverter, line: Any, step: Step) -> None:
    assert hear(converter, line) == step


def test_an_item_has_parts_of_every_kind(converter: MockConverter) -> None:
    parts: list[tuple[dict[str, Any], Any]] = [
        ({"type": "text", "text": "a"}, Text(text="a")),
        ({"type": "json", "json": [1]}, Json(json=[1])),
        (
            {"type": "tool_call", "name": "bash", "arguments": "", "call_id": "t1"},
            ToolCall(name="bash", arguments="", call_id="t1"),
        ),
        (
            {"type": "tool_result", "call_id": "t1", "output": "b"},
            ToolResult(call_id="t1", output="b"),
        ),
        (
            {"type": "file_ref", "path": "/a", "action": "patch", "diff": "--- a"},
            FileRef(path="/a", action="patch", diff="--- a"),
        ),
        ({"type": "reasoning", "text": "Hm."}, Reasoning(text="Hm.")),
        ({"type": "status", "label": "plan"}, Status(label="plan")),
        (
            {"type": "blob", "data": base64.b64encode(b"pixels").decode(), "mime": "image/png"},
            Blob(data=b"pixels", mime="image/png"),
        ),
    ]
    line = {"type": "start_item", "key": "i1", "kind": "message", "parent": "m1"}
    step = hear(converter, {**line, "content": [part for part, _ in parts]})
    content = tuple(part for _, part in parts)
    assert step == StartItem(key="i1", kind="message", parent="m1", content=content)


@given(
    st.one_of(
        dialect.starts,
        dialect.deltas,
        dialect.completions,
        dialect.begins,
        dialect.ends,
        dialect.permissions,
        dialect.questions,
        dialect.reports,
        dialect.session_ends,
    )
)
def test_any_step_of_an_agent_can_be_said(step: Step) -> None:
    assert hear(MockConverter(SPEC), step) == step


# --- What is not its to say ---


@pytest.mark.parametrize(
    "step",
    [
        Send(b"{}"),
        EndInput(),
        Notify(method="x"),
        Respond(key="x"),
        Claim("x"),
        Delivered(message_id="m1"),
        Echo(message_id="m1"),
        Unparsed(error="x", location="mock"),
        Used(usage=Usage()),
    ],
    ids=lambda step: type(step).__name__,
)
def test_what_an_agent_may_not_say_has_no_name(converter: MockConverter, step: Step) -> None:
    with pytest.raises(msgspec.ValidationError):
        hear(converter, {"type": type_of(step), **msgspec.to_builtins(step)})


def type_of(step: Step) -> str:
    """What its type would be, if it were said as the others are."""
    letters = (f"_{each.lower()}" if each.isupper() else each for each in type(step).__name__)
    return "".join(letters).removeprefix("_")


@pytest.mark.parametrize(
    "line",
    [
        {"type": "start_item", "key": "i1", "kind": "status"},
        {"type": "complete_item", "key": "i1"},
        {"type": "ask_question", "key": "q1", "questions": []},
    ],
    ids=lambda line: str(line["type"]),
)
def test_no_agent_speaks_for_the_daemon(converter: MockConverter, line: Any) -> None:
    hear(converter, {**line, "source": "agent"})
    with pytest.raises(msgspec.ValidationError):
        hear(converter, {**line, "source": "daemon"})


@pytest.mark.parametrize(
    "body",
    [{"permission_mode": "bypass"}, {"model": "m", "mode": "plan"}, {"continuity": "restored"}],
    ids=str,
)
def test_only_its_model_and_its_context_are_its_own(converter: MockConverter, body: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        hear(converter, {"type": "update", "body": body})


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"mystery"}',
        b'{"type":"delta","key":"m1"}',
        b'{"type":"delta","key":"m1","text":"\xff"}',
        b'{"type":"complete_item","key":"m1","content":[{"type":"text","text":"\xff"}]}',
        b'{"type":"complete_item","key":"m1","content":[{"type":"hologram"}]}',
        b'{"type":"complete_item","key":"m1","content":[{"type":"blob","data":"no base64!"}]}',
        b'{"type":"start_item","key":"m1","kind":"hologram"}',
        b'{"type":"begin_turn","extra":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b"not json",
        b"",
    ],
    ids=[
        "type",
        "field",
        "utf8",
        "utf8 in a part",
        "part",
        "base64",
        "kind",
        "deep",
        "text",
        "empty",
    ],
)
def test_what_cannot_be_decoded_raises_a_msgspec_error_before_any_step(
    converter: MockConverter, line: bytes
) -> None:
    steps = iter(converter.receive(line))
    with pytest.raises(msgspec.DecodeError):
        next(steps)


# --- Counts ---


def bodies(*lines: dict[str, Any]) -> list[Body]:
    """What becomes of these lines."""
    state = SessionState(agent_mode="build")
    interpreter = Interpreter(
        "mock", MockConverter(SPEC), state, new_ids(), ignored=ADAPTER.ignored
    )
    for line in ({"type": "begin_turn"}, *lines):
        interpreter.receive(msgspec.json.encode(line))
    tape = Tape()
    tape.record(interpreter.take())
    assert tape.violations() == []
    return tape.bodies


@pytest.mark.parametrize("count", NO_COUNTS, ids=repr)
def test_case_16_a_count_that_cannot_be_is_not_added_up(count: Any) -> None:
    """Before, a negative count was passed on."""
    usage = {"input_tokens": count, "models": {"mock": {"input_tokens": count}}}
    *_, end = bodies({"type": "end_turn", "outcome": "completed", "usage": usage})
    if isinstance(end, TurnEnded):
        assert end.usage == Usage(models={"mock": ModelUsage()})
    else:
        assert isinstance(end, AgentUnparsed)
    for used, window in ((count, 10), (10, count)):
        context = {"used": used, "window": window}
        *_, last = bodies({"type": "update", "body": {"context": context}})
        assert isinstance(last, AgentUnparsed)


@pytest.mark.parametrize("cost", NO_COSTS, ids=repr)
def test_case_16_a_cost_that_cannot_be_is_not_added_up(cost: Any) -> None:
    """Before, a negative cost was passed on."""
    usage = {"cost_usd": cost}
    *_, end = bodies({"type": "end_turn", "outcome": "completed", "usage": usage})
    if isinstance(end, TurnEnded):
        assert end.usage == Usage(cost_usd=0)
    else:
        assert isinstance(end, AgentUnparsed)
