"""A first message of which Claude Code says nothing, or under another id, before it is over."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agents.claude.lines import INIT, Heard

ANSWER = {
    "type": "assistant",
    "message": {"id": "a1", "content": [{"type": "text", "text": "Yes"}]},
}
DONE = {"type": "result", "subtype": "success", "is_error": False}
CUT = {"type": "result", "subtype": "error_during_execution", "is_error": True}
FAILED = {**CUT, "errors": ["the wheels came off"]}
OTHER = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def session() -> Heard:
    return Heard(in_turn=False)


def echo(text: str) -> dict[str, Any]:
    """A message that is repeated, under an id that is not ours."""
    message = {"role": "user", "content": text}
    return {"type": "user", "isReplay": True, "uuid": OTHER, "message": message}


def items(events: list[tuple[str, Any]]) -> list[tuple[str, str | None]]:
    """Who says something, and which message it is."""
    done = [data["item"] for type, data in events if type == "item.completed"]
    return [(item["role"], item.get("message_id")) for item in done if item["role"]]


@pytest.mark.parametrize(
    ("result", "outcome"), [(CUT, "interrupted"), (FAILED, "failed"), (DONE, "completed")]
)
def test_a_first_message_that_is_over_before_it_began_is_shown(
    session: Heard, result: dict[str, Any], outcome: str
) -> None:
    """Before, it was not, and the next one waited for ever."""
    session.say("msg_1", "Hi")
    events = session.hear(result)
    assert session.delivered == ["msg_1"]
    assert items(events) == [("user", "msg_1")]
    assert (events[-1][0], events[-1][1]["outcome"]) == ("turn.ended", outcome)
    errors = [data["message"] for type, data in events if type == "error"]
    assert errors == (["the wheels came off"] if outcome == "failed" else [])
    session.say("msg_2", "And now?")
    assert items(session.hear(INIT, ANSWER, DONE)) == [("user", "msg_2"), ("assistant", None)]


def test_a_message_that_is_repeated_under_another_id_is_shown_once(session: Heard) -> None:
    """Before, it was shown twice, once as words that are nobody's."""
    session.say("msg_1", "Hi")
    events = session.hear(INIT, echo("Hi"), ANSWER, DONE)
    assert items(events) == [("user", "msg_1"), ("assistant", None)]
    assert session.delivered == ["msg_1"]


def test_other_words_under_a_persons_role_are_nobodys(session: Heard) -> None:
    session.say("msg_1", "Hi")
    events = session.hear(INIT, echo("Something else"), ANSWER, DONE)
    assert items(events) == [("system", None), ("user", "msg_1"), ("assistant", None)]


def test_the_same_words_are_repeated_once(session: Heard) -> None:
    session.say("msg_1", "Hi")
    events = session.hear(INIT, echo("Hi"), ANSWER, echo("Hi"), DONE)
    assert [role for role, _ in items(events)] == ["user", "system", "assistant"]
