"""What the translator makes of a session, case by case."""

from __future__ import annotations

import hashlib
import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.agui.frames import milliseconds, parse_place
from dragoman.agui.translate import Translator
from dragoman.core.fold import SessionState
from dragoman.schema.events import (
    Approver,
    Body,
    ErrorRaised,
    Event,
    FileChanged,
    ItemStarted,
    ModelUsage,
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    SandboxFile,
    SessionEnded,
    SessionUpdated,
    TurnEnded,
    TurnStarted,
    Usage,
    decode,
)
from dragoman.schema.items import FileRef, Json, Reasoning, Status, Text, ToolCall, ToolResult
from tests.agents.recordings import cases
from tests.agui.stream import (
    decoded,
    item,
    kinds,
    message,
    numbered,
    translated,
    translator,
    turn,
    whole,
)
from tests.agui.verifier import verify

CALL = item("i-call", "tool_call", ToolCall(name="bash", arguments="{}", call_id="c-1"))
RESULT = item("i-result", "tool_result", ToolResult(call_id="c-1", output="done"))
ASK = PermissionRequested(permission_id="p-1", action="bash", metadata={"call_id": "c-1"})
ALLOWED = PermissionResolved(permission_id="p-1", action="bash", status="accept")


def test_a_turn_is_a_run() -> None:
    events = translated(turn(*message("m", "Hello")))
    assert kinds(events, "CUSTOM") == [
        "RUN_STARTED",
        "STEP_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "STEP_FINISHED",
        "RUN_FINISHED",
    ]
    assert (events[0]["threadId"], events[0]["runId"]) == ("thread", "turn_1")
    assert events[0]["protocolVersion"] == "1.0"
    assert events[-1]["outcome"] == {"type": "success"}
    assert events[-1]["metadata"]["tanstack"]["finishReason"] == "stop"


def test_every_event_says_where_it_comes_from() -> None:
    found = next(e for e in translated(turn(*message("m", "Hi"))) if "delta" in e)
    assert found["metadata"]["dragoman"] == {
        "sequence": 3,
        "eventId": "evt_3",
        "nativeSessionId": "n-1",
    }
    assert found["timestamp"] == 1794992400500


@pytest.mark.parametrize(
    ("outcome", "shown"),
    [("interrupted", {"type": "cancelled"}), ("completed", {"type": "success"})],
)
def test_an_interrupted_turn_is_cancelled(outcome: str, shown: object) -> None:
    assert translated(turn(outcome=outcome))[-1]["outcome"] == shown


def test_a_failed_turn_is_an_error_that_says_why() -> None:
    events = translated(turn(ErrorRaised(message="no credit", code="402"), outcome="failed"))
    assert events[-1]["type"] == "RUN_ERROR"
    assert (events[-1]["message"], events[-1]["code"]) == ("no credit", "402")
    assert [e["type"] for e in events].count("RUN_FINISHED") == 0


def test_usage_counts_parts_inside_of_their_totals() -> None:
    model = ModelUsage(
        input_tokens=1, cached_input_tokens=2, cache_write_tokens=4, output_tokens=8,
        reasoning_tokens=3,
    )  # fmt: skip
    usage = Usage(models={"large": model})
    assert translated(turn(usage=usage))[-1]["usage"] == [
        {
            "model": "large",
            "inputTokens": 7,
            "outputTokens": 8,
            "totalTokens": 15,
            "reasoningTokens": 3,
            "cachedInputTokens": 2,
            "cacheWriteInputTokens": 4,
        }
    ]


def test_a_thought_has_a_span_and_a_message() -> None:
    thought = item("t", "message", Reasoning(text="Hm"))
    events = translated(turn(*whole(thought), *message("m", "Hi")))
    assert kinds(events, "CUSTOM")[1:8] == [
        "STEP_STARTED",
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_END",
        "TEXT_MESSAGE_START",
    ]


def test_each_message_of_the_model_is_a_step() -> None:
    events = translated(turn(*message("a", "One"), *whole(CALL), *whole(RESULT), *message("b", "")))
    names = [e["stepName"] for e in events if e["type"] == "STEP_STARTED"]
    assert names == ["step 1", "step 2"]


def test_a_call_without_a_result_is_interrupted() -> None:
    events = translated(turn(*whole(CALL), outcome="interrupted"))
    result = next(e for e in events if e["type"] == "TOOL_CALL_RESULT")
    assert result["content"] == '{"status":"interrupted"}'
    assert result["metadata"]["tanstack"] == {"state": "output-error"}


def test_a_second_result_is_not_a_result() -> None:
    again = msgspec.structs.replace(RESULT, item_id="again")
    events = translated(turn(*whole(CALL), *whole(RESULT), *whole(again)))
    assert kinds(events).count("TOOL_CALL_RESULT") == 1
    assert "dragoman.tool_result" in [e.get("name") for e in events]


def test_what_a_result_holds_beside_its_text_is_told() -> None:
    file = FileRef(path="/w/a", action="write", diff="+a")
    result = msgspec.structs.replace(RESULT, content=(*RESULT.content, file))
    events = translated(turn(*whole(CALL), *whole(result)))
    found = next(e for e in events if e.get("name") == "dragoman.item.parts")
    assert found["value"]["parts"] == [
        {"type": "file_ref", "path": "/w/a", "action": "write", "diff": "+a"}
    ]


def test_a_plan_is_an_activity_in_one_shape() -> None:
    steps = {"plan": [{"step": "Look", "status": "inProgress"}]}
    plan = item("p", "status", Status(label="plan"), Json(json=steps))
    found = next(e for e in translated(turn(*whole(plan))) if e["type"] == "ACTIVITY_SNAPSHOT")
    assert found["activityType"] == "PLAN"
    assert found["content"]["entries"] == [{"content": "Look", "status": "in_progress"}]


def test_files_keep_their_names_and_stand_before_the_end() -> None:
    events = translated(
        turn(SandboxFile(change="create", path="/w/a", timestamp=7), FileChanged(diff="+a"))
    )
    found = [(e["name"], e["value"]) for e in events if e["type"] == "CUSTOM"]
    assert ("sandbox.file", {"type": "create", "path": "/w/a", "timestamp": 7}) in found
    assert ("file.changed", {"path": ".", "diff": "+a"}) in found
    assert events[-1]["type"] == "RUN_FINISHED"


def test_the_agents_own_id_is_told_once_in_every_run() -> None:
    bodies = [*turn(SessionUpdated(model="large")), *turn(*message("m", "Hi"), turn_id="turn_2")]
    events = translated(bodies)
    found = [e["value"] for e in events if e.get("name") == "mock.session-id"]
    assert found == [{"sessionId": "n-1", "model": "large"}] * 2


def test_what_happens_between_turns_is_told_in_the_next() -> None:
    events = translated([SessionUpdated(title="A"), *turn()])
    assert events[0]["type"] == "RUN_STARTED"
    assert "dragoman.session.updated" in [e.get("name") for e in events]


def test_a_native_message_is_told_once_where_it_is_asked_for() -> None:
    frames = []
    once = translator()
    for event in numbered(turn(*message("m", "Hi"))):
        frames += once.receive(msgspec.structs.replace(event, raw={"n": event.sequence // 3}))
    found = [e["event"] for e in decoded(frames) if e["type"] == "RAW"]
    assert found == [{"n": 0}, {"n": 1}]


# --- Requests ---


def test_what_is_asked_ends_the_run_and_what_is_answered_goes_on() -> None:
    events = translated(turn(*whole(CALL), ASK, ALLOWED, *whole(RESULT)))
    verify(events)
    first = next(e for e in events if e["type"] == "RUN_FINISHED")
    assert first["outcome"]["type"] == "interrupt"
    (asked,) = first["outcome"]["interrupts"]
    assert (asked["id"], asked["reason"], asked["toolCallId"]) == ("p-1", "tool_call", "c-1")
    later = events[events.index(first) + 1 :]
    assert (later[0]["runId"], later[0]["parentRunId"]) == ("turn_1.2", "turn_1")
    assert "TOOL_CALL_RESULT" in kinds(later)
    assert not {"TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"} & set(kinds(later))


def test_an_interrupt_is_bound_as_tanstacks_client_wants_it() -> None:
    events = translated(turn(*whole(CALL), ASK, ALLOWED))
    (asked,) = next(e for e in events if e["type"] == "RUN_FINISHED")["outcome"]["interrupts"]
    text = json.dumps(asked["responseSchema"], sort_keys=True, separators=(",", ":"))
    assert asked["metadata"]["tanstack:interruptBinding"] == {
        "v": 1,
        "kind": "generic",
        "interruptId": "p-1",
        "interruptedRunId": "turn_1",
        "generation": 0,
        "responseSchemaHash": f"sha256:{hashlib.sha256(text.encode()).hexdigest()}",
    }


def test_all_messages_are_told_before_a_run_waits() -> None:
    events = translated(turn(*message("m", "May I?"), *whole(CALL), ASK))
    (snapshot,) = [e for e in events if e["type"] == "MESSAGES_SNAPSHOT"]
    call = {"id": "c-1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    assert snapshot["messages"] == [
        {"id": "m", "role": "assistant", "content": "May I?"},
        {"id": "c-1", "role": "assistant", "toolCalls": [call]},
    ]


def test_a_question_offers_its_options() -> None:
    question = QuestionRequested(question_id="q", prompt="Which?", options=("A", "B"))
    answer = QuestionResolved(
        question_id="q", prompt="Which?", options=("A", "B"), status="answered", response="A"
    )
    events = translated(turn(question, answer))
    (asked,) = next(e for e in events if e["type"] == "RUN_FINISHED")["outcome"]["interrupts"]
    assert (asked["reason"], asked["message"]) == ("input_required", "Which?")
    answers = asked["responseSchema"]["properties"]["answers"]
    assert answers["items"]["items"]["enum"] == ["A", "B"]


def test_what_a_rule_answers_is_asked_of_nobody() -> None:
    ruled = msgspec.structs.replace(ALLOWED, approver=Approver(rule="mode:bypass"))
    events = translated(turn(*whole(CALL), ASK, ruled, *whole(RESULT)))
    assert kinds(events).count("RUN_STARTED") == 1
    late = msgspec.structs.replace(ALLOWED, approver=Approver(rule="deadline"))
    assert kinds(translated(turn(*whole(CALL), ASK, late))).count("RUN_STARTED") == 2


def test_what_is_asked_while_a_run_waits_is_asked_next() -> None:
    second = PermissionRequested(permission_id="p-2", action="edit")
    done = PermissionResolved(permission_id="p-2", action="edit", status="reject")
    events = translated(turn(ASK, second, ALLOWED, done))
    asked = [
        [each["id"] for each in e["outcome"]["interrupts"]]
        for e in events
        if e.get("outcome", {}).get("type") == "interrupt"
    ]
    assert asked == [["p-1"], ["p-2"]]


def test_what_was_answered_while_a_run_waits_is_not_asked_again() -> None:
    second = PermissionRequested(permission_id="p-2", action="edit")
    done = PermissionResolved(permission_id="p-2", action="edit", status="reject")
    events = translated(turn(ASK, second, done, ALLOWED))
    assert kinds(events).count("RUN_STARTED") == 2


def test_a_live_request_is_asked_when_nothing_more_is_there() -> None:
    live = translator()
    events = numbered([TurnStarted(turn_id="t"), ASK])
    assert [frame.event.metadata for event in events for frame in live.receive(event)]
    (finished,) = [f for f in live.settle() if hasattr(f.event, "outcome")]
    assert finished.place[0] == 2
    assert live.settle() == []


# --- Subagents ---


SUBAGENT = item(
    "i-sub", "status", Status(label="subagent", detail="Count"), parent_id="i-call",
    subagent_id="a-1",
)  # fmt: skip


def test_a_subagent_is_named_and_its_work_is_its_own() -> None:
    started = ItemStarted(item=msgspec.structs.replace(SUBAGENT, status="in_progress"))
    bodies = turn(
        *whole(CALL), started, *message("m", "7", subagent_id="a-1"), *whole(SUBAGENT)[1:]
    )
    events = translated(bodies)
    verify(events)
    begun = next(e for e in events if e["type"] == "SUBAGENT_STARTED")
    assert (begun["subagentRunId"], begun["name"]) == ("i-sub", "Count")
    assert begun["parentToolCallId"] == "c-1"
    text = next(e for e in events if e["type"] == "TEXT_MESSAGE_START")
    assert text["subagentRunId"] == "i-sub"
    ended = next(e for e in events if e["type"] == "SUBAGENT_FINISHED")
    assert ended["outcome"] == {"type": "success"}


def test_a_subagent_that_outlives_its_turn_works_in_a_run_of_its_own() -> None:
    started = ItemStarted(item=msgspec.structs.replace(SUBAGENT, status="in_progress"))
    bodies = [
        *turn(*whole(CALL), started, *whole(RESULT)),
        *message("m", "7", subagent_id="a-1"),
        *whole(SUBAGENT)[1:],
    ]
    events = translated(bodies)
    verify(events)
    outcomes = [e["outcome"]["type"] for e in events if e["type"] == "SUBAGENT_FINISHED"]
    assert outcomes == ["suspended", "success"]
    assert kinds(events).count("RUN_STARTED") == 2


# --- One run of a client ---


def test_a_run_has_the_clients_names_and_does_not_repeat_its_message() -> None:
    bodies = turn(*message("u", "Go", role="user", message_id="msg_1"), *message("m", "Hi"))
    earlier = [{"id": "mine", "role": "user", "content": "Go"}]
    events = translated(
        bodies, state=SessionState(agent_mode="build", model="large"), run_id="run-1",
        parent_run_id="run-0", own_message_id="msg_1", messages=earlier, client_state={"a": 1},
    )  # fmt: skip
    assert (events[0]["runId"], events[0]["parentRunId"]) == ("run-1", "run-0")
    assert [e["messageId"] for e in events if e["type"] == "TEXT_MESSAGE_START"] == ["m"]
    assert events[1]["snapshot"]["a"] == 1
    assert events[1]["snapshot"]["dragoman"]["model"] == "large"


# --- Whatever comes ---

RECORDED = [case for case in cases() if case.golden is not None]


def recorded(index: int) -> tuple[Translator, list[Event]]:
    case = RECORDED[index % len(RECORDED)]
    assert case.golden is not None
    lines = case.golden.read_bytes().splitlines()
    return Translator("thread", case.adapter), [decode(line) for line in lines]


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 100_000), st.data())
def test_a_damaged_stream_is_still_one_of_ag_ui(index: int, data: st.DataObject) -> None:
    once, events = recorded(index)
    drawn = data.draw(st.lists(st.integers(0, len(events) - 1), max_size=2 * len(events)))
    frames = []
    for number, position in enumerate(drawn, 1):
        frames += once.receive(msgspec.structs.replace(events[position], sequence=number))
    frames += once.close()
    if frames:
        verify(decoded(frames))
        places = [frame.place for frame in frames]
        assert places == sorted(set(places))


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 100_000), st.floats(0, 1))
def test_a_stream_that_is_cut_is_closed(index: int, share: float) -> None:
    once, events = recorded(index)
    frames = [f for event in events[: int(share * len(events))] for f in once.receive(event)]
    frames += once.close()
    if frames:
        verify(decoded(frames))


def test_an_ended_session_says_so_in_a_run() -> None:
    ended: list[Body] = [SessionEnded(reason="terminated", terminated_by="daemon")]
    events = translated([*turn(), *ended])
    assert events[-1]["outcome"] == {"type": "cancelled"}
    assert "dragoman.session.ended" in [e.get("name") for e in events]
    failed: list[Body] = [SessionEnded(reason="error", terminated_by="agent", message="gone")]
    assert translated([*turn(), *failed])[-1]["message"] == "gone"


def test_a_turn_that_ends_without_a_beginning_is_a_run() -> None:
    verify(translated([TurnEnded(turn_id="t", outcome="failed")]))


@pytest.mark.parametrize(
    ("time", "number"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("2024-02-29T12:30:15.250Z", 1709209815250),
        ("2026-11-18T09:00:00.500Z", 1794992400500),
        ("soon", None),
    ],
)
def test_times_are_milliseconds(time: str, number: int | None) -> None:
    assert milliseconds(time) == number


@pytest.mark.parametrize(
    ("text", "place"), [("3.0", (3, 0)), ("3", None), ("a.1", None), ("³.1", None), ("", None)]
)
def test_a_place_has_an_id(text: str, place: object) -> None:
    assert parse_place(text) == place


def test_parts_of_a_message_that_are_no_text_are_told() -> None:
    found = item("m", "message", Text(text="See"), FileRef(path="/w/a", action="read"))
    events = translated(turn(*whole(found)))
    assert [e["name"] for e in events if e["type"] == "CUSTOM"][-1] == "dragoman.item.parts"
