"""Whatever a dialect says, in whatever order: what comes out keeps every rule."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.core.fold import SessionState
from dragoman.schema.commands import PERMISSION_MODES, PermissionMode
from dragoman.schema.events import ItemCompleted, SessionEnded, decode, encode
from dragoman.schema.items import Text
from dragoman.steps import (
    BeginTurn,
    Bind,
    Delivered,
    Delta,
    Echo,
    EndSession,
    Resolve,
    Send,
    Step,
    Update,
    Used,
    Withdraw,
)
from dragoman.testing.conformance import check_lines

from .dialect import Act, Restart, Terminate, Write, final, lasting, tool_acts
from .stage import Stage

begin = st.builds(Write, st.booleans())
before = st.lists(lasting, max_size=30)
after = st.lists(st.one_of(lasting, final), max_size=3)
modes = st.sampled_from(PERMISSION_MODES)

NO_NEWS = (BeginTurn, Bind, Delivered, Resolve, Send, Used, Withdraw)
"""Steps that need not come to an event: what they say is known already, or is told later."""


@settings(max_examples=500, deadline=None)
@given(begin, before, final, after, modes)
def test_whatever_a_dialect_says_the_stream_conforms(
    first: Write, middle: list[Act], end: Act, rest: list[Act], mode: PermissionMode
) -> None:
    stage = Stage(mode=mode).play(first, *middle)
    assert stage.tape.violations() == []
    stage.play(end, *rest, Terminate())
    assert stage.tape.violations() == []
    assert isinstance(stage.tape.bodies[-1], SessionEnded)


@settings(max_examples=500, deadline=None)
@given(begin, before, final)
def test_a_dialect_that_takes_messages_during_a_turn_conforms(
    first: Write, middle: list[Act], end: Act
) -> None:
    stage = Stage(steers=True).play(first, *middle, end, Terminate())
    assert stage.tape.violations(strict=False) == []


@settings(max_examples=500, deadline=None)
@given(begin, st.lists(tool_acts, max_size=12))
def test_every_call_has_one_result_however_its_parts_come(first: Write, middle: list[Act]) -> None:
    assert Stage().play(first, *middle, Terminate()).tape.violations() == []


@settings(max_examples=200, deadline=None)
@given(begin, st.lists(lasting.filter(lambda act: not isinstance(act, Restart)), max_size=30))
def test_every_message_of_a_person_is_shown_once_as_it_was_written(
    first: Write, middle: list[Act]
) -> None:
    stage = Stage().play(first, *middle, Terminate())
    shown = [
        (body.item.message_id, body.item.content)
        for body in stage.tape.bodies
        if isinstance(body, ItemCompleted) and body.item.message_id
    ]
    assert shown == [(prompt.message_id, (Text(text=prompt.text),)) for prompt in stage.prompts]


@settings(max_examples=200, deadline=None)
@given(begin, before)
def test_what_the_agent_says_is_the_raw_of_some_event(first: Write, middle: list[Act]) -> None:
    stage = Stage().play(first, *middle)
    kept = {draft.raw for draft in stage.tape.drafts}
    ended = any(isinstance(step, EndSession) for _, steps in stage.said for step in steps)
    for message, steps in stage.said:
        assert message in kept or ended or all(map(_is_no_news, steps))


def _is_no_news(step: Step) -> bool:
    # What is already shown is not shown again because the agent repeats it: a message of ours,
    # the model, the mode.
    known = isinstance(step, Update) or (isinstance(step, Echo) and step.message_id is not None)
    return known or isinstance(step, NO_NEWS) or (isinstance(step, Delta) and not step.text)


@settings(max_examples=200, deadline=None)
@given(begin, before)
def test_the_agent_is_the_source_only_of_what_it_said(first: Write, middle: list[Act]) -> None:
    for draft in Stage().play(first, *middle).tape.drafts:
        assert draft.source == "daemon" or draft.raw is not None


@settings(max_examples=200, deadline=None)
@given(begin, before, final)
def test_the_stream_survives_the_wire_and_folds_to_the_same_state(
    first: Write, middle: list[Act], end: Act
) -> None:
    stage = Stage().play(first, *middle, end)
    lines = [encode(event) for event in stage.tape.events]
    assert check_lines(lines) == []
    folded = SessionState(agent_mode="build")
    for line in lines:
        folded.apply(decode(line).data)
    folded.native_session_id = stage.state.native_session_id
    folded.confirmed = stage.state.confirmed
    assert folded == stage.state
