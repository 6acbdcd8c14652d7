"""Probes: what people do during a turn: interrupt it, queue a message, steer."""

from __future__ import annotations

from dragoman.schema.events import Event, ItemCompleted, QueueUpdated
from dragoman.schema.items import Text
from dragoman.testing.conform import query
from dragoman.testing.conform.context import DONE, ProbeContext, Talk
from dragoman.testing.conform.probe import expect

PIECES = ("One ", "two ", "three ", "four.")


def interrupt(context: ProbeContext) -> None:
    """An interrupt ends the turn, not the session."""
    talk = context.open()
    talk.send(context.work(PIECES))
    _wait_until_busy(context, talk)
    talk.interrupt()
    turn = talk.rest()
    expect(
        query.outcome(turn) == "interrupted",
        "an interrupted turn",
        query.outcome(turn),
    )
    turn = talk.turn(context.say(DONE))
    expect(
        query.text(turn) == DONE,
        "an answer in the next turn",
        repr(query.text(turn)),
    )


def queue(context: ProbeContext) -> None:
    """A message for a busy agent waits, is shown once, and has a turn of its own."""
    talk = context.open()
    first = context.work(PIECES)
    talk.send(first)
    _wait_until_busy(context, talk)
    second = context.say(DONE)
    talk.send(second)
    talk.until(_waits, "queue.updated with the message", last="turn.ended")
    context.open_gate()
    talk.rest()
    turn = talk.rest()
    expect(
        query.text(turn) == DONE,
        "an answer in a turn of its own",
        repr(query.text(turn)),
    )
    shown = _people(talk.events)
    expect(shown == [first, second], "each message shown once, in its place", shown)


def _wait_until_busy(context: ProbeContext, talk: Talk) -> None:
    """Wait for a piece of the answer; of an agent that tells it whole, until the model is asked."""
    if context.model is None or "streamingDeltas" in context.adapter.capabilities.native:
        talk.until(query.is_answer, "a delta", last="turn.ended")
    else:
        context.model.wait_for_request()


def _waits(event: Event) -> bool:
    return isinstance(event.data, QueueUpdated) and bool(event.data.messages)


def _people(events: list[Event]) -> list[str]:
    return [part.text for part in query.parts(query.items(events, "message", "user"), Text)]


def steer(context: ProbeContext) -> None:
    """A message that is sent to join the running turn does so."""
    talk = context.open(permission_mode="bypass")
    # The second is for the message, which has some way to go.
    wait = "until [ -e go ]; do sleep 0.1; done; sleep 1"
    first = context.do("run", wait, name="work")
    talk.send(first)
    talk.until(lambda event: _is_busy(event, context), "a tool that runs", last="turn.ended")
    talk.send(second := "Be quick, please.", delivery="steer")
    (context.workspace / "go").touch()
    end = talk.rest()[-1].sequence
    shown = _people(talk.events[:end])
    expect(shown == [first, second], "both messages in one turn", shown)


def _is_busy(event: Event, context: ProbeContext) -> bool:
    if context.model is None:
        return query.is_answer(event)
    return isinstance(event.data, ItemCompleted) and event.data.item.kind == "tool_call"
