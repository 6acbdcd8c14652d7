from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from dragoman.schema.events import (
    ModelUsage,
    QueuedMessage,
    Usage,
    encode,
)
from dragoman.schema.items import Json, Reasoning, Text, ToolCall, ToolResult
from dragoman.testing.conformance import RULES, Violation, check, check_lines
from dragoman.testing.stream_state import Ledger
from tests.testing.script import Script, good

Break = Callable[[Script], object]

BROKEN: list[tuple[str, Break]] = [
    ("session_starts_first", lambda s: s.drop("session.started")),
    ("session_starts_once", lambda s: s.repeat("session.started", after="error")),
    ("nothing_after_the_end", lambda s: s.repeat("updated", after="session.ended")),
    ("session_end_closes_all", lambda s: s.drop("turn2.ended")),
    ("session_end_closes_all", lambda s: s.drop("child.resolved")),
    ("session_end_closes_all", lambda s: s.drop("child.completed")),
    ("session_end_empties_the_queue", lambda s: s.drop("queue.emptied")),
    ("only_an_error_has_details", lambda s: s.change("session.ended", message="Goodbye.")),
    ("only_an_error_has_details", lambda s: s.change("session.ended", exit_code=0)),
    ("turns_alternate", lambda s: s.repeat("turn1.ended", after="turn1.ended")),
    ("turns_alternate", lambda s: s.drop("turn1.ended")),
    (
        "turn_id_once",
        lambda s: s.change("turn2.started", "turn2.ended", turn_id="trn_1"),
    ),
    (
        "turn_id_once",
        lambda s: s.change("turn2.started", "turn2.ended", turn_id=UNSET),
    ),
    ("turn_id_same", lambda s: s.change("turn1.ended", turn_id="trn_2")),
    ("turn_id_same", lambda s: s.change("turn1.ended", turn_id=UNSET)),
    ("turn_has_outcome", lambda s: s.change("turn1.ended", outcome=UNSET)),
    ("failed_turn_says_why", lambda s: s.drop("error")),
    ("failed_turn_says_why", lambda s: s.move("error", after="turn2.ended")),
    ("turn_end_closes_items", lambda s: s.move("answer.completed", after="turn1.ended")),
    ("turn_end_closes_items", lambda s: s.move("retry.completed", after="turn1.ended")),
    ("turn_end_closes_requests", lambda s: s.move("permission.resolved", after="turn1.ended")),
    ("turn_end_closes_requests", lambda s: s.move("question.resolved", after="turn1.ended")),
    ("usage_not_negative", lambda s: s.change("turn1.ended", usage=Usage(output_tokens=-1))),
    ("usage_not_negative", lambda s: s.change("turn1.ended", usage=Usage(cost_usd=-0.5))),
    (
        "usage_not_negative",
        lambda s: s.change("turn1.ended", usage=Usage(models={"m": ModelUsage(input_tokens=-1)})),
    ),
    ("item_starts_once", lambda s: s.repeat("answer.started", after="answer.started")),
    ("item_starts_in_progress", lambda s: s.change_item("answer.started", status="completed")),
    ("item_starts_empty", lambda s: s.change_item("answer.started", content=(Text(text="I"),))),
    (
        "item_starts_empty",
        lambda s: s.change_item("thought.started", content=(Reasoning(text="Hm."),)),
    ),
    (
        "item_starts_empty",
        lambda s: s.change_item(
            "call.started", content=(ToolCall(name="Bash", arguments="{", call_id="call_1"),)
        ),
    ),
    (
        "item_starts_empty",
        lambda s: s.change_item(
            "result.started", content=(ToolResult(call_id="call_1", output="all"),)
        ),
    ),
    ("item_in_a_turn", lambda s: s.put_item("extra", "turn1.ended")),
    ("item_in_a_turn", lambda s: s.put_item("extra", "turn1.ended", kind="unknown")),
    ("item_in_a_turn", lambda s: s.put_item("extra", "turn1.ended", role="user")),
    (
        "parent_seen_before",
        lambda s: s.change_item(
            "call.started",
            "call.completed",
            "result.started",
            "result.completed",
            parent_id="itm_x",
        ),
    ),
    (
        "parent_seen_before",
        lambda s: s.change_item("answer.started", "answer.completed", parent_id="itm_call"),
    ),
    ("prompt_comes_first", lambda s: s.put_item("extra", "turn1.started")),
    ("prompt_comes_first", lambda s: s.repeat("error", after="turn1.started")),
    (
        "message_id_once",
        lambda s: s.change_item("late.prompt.started", "late.prompt.completed", message_id="msg_1"),
    ),
    (
        "reasoning_stands_alone",
        lambda s: s.change_item("thought.completed", content=(Reasoning(text="Hm."), Json(json=1))),
    ),
    (
        "reasoning_stands_alone",
        lambda s: s.put_item(
            "extra", "result.completed", Reasoning(text=""), Reasoning(text=""), kind="unknown"
        ),
    ),
    (
        "thought_comes_before_its_answer",
        lambda s: s.move(
            "thought.started", "thought.delta1", "thought.completed", after="answer.started"
        ),
    ),
    (
        "call_has_parent",
        lambda s: s.change_item(
            "call.started", "call.completed", "result.started", "result.completed", parent_id=None
        ),
    ),
    (
        "result_shares_parent",
        lambda s: s.change_item("result.started", "result.completed", parent_id="itm_prompt"),
    ),
    ("delta_has_open_item", lambda s: s.repeat("answer.delta1", after="answer.completed")),
    ("delta_has_open_item", lambda s: s.repeat("answer.delta1", after="turn1.started")),
    ("completion_has_open_item", lambda s: s.repeat("answer.completed", after="answer.completed")),
    ("completion_has_open_item", lambda s: s.drop("retry.started")),
    ("completion_is_final", lambda s: s.change_item("answer.completed", status="in_progress")),
    ("item_keeps_identity", lambda s: s.change_item("answer.completed", native_item_id="n2")),
    ("item_keeps_identity", lambda s: s.change_item("answer.completed", parent_id="itm_prompt")),
    ("item_keeps_identity", lambda s: s.change_item("answer.completed", role="system")),
    ("item_keeps_identity", lambda s: s.change_item("retry.completed", kind="system")),
    ("item_keeps_identity", lambda s: s.change("answer.delta1", native_item_id=None)),
    ("deltas_add_up", lambda s: s.change("answer.delta1", delta="You ")),
    ("deltas_add_up", lambda s: s.drop("answer.delta2")),
    ("deltas_add_up", lambda s: s.change("late.answer.delta1", delta="cut off")),
    ("deltas_add_up", lambda s: s.change("thought.delta1", delta="Ha.")),
    ("deltas_add_up", lambda s: s.drop("call.delta1", "call.delta2")),
    ("message_was_streamed", lambda s: s.drop("prompt.delta1")),
    ("message_was_streamed", lambda s: s.drop("answer.delta1", "answer.delta2")),
    ("message_was_streamed", lambda s: s.drop("thought.delta1")),
    (
        "result_names_a_call",
        lambda s: s.put_item(
            "extra",
            "result.completed",
            ToolResult(call_id="call_x", output=""),
            ToolResult(call_id="call_x", output=""),
            kind="tool_result",
        ),
    ),
    ("result_names_a_call", lambda s: s.put_item("extra", "error", kind="tool_result")),
    (
        "result_names_a_call",
        lambda s: s.put_item(
            "extra",
            "call.started",
            ToolResult(call_id="call_1", output=""),
            ToolResult(call_id="call_1", output=""),
            kind="tool_result",
        ),
    ),
    (
        "result_comes_once",
        lambda s: s.put_item(
            "extra",
            "error",
            ToolResult(call_id="call_1", output=""),
            ToolResult(call_id="call_1", output=""),
            kind="tool_result",
        ),
    ),
    ("call_has_result", lambda s: s.drop(*(n for n in list(s.bodies) if n.startswith("result.")))),
    ("call_has_result", lambda s: s.drop("child.result.started", "child.result.completed")),
    (
        "request_asked_once",
        lambda s: s.repeat("permission.requested", after="permission.requested"),
    ),
    ("request_asked_once", lambda s: s.repeat("question.requested", after="question.requested")),
    ("request_resolved_once", lambda s: s.repeat("permission.resolved", after="turn2.started")),
    ("request_resolved_once", lambda s: s.repeat("question.resolved", after="turn2.started")),
    ("request_resolved_once", lambda s: s.drop("permission.requested")),
    ("request_keeps_identity", lambda s: s.change("permission.resolved", action="Read")),
    ("request_keeps_identity", lambda s: s.change("question.resolved", options=("A",))),
    ("request_status_fits", lambda s: s.change("permission.requested", status="accept")),
    ("request_status_fits", lambda s: s.change("permission.resolved", status="requested")),
    ("request_status_fits", lambda s: s.change("question.requested", status="answered")),
    ("request_status_fits", lambda s: s.change("question.resolved", status="requested")),
    (
        "queued_once",
        lambda s: s.change(
            "queue", messages=(QueuedMessage(message_id="msg_3", message="", created_at=1),) * 2
        ),
    ),
]

# Of the envelope: which field of the fourth event, and what it says instead.
STAMPED: list[tuple[str, dict[str, Any]]] = [
    ("event_id_once", {"event_id": "evt_2"}),
    ("one_session", {"session_id": "sess_2"}),
    ("synthetic_is_daemon", {"synthetic": True}),
]
ELSEWHERE = {"sequence_without_holes", "everything_parsed", "valid_event"}


def broken_rules(violations: list[Violation]) -> set[str]:
    return {violation.rule for violation in violations}


def test_a_good_stream_passes() -> None:
    assert check(good().events()) == []


def test_a_good_stream_may_stop_anywhere() -> None:
    events = good().events()
    for length in range(len(events)):
        assert check(events[:length]) == []


@pytest.mark.parametrize(("rule", "breaks"), BROKEN, ids=[rule for rule, _ in BROKEN])
def test_a_broken_stream_is_found_with_the_name_of_its_rule(rule: str, breaks: Break) -> None:
    script = good()
    breaks(script)
    assert broken_rules(check(script.events())) == {rule}


@pytest.mark.parametrize(("rule", "fields"), STAMPED)
def test_a_broken_envelope_is_found_at_its_place(rule: str, fields: dict[str, Any]) -> None:
    events = good().events()
    events[3] = msgspec.structs.replace(events[3], **fields)
    assert [(found.rule, found.sequence) for found in check(events)] == [(rule, 4)]


@pytest.mark.parametrize("after", [0, 1, 20])
def test_a_hole_is_found_once_where_it_is(after: int) -> None:
    events = [
        msgspec.structs.replace(event, sequence=event.sequence + 2 * (event.sequence > after))
        for event in good().events()
    ]
    assert [(found.rule, found.sequence) for found in check(events)] == [
        ("sequence_without_holes", after + 3)
    ]


def test_every_rule_has_a_broken_example() -> None:
    shown = {rule for rule, _ in BROKEN} | {rule for rule, _ in STAMPED} | ELSEWHERE
    assert shown == set(RULES)


def test_every_rule_is_one_sentence() -> None:
    for name, sentence in RULES.items():
        assert name.isidentifier()
        assert sentence.endswith(".")
        assert "\n" not in sentence


# --- Strictly, for recordings ---


def test_what_was_unparsed_is_reported_only_strictly() -> None:
    script = good()
    script.move("late.prompt.started", "late.prompt.delta1", "late.prompt.completed",
                after="turn2.started")  # fmt: skip
    assert check(script.events()) == []
    assert broken_rules(check(script.events(), strict=True)) == {"everything_parsed"}


def test_a_late_prompt_of_a_later_turn_is_reported_only_strictly() -> None:
    script = good()
    script.drop("unparsed")
    assert check(script.events()) == []
    assert broken_rules(check(script.events(), strict=True)) == {"prompt_comes_first"}


# --- No false alarms ---


@pytest.mark.parametrize("kind", ["status", "system"])
def test_a_status_item_may_come_before_the_prompt(kind: str) -> None:
    script = good()
    script.put_item("extra", "turn1.started", kind=kind, role="system")
    assert check(script.events()) == []


def test_a_subagent_may_act_and_ask_before_the_prompt() -> None:
    script = good()
    script.put_item("extra", "turn1.started", kind="unknown", subagent_id="sub_1")
    script.move("child.requested", after="turn1.started")
    assert check(script.events()) == []


def test_a_status_item_from_between_the_turns_may_outlive_one() -> None:
    script = good()
    script.move("system.completed", after="turn2.ended")
    assert check(script.events()) == []


def test_a_call_id_may_be_used_again_once_it_is_answered() -> None:
    script = good()
    part = ToolCall(name="Bash", arguments="", call_id="call_1")
    mine: dict[str, Any] = {"parent_id": "itm_late.prompt"}
    script.put_item("again", "late.prompt.completed", part, part, kind="tool_call", **mine)
    assert broken_rules(check(script.events())) == {"call_has_result"}
    output = ToolResult(call_id="call_1", output="")
    script.put_item("answered", "again.completed", output, output, kind="tool_result", **mine)
    assert check(script.events()) == []


def test_a_message_without_text_needs_no_delta() -> None:
    script = good()
    script.put_item("extra", "prompt.completed", Text(text=""), Text(text=""))
    assert check(script.events()) == []


# --- As it comes ---


def test_lines_are_checked_as_events_are() -> None:
    lines = [encode(event) for event in good().events()]
    assert check_lines(lines) == []
    lines[30], lines[31] = lines[31], lines[30]
    assert "sequence_without_holes" in broken_rules(check_lines(lines))


def test_a_line_that_is_no_event_is_one_violation() -> None:
    script = good()
    at = list(script.bodies).index("updated")
    lines = [encode(event) for event in script.events()]
    lines[at] = b'{"type":"session.updated"}'
    (violation,) = check_lines(lines)
    assert (violation.rule, violation.sequence) == ("valid_event", at + 1)
    assert "event_id" in violation.message


def test_of_what_is_closed_only_ids_are_kept() -> None:
    ledger = Ledger(strict=False)
    for event in good().events():
        ledger.advance(event)
    assert (ledger.items, ledger.requests, ledger.calls) == ({}, {}, {})
