"""Messages that join a turn, come too late, or are shown before their echo."""

from __future__ import annotations

import pytest

from dragoman.schema.commands import Prompt
from dragoman.wire.jsonrpc import RpcError
from tests.agents.codex.session import TURN, CodexSession, EventData, completed


@pytest.fixture
def session() -> CodexSession:
    return CodexSession()


def test_a_message_that_was_shown_before_it_was_repeated_is_shown_once() -> None:
    session = CodexSession()
    session.tell("turn/completed", turn={"id": "turn-1", "status": "completed"})
    session.say(Prompt(message_id="msg_2", text="More"))
    session.on_reply("start:msg_2", {"turn": {"id": "turn-2"}})
    told = session.tell("turn/started", turn={"id": "turn-2"})
    told += session.tell("item/started", item={"type": "contextCompaction", "id": "c1"})
    told += session.tell("item/completed", item={"type": "contextCompaction", "id": "c1"})
    words = [{"type": "text", "text": "More"}]
    echo = {"type": "userMessage", "id": "u2", "clientId": "msg_2", "content": words}
    assert session.tell("item/started", item=echo) == []
    first, second = completed(told)
    assert (first["role"], first["content"][0]["text"]) == ("user", "More")
    assert second["content"][0]["label"] == "compacting"


@pytest.mark.parametrize("is_over", [False, True])
def test_a_message_that_came_too_late_to_join_begins_a_turn(is_over: bool) -> None:
    session = CodexSession()
    session.say(Prompt(message_id="msg_2", text="More"))
    over = {"id": "turn-1", "status": "completed"}
    refused = RpcError(code=-32600, message="no active turn to steer")
    if is_over:
        session.tell("turn/completed", turn=over)
    session.interpreter.on_reply("steer:msg_2", refused, b"{}")
    session.out += session.interpreter.take()
    if not is_over:
        session.tell("turn/completed", turn=over)
    sent = [request.method for request in session.requests()]
    assert sent == ["thread/start", "turn/start", "turn/steer", "turn/start"]


# --- Codex before 0.136 repeats messages without our ids ---


def anonymous() -> CodexSession:
    """A session with such a Codex."""
    return CodexSession(echoes_ids=False)


def joins(session: CodexSession, *texts: str) -> None:
    """Messages are sent into the turn, and Codex says that they join it."""
    for number, text in enumerate(texts, 2):
        session.say(Prompt(message_id=f"msg_{number}", text=text))
        session.on_reply(f"steer:msg_{number}", {"turnId": TURN})


def repeat(session: CodexSession, text: str) -> list[EventData]:
    """Codex repeats a message."""
    words = [{"type": "text", "text": text}]
    return session.item(type="userMessage", id=f"u-{text}", content=words)


def end(session: CodexSession, status: str = "completed") -> list[EventData]:
    return session.tell("turn/completed", turn={"id": TURN, "status": status})


def starts(session: CodexSession) -> int:
    return [request.method for request in session.requests()].count("turn/start")


def test_a_message_that_joined_is_known_by_its_words() -> None:
    """Before, it was shown as the agent's own, and sent again when the turn was over."""
    session = anonymous()
    joins(session, "First this", "Then that")
    for text, message_id in (("First this", "msg_2"), ("Then that", "msg_3")):
        (item,) = completed(repeat(session, text))
        assert (item["role"], item["message_id"]) == ("user", message_id)
        assert item["content"] == ({"type": "text", "text": text},)
    end(session)
    assert starts(session) == 1


@pytest.mark.parametrize("status", ["completed", "interrupted"])
def test_a_message_that_may_have_been_heard_is_shown_and_not_sent_again(status: str) -> None:
    """Before, the agent got it twice."""
    session = anonymous()
    joins(session, "And be quick")
    events = end(session, status)
    item, note = completed(events)
    assert (item["role"], item["message_id"]) == ("user", "msg_2")
    assert note["content"][0]["label"] == "perhaps not heard"
    assert events[-1][0] == "turn.ended"
    assert starts(session) == 1


def test_words_of_codex_itself_are_no_persons() -> None:
    session = anonymous()
    joins(session, "And be quick")
    (item,) = completed(repeat(session, "Something else"))
    assert item["role"] == "system"


def test_where_ids_are_repeated_a_message_that_was_not_heard_has_a_turn_of_its_own(
    session: CodexSession,
) -> None:
    joins(session, "And be quick")
    (item,) = completed(repeat(session, "And be quick"))
    assert item["role"] == "system"
    end(session)
    assert starts(session) == 2
