"""Events fold into the state of a session."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, UnsetType

from dragoman.core.fold import PREVIEW, SessionState, add
from dragoman.schema.events import (
    Body,
    ErrorRaised,
    ItemCompleted,
    ModelUsage,
    PermissionRequested,
    PermissionResolved,
    PermissionStatus,
    QuestionRequested,
    QuestionResolved,
    SessionEnded,
    SessionUpdated,
    TurnEnded,
    TurnStarted,
    Usage,
)
from dragoman.schema.items import ContentPart, Image, Item, Role, Text

ASKED = PermissionRequested(permission_id="p1", action="bash", metadata={"rule": "bash(git *)"})
QUESTION = QuestionRequested(question_id="q1", prompt="Why?", options=())


def fold(*bodies: Body) -> SessionState:
    state = SessionState(agent_mode="build")
    for body in bodies:
        state.apply(body)
    return state


def resolved(status: PermissionStatus) -> PermissionResolved:
    return PermissionResolved(permission_id="p1", action="bash", status=status)


def test_the_status_follows_the_events() -> None:
    start, end = TurnStarted(turn_id="t1"), TurnEnded(turn_id="t1", outcome="completed")
    answered = QuestionResolved(question_id="q1", prompt="Why?", options=(), status="answered")
    assert fold().status == "idle"
    assert fold(start).status == "running"
    assert fold(start, ASKED).status == "waiting"
    assert fold(start, ASKED, resolved("accept")).status == "running"
    assert fold(start, QUESTION).status == "waiting"
    assert fold(start, QUESTION, answered).status == "running"
    assert fold(start, end).status == "idle"
    assert fold(start, end).last_outcome == "completed"
    assert fold(start, SessionEnded(reason="error", terminated_by="agent")).status == "ended"


def test_always_keeps_the_rule_that_was_asked_for_once() -> None:
    assert fold(ASKED, resolved("accept_for_session")).rules == ["bash(git *)"]
    twice = (ASKED, resolved("accept_for_session")) * 2
    assert fold(*twice).rules == ["bash(git *)"]


@pytest.mark.parametrize("status", ["accept", "reject"])
def test_once_and_reject_keep_no_rule(status: PermissionStatus) -> None:
    assert fold(ASKED, resolved(status)).rules == []


def test_an_update_changes_what_it_names_and_nothing_else() -> None:
    state = fold(SessionUpdated(model="m1", variant="high", mode="plan", title="T"))
    assert (state.model, state.variant, state.agent_mode, state.title) == (
        "m1",
        "high",
        "plan",
        "T",
    )
    state.apply(SessionUpdated(permission_mode="bypass"))
    assert (state.model, state.permission_mode) == ("m1", "bypass")


def message(*parts: ContentPart, message_id: str | UnsetType = "msg_1") -> ItemCompleted:
    role: Role = "user" if message_id else "assistant"
    return ItemCompleted(
        item=Item(
            item_id="itm_1",
            kind="message",
            role=role,
            content=parts,
            status="completed",
            message_id=message_id,
        )
    )


@pytest.mark.parametrize(
    ("text", "preview"),
    [
        ("Fix the tests", "Fix the tests"),
        ("  Fix\n\tthe\r\ntests ", "Fix the tests"),
        ("word " * 30, "word word word word word word word word word word word word…"),
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 59 + "…"),
        ("ü" * 200, "ü" * 59 + "…"),
        (" \n ", None),
    ],
)
def test_the_first_words_of_a_message_are_its_sessions_preview(
    text: str, preview: str | None
) -> None:
    """Before, a session without a title was called by its id for ever."""
    state = fold(message(Text(text="I answer."), message_id=UNSET), message(Text(text=text)))
    assert state.preview == preview
    assert len(state.preview or "") <= PREVIEW


def test_the_preview_is_the_first_message_that_has_words() -> None:
    image = Image(path="/a.png", mime="image/png")
    state = fold(message(image), message(image, Text(text="What is it?")))
    assert state.preview == "What is it?"
    assert not state.apply(message(Text(text="And now?")))
    assert (state.preview, state.title) == ("What is it?", None)


def test_an_empty_title_is_none() -> None:
    state = fold(SessionUpdated(title="T"), SessionUpdated(title=""))
    assert state.title is None
    assert state.news(SessionUpdated(title="")) is None
    assert state.news(SessionUpdated(title="T")) == SessionUpdated(title="T")


def test_a_permission_mode_that_is_not_ours_changes_nothing() -> None:
    assert fold(SessionUpdated(permission_mode="dontAsk")).permission_mode == "default"


def test_it_tells_what_changed_nothing() -> None:
    assert not SessionState(agent_mode="build").apply(ErrorRaised(message="no"))


def test_the_state_survives_being_stored() -> None:
    state = fold(TurnStarted(turn_id="t1"), ASKED, QUESTION, SessionUpdated(title="T"))
    assert msgspec.json.decode(msgspec.json.encode(state), type=SessionState) == state


# --- Usage ---

tokens = st.integers(min_value=0, max_value=10**9)
usages = st.builds(
    Usage,
    input_tokens=tokens,
    cached_input_tokens=tokens,
    cache_write_tokens=tokens,
    output_tokens=tokens,
    reasoning_tokens=tokens,
    models=st.dictionaries(
        st.sampled_from(("m1", "m2")), st.builds(ModelUsage, input_tokens=tokens), min_size=1
    ),
)


@given(st.lists(usages, min_size=1, max_size=5))
def test_the_usage_of_turns_adds_up(given_: list[Usage]) -> None:
    state = fold(*(TurnEnded(turn_id="t", outcome="completed", usage=usage) for usage in given_))
    assert state.usage is not None
    for field in ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_tokens"):
        assert getattr(state.usage, field) == sum(getattr(usage, field) for usage in given_)
    per_model = sum(model.input_tokens for model in (state.usage.models or {}).values())
    assert per_model == sum(
        model.input_tokens for usage in given_ for model in (usage.models or {}).values()
    )


def test_a_turn_without_usage_adds_nothing() -> None:
    end = TurnEnded(turn_id="t", outcome="completed")
    assert fold(end).usage is None
    assert fold(TurnEnded(turn_id="t", outcome="completed", usage=Usage()), end).usage == Usage()


def test_costs_add_up_and_one_estimate_makes_the_sum_an_estimate() -> None:
    reported = Usage(cost_usd=0.5, cost_source="reported")
    assert add(reported, reported).cost_usd == 1.0
    assert add(reported, reported).cost_source == "reported"
    estimated = Usage(cost_usd=0.25, cost_source="estimated")
    assert add(reported, estimated).cost_source == "estimated"
    assert add(reported, Usage()).cost_usd == 0.5
    assert add(Usage(), Usage()).cost_usd is UNSET
    assert add(Usage(cost_usd=0.1), Usage(cost_usd=0.2)).cost_usd == 0.3


def test_the_costs_of_a_model_add_up_where_they_are_known() -> None:
    one = Usage(models={"m": ModelUsage(cost_usd=0.5), "n": ModelUsage()})
    two = Usage(models={"m": ModelUsage(cost_usd=0.25), "n": ModelUsage()})
    models = add(one, two).models
    assert models
    assert (models["m"].cost_usd, models["n"].cost_usd) == (0.75, None)


def test_only_what_differs_is_news() -> None:
    state = SessionState(agent_mode="build", model="small")
    told = SessionUpdated(model="small", mode="plan", permission_mode="default")
    assert state.news(told) == SessionUpdated(mode="plan")
    assert state.news(SessionUpdated(model="small")) is None
