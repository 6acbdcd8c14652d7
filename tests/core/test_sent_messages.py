"""People's messages on their way: each is shown once."""

from __future__ import annotations

from dragoman.core.sent_messages import Prompts
from dragoman.schema.commands import Prompt

HELLO = Prompt(message_id="msg_1", text="Hello")


def test_a_message_that_is_sent_again_in_its_turn_is_shown_once() -> None:
    """Before, one that was sent to a process that had just died stood twice in the turn."""
    prompts = Prompts()
    prompts.remember(HELLO)
    assert prompts.accepted("msg_1")
    assert prompts.take() == HELLO
    prompts.remember(HELLO)
    assert not prompts.accepted("msg_1")
    assert prompts.take() is None


def test_a_message_that_was_not_shown_is_shown_when_it_is_sent_again() -> None:
    prompts = Prompts()
    prompts.remember(HELLO)
    prompts.remember(HELLO)
    assert prompts.accepted("msg_1")
    assert prompts.take() == HELLO
