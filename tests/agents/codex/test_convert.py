"""The conversation's state, and how turns end."""

from __future__ import annotations

import json

import pytest

from dragoman.adapter import Requester, Spec
from dragoman.agents.codex import ADAPTER
from dragoman.agents.codex.convert import (
    THREAD_TRANSITIONS,
    TURN_TRANSITIONS,
    ConversationState,
    ThreadState,
    Trigger,
    TurnState,
)
from dragoman.schema.commands import Interrupt, Prompt
from dragoman.steps import EndSession, EndTurn, Request
from dragoman.wire.jsonrpc import Result, RpcError
from tests.agents.codex.session import THREAD, TURN, CodexSession


def state() -> ConversationState:
    return ConversationState(
        Spec(session_id="s", agent="codex", agent_mode="build", directory="/workspace")
    )


def test_every_state_has_its_transitions() -> None:
    assert set(THREAD_TRANSITIONS) == set(ThreadState)
    assert set(TURN_TRANSITIONS) == set(TurnState)


@pytest.mark.parametrize("turn", TurnState)
@pytest.mark.parametrize("thread", ThreadState)
@pytest.mark.parametrize("trigger", Trigger)
def test_a_trigger_that_no_table_lists_leaves_the_state(
    thread: ThreadState, turn: TurnState, trigger: Trigger
) -> None:
    conversation = state()
    conversation.thread, conversation.turn = thread, turn
    conversation.trigger(trigger)
    assert conversation.thread is THREAD_TRANSITIONS[thread].get(trigger, thread)
    assert conversation.turn is TURN_TRANSITIONS[turn].get(trigger, turn)


@pytest.mark.parametrize("echo_comes_first", [False, True])
def test_a_turn_runs_when_it_is_named_and_shown(echo_comes_first: bool) -> None:
    conversation = state()
    if echo_comes_first:
        list(conversation.show_turn(THREAD))
        conversation.name_turn(TURN)
    else:
        conversation.name_turn(TURN)
        list(conversation.show_turn(THREAD))
    assert conversation.turn is TurnState.RUNNING
    conversation.end_turn(TURN)
    assert (conversation.turn, conversation.turn_id) == (TurnState.IDLE, None)


def test_a_name_is_the_title() -> None:
    assert CodexSession().tell("thread/name/updated", threadName="Dragons") == [
        ("session.updated", {"title": "Dragons"})
    ]


def test_an_error_is_told_once_where_the_turn_says_it_again() -> None:
    session = CodexSession()
    error = {"message": "No more.", "codexErrorInfo": "usageLimitExceeded"}
    told = session.tell("error", error=error, willRetry=False)
    told += session.tell(
        "turn/completed", turn={"id": "turn-1", "status": "failed", "error": error}
    )
    assert [data["code"] for type, data in told if type == "error"] == ["usage_limit_exceeded"]
    assert [data["outcome"] for type, data in told if type == "turn.ended"] == ["failed"]


def test_an_error_that_only_the_turn_tells_is_told() -> None:
    error = {"message": "No.", "codexErrorInfo": {"httpConnectionFailed": {"httpStatusCode": 403}}}
    turn = {"id": "turn-1", "status": "failed", "error": error}
    told = CodexSession().tell("turn/completed", turn=turn)
    ((_, data),) = [each for each in told if each[0] == "error"]
    assert (data["code"], data["message"]) == ("unauthorized", "No.")


def test_an_interrupt_of_a_turn_that_was_refused_does_not_hit_the_next() -> None:
    session = CodexSession()
    session.tell("turn/completed", turn={"id": "turn-1", "status": "completed"})
    session.say(Prompt(message_id="msg_2", text="More"))
    session.say(Interrupt())
    session.interpreter.on_reply("start:msg_2", RpcError(code=-32600, message="no"), b"{}")
    session.interpreter.take()
    session.say(Prompt(message_id="msg_3", text="Again"))
    session.on_reply("start:msg_3", {"turn": {"id": "turn-3"}})
    assert "turn/interrupt" not in [request.method for request in session.requests()]


def test_a_fork_of_a_thread_that_codex_does_not_know_is_refused_once() -> None:
    """Before, it was asked for again and again, for ever."""
    spec = Spec(
        session_id="s", agent="codex", agent_mode="build", directory="/workspace",
        native_session_id="gone", fork=True,
    )  # fmt: skip
    converter = ADAPTER.converter(spec)
    assert isinstance(converter, Requester)
    list(converter.on_open(spec))
    refusal = RpcError(code=-32600, message="no rollout found for thread id gone")
    steps = list(converter.on_reply("open", refusal))
    assert not [step for step in steps if isinstance(step, Request)]
    assert isinstance(steps[-1], EndSession)


def test_an_interrupt_of_a_message_that_was_delivered_before_is_not_for_the_next() -> None:
    """Before, it waited, and ended the turn of the next message as soon as that began."""
    spec = Spec(
        session_id="s", agent="codex", agent_mode="build", directory="/workspace",
        native_session_id=THREAD,
    )  # fmt: skip
    converter = ADAPTER.converter(spec)
    assert isinstance(converter, Requester)
    list(converter.on_open(spec))
    list(converter.command(Prompt(message_id="msg_1", text="Hi")))
    list(converter.command(Interrupt()))
    echo = {"type": "userMessage", "id": "i1", "clientId": "msg_1", "content": []}
    turns = {"data": [{"id": TURN, "status": "completed", "items": [echo]}]}
    opened = {"thread": {"id": THREAD}, "model": "m", "initialTurnsPage": turns}
    steps = list(converter.on_reply("open", Result(json.dumps(opened).encode())))
    assert [step.outcome for step in steps if isinstance(step, EndTurn)] == ["interrupted"]
    list(converter.command(Prompt(message_id="msg_2", text="Go on")))
    begun = converter.on_reply("start:msg_2", Result(b'{"turn":{"id":"t2"}}'))
    assert not [step for step in begun if isinstance(step, Request)]
