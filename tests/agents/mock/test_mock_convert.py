"""What the mock agent says, line by line."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from dragoman.agents.mock.convert import MockConverter
from dragoman.facts import Exit
from dragoman.schema.events import (
    Context,
    ModelUsage,
    Question,
    QuestionOption,
    SessionUpdated,
    Stderr,
    Usage,
)
from dragoman.schema.items import FileRef, Json, Reasoning, Status, Text, ToolCall, ToolResult
from dragoman.steps import (
    AskPermission,
    AskQuestion,
    BeginTurn,
    Bind,
    Blob,
    CompleteItem,
    Delta,
    EndSession,
    EndTurn,
    Report,
    StartItem,
    Step,
    Update,
)
from tests.agents.counts import NO_COSTS, NO_COUNTS


def hear(converter: MockConverter, *messages: dict[str, Any]) -> list[Step]:
    lines = map(msgspec.json.encode, messages)
    return [step for line in lines for step in converter.receive(line)]


# --- Session and turns ---


def test_hello_confirms_the_native_session_and_the_model(converter: MockConverter) -> None:
    hello = {"type": "hello", "session": "mock-1", "model": "mock", "resumed": False}
    assert hear(converter, hello) == [Bind("mock-1"), Update(body=SessionUpdated(model="mock"))]
    assert hear(converter, hello) == [Bind("mock-1")]


def test_a_turn_ends_with_its_usage(converter: MockConverter) -> None:
    counts = {"input_tokens": 1, "cached_input_tokens": 2, "cache_write_tokens": 3}
    usage = {"model": "mock", **counts, "output_tokens": 4, "cost_usd": 0.5}
    ended = {"type": "turn_ended", "turn": "n1", "outcome": "failed", "stop_reason": "error"}
    steps = hear(converter, {"type": "turn_started", "turn": "n1"}, {**ended, "usage": usage})
    of_model = ModelUsage(**counts, output_tokens=4, cost_usd=0.5)
    of_turn = Usage(
        **counts,
        output_tokens=4,
        cost_usd=0.5,
        cost_source="reported",
        models={"mock": of_model},
    )
    metadata = {"native_turn_id": "n1"}
    assert steps == [
        BeginTurn(metadata=metadata),
        EndTurn(outcome="failed", usage=of_turn, stop_reason="error", metadata=metadata),
    ]


def test_the_end_of_the_session_and_the_context_are_told(converter: MockConverter) -> None:
    steps = hear(
        converter,
        {"type": "context", "used": 5, "window": 10},
        {"type": "session_end", "reason": "completed", "message": "Bye."},
    )
    assert steps == [
        Update(body=SessionUpdated(context=Context(used=5, window=10))),
        EndSession(message="Bye."),
    ]


def test_an_error_is_reported(converter: MockConverter) -> None:
    error = {"type": "error", "message": "Oh.", "code": "bad", "details": {"a": 1}}
    assert hear(converter, error) == [Report(message="Oh.", code="bad", details={"a": 1})]


@pytest.mark.parametrize("count", NO_COUNTS, ids=repr)
def test_case_16_a_count_that_cannot_be_is_not_added_up(
    converter: MockConverter, count: Any
) -> None:
    """Before, a negative count was passed on, and a word cost the end of the turn."""
    usage = {"model": "mock", "input_tokens": count, "output_tokens": 4}
    ended = {"type": "turn_ended", "turn": "n1", "outcome": "completed", "usage": usage}
    (end,) = hear(converter, ended)
    assert isinstance(end, EndTurn)
    assert end.usage is not None
    assert (end.usage.input_tokens, end.usage.output_tokens) == (0, 4)
    for used, window in ((count, 10), (10, count)):
        assert hear(converter, {"type": "context", "used": used, "window": window}) == []


@pytest.mark.parametrize("cost", NO_COSTS, ids=repr)
def test_case_16_a_cost_that_cannot_be_is_not_added_up(converter: MockConverter, cost: Any) -> None:
    """Before, a negative cost was passed on."""
    usage = {"model": "mock", "cost_usd": cost}
    ended = {"type": "turn_ended", "turn": "n1", "outcome": "completed", "usage": usage}
    (end,) = hear(converter, ended)
    assert isinstance(end, EndTurn)
    assert end.usage is not None
    assert end.usage.cost_usd == 0.0


# --- Messages ---


def test_a_message_without_blocks_is_what_was_streamed(converter: MockConverter) -> None:
    steps = hear(
        converter,
        {"type": "message_start", "id": "m1"},
        {"type": "text_delta", "id": "m1", "text": "Hel"},
        {"type": "text_delta", "id": "m1", "text": "lo"},
        {"type": "message_end", "id": "m1"},
    )
    start = StartItem(
        key="m1", kind="message", role="assistant", native_id="m1", content=(Text(text=""),)
    )
    assert steps == [start, Delta("m1", "Hel"), Delta("m1", "lo"), CompleteItem(key="m1")]


def test_an_image_in_a_message_leaves_as_bytes(converter: MockConverter) -> None:
    data = base64.b64encode(b"pixels").decode()
    blocks = [{"kind": "text", "text": "See"}, {"kind": "image", "data": data, "mime": "image/png"}]
    (end,) = hear(converter, {"type": "message_end", "id": "m1", "blocks": blocks})
    content = (Text(text="See"), Blob(data=b"pixels", mime="image/png"))
    assert end == CompleteItem(key="m1", content=content)


def test_reasoning_is_an_item_of_its_own(converter: MockConverter) -> None:
    steps = hear(
        converter,
        {"type": "reasoning_start", "id": "r1", "message": "m1", "visibility": "private"},
        {"type": "reasoning_delta", "id": "r1", "text": "Hm."},
        {"type": "reasoning_end", "id": "r1"},
    )
    start = StartItem(
        key="r1",
        kind="message",
        role="assistant",
        native_id="r1",
        parent="m1",
        content=(Reasoning(text="", visibility="private"),),
    )
    assert steps == [start, Delta("r1", "Hm.", "reasoning"), CompleteItem(key="r1")]


# --- Tools ---

TOOL = {"type": "tool_start", "id": "t1", "name": "bash", "message": "m1"}


def test_a_call_streams_its_arguments(converter: MockConverter) -> None:
    steps = hear(
        converter,
        {**TOOL, "title": "List", "command": "ls", "cwd": "/project", "server": "shell"},
        {"type": "arguments_delta", "id": "t1", "text": "{}"},
        {"type": "tool_ready", "id": "t1"},
    )
    start = StartItem(
        key="t1",
        kind="tool_call",
        role="assistant",
        native_id="t1",
        parent="m1",
        content=(ToolCall(name="bash", arguments="", call_id="t1"),),
        fields={"title": "List", "command": "ls", "cwd": "/project", "server": "shell"},
    )
    assert steps == [start, Delta("t1", "{}", "arguments"), CompleteItem(key="t1")]


def test_a_result_is_an_item_of_its_own_beside_its_call(converter: MockConverter) -> None:
    file = {"kind": "file", "path": "/project/a", "action": "patch", "diff": "--- a"}
    _, *steps = hear(
        converter,
        TOOL,
        {"type": "tool_output", "id": "t1", "text": "a"},
        {"type": "tool_output", "id": "t1", "text": "b"},
        {"type": "tool_end", "id": "t1", "output": "ab", "exit_code": 0, "blocks": [file]},
    )
    start = StartItem(
        key="t1:result",
        kind="tool_result",
        role="tool",
        parent="m1",
        content=(ToolResult(call_id="t1", output=""),),
    )
    content = (
        ToolResult(call_id="t1", output="ab"),
        FileRef(path="/project/a", action="patch", diff="--- a"),
    )
    assert steps == [
        start,
        Delta("t1:result", "a", "output"),
        Delta("t1:result", "b", "output"),
        CompleteItem(key="t1:result", content=content, fields={"exit_code": 0}),
    ]


def test_a_refused_call_fails_with_its_reason(converter: MockConverter) -> None:
    end = {"type": "tool_end", "id": "t1", "output": "No.", "failed": True, "reason": "declined"}
    *_, done = hear(converter, TOOL, end)
    assert isinstance(done, CompleteItem)
    assert (done.status, done.fields) == ("failed", {"reason": "declined"})


def test_a_result_of_an_unknown_call_still_opens_and_closes(converter: MockConverter) -> None:
    start, done = hear(converter, {"type": "tool_end", "id": "t9", "output": ""})
    assert isinstance(start, StartItem)
    assert isinstance(done, CompleteItem)
    assert (start.parent, start.key) == (None, done.key)


def test_a_new_process_may_use_the_same_keys_again(converter: MockConverter) -> None:
    hear(converter, TOOL, {"type": "tool_output", "id": "t1", "text": "a"})
    exit = Exit(code=3, signal=None, expected=False, stderr=Stderr(truncated=False))
    assert list(converter.on_close(exit)) == []
    start, *_ = hear(converter, {"type": "tool_output", "id": "t1", "text": "a"})
    assert isinstance(start, StartItem)
    assert start.parent is None


# --- Requests ---


def test_a_permission_names_its_call(converter: MockConverter) -> None:
    ask = {"type": "permission_ask", "id": "p1", "tool": "t1", "action": "edit"}
    about = {"input": {"path": "/a"}, "path": "/a", "diff": "--- a", "why": "Because."}
    steps = hear(converter, {**ask, **about, "edits_files": True})
    assert steps == [
        AskPermission(
            key="p1",
            action="edit",
            metadata={
                "input": {"path": "/a"},
                "call_id": "t1",
                "path": "/a",
                "diff": "--- a",
                "agent_reason": "Because.",
            },
            item="t1",
            edits_files=True,
        )
    ]


def test_questions_keep_their_choices(converter: MockConverter) -> None:
    choices = [{"label": "Red", "description": "Warm."}, {"label": "Blue"}]
    asked = {"id": "c", "header": "Colour", "text": "Which?", "choices": choices, "several": True}
    (ask,) = hear(converter, {"type": "question_ask", "id": "q1", "questions": [asked]})
    question = Question(
        question_id="c",
        header="Colour",
        prompt="Which?",
        options=(QuestionOption(label="Red", description="Warm."), QuestionOption(label="Blue")),
        multi_select=True,
        allow_other=False,
    )
    assert ask == AskQuestion(key="q1", questions=(question,))


# --- Other items ---


def test_a_plan_is_a_status_with_its_steps(converter: MockConverter) -> None:
    plan = {"kind": "plan", "steps": [{"step": "Look"}]}
    start, done = hear(converter, {"type": "item", "id": "i1", "item": plan})
    assert isinstance(start, StartItem)
    assert start.kind == "status"
    assert start.content == (Status(label="plan"), Json(json={"steps": ({"step": "Look"},)}))
    assert done == CompleteItem(key="i1", content=start.content)


def test_a_subagent_has_an_open_status_and_its_messages_have_the_call_as_parent(
    converter: MockConverter,
) -> None:
    _, status, message, tool, result, _, done = hear(
        converter,
        TOOL,
        {"type": "subagent_start", "id": "a1", "tool": "t1", "description": "Help"},
        {"type": "message_start", "id": "m2", "subagent": "a1"},
        {**TOOL, "id": "t2", "message": "m2", "subagent": "a1"},
        {"type": "tool_end", "id": "t2", "output": ""},
        {"type": "subagent_end", "id": "a1"},
    )
    assert isinstance(status, StartItem)
    assert (status.kind, status.parent) == ("status", "t1")
    assert status.content == (Status(label="subagent", detail="Help"),)
    for item, parent in ((message, "t1"), (tool, "m2"), (result, "m2")):
        assert isinstance(item, StartItem)
        assert (item.parent, item.subagent) == (parent, "a1")
    assert done == CompleteItem(key="a1")


# --- What we do not know ---


def test_an_unknown_kind_of_item_is_kept_as_json(converter: MockConverter) -> None:
    item = {"kind": "hologram", "depth": 3}
    start, done = hear(converter, {"type": "item", "id": "i1", "item": item})
    assert isinstance(start, StartItem)
    assert (start.kind, start.content) == ("unknown", (Json(json=item),))
    assert done == CompleteItem(key="i1", content=start.content)


@pytest.mark.parametrize(
    "block", [{"kind": "hologram"}, {"kind": "image", "data": "not base64!"}, {"kind": "file"}, 7]
)
def test_an_unknown_block_keeps_its_siblings(converter: MockConverter, block: Any) -> None:
    blocks = [{"kind": "text", "text": "a"}, block]
    start, _, end = hear(converter, {"type": "message_end", "id": "m1", "blocks": blocks})
    assert isinstance(start, StartItem)
    assert (start.kind, start.parent, start.content) == ("unknown", "m1", (Json(json=block),))
    assert end == CompleteItem(key="m1", content=(Text(text="a"),))


def test_an_unknown_block_of_a_result_is_kept_beside_it(converter: MockConverter) -> None:
    end = {"type": "tool_end", "id": "t1", "output": "ok", "blocks": [{"kind": "hologram"}]}
    _, _, unknown, _, done = hear(converter, TOOL, end)
    assert isinstance(unknown, StartItem)
    assert (unknown.kind, unknown.parent) == ("unknown", "m1")
    assert done == CompleteItem(key="t1:result", content=(ToolResult(call_id="t1", output="ok"),))


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"mystery"}',
        b'{"type":"text_delta","id":"m1"}',
        b'{"type":"text_delta","id":"m1","text":"\xff"}',
        b'{"type":"message_end","id":"m1","blocks":[{"kind":"text","text":"\xff"}]}',
        b'{"type":"turn_started","turn":"a","extra":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b"not json",
        b"",
    ],
    ids=["type", "field", "utf8", "utf8 in a block", "deep", "text", "empty"],
)
def test_what_cannot_be_decoded_raises_a_msgspec_error_before_any_step(
    converter: MockConverter, line: bytes
) -> None:
    steps = iter(converter.receive(line))
    with pytest.raises(msgspec.DecodeError):
        next(steps)
