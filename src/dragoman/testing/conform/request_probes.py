"""Probes: permissions, questions, interrupts, queued and steering messages."""

from __future__ import annotations

from msgspec import UNSET

from dragoman.schema.events import (
    Event,
    ItemCompleted,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    QueueUpdated,
)
from dragoman.schema.items import Status, Text
from dragoman.testing.conform import query
from dragoman.testing.conform.context import DONE, ProbeContext, Talk
from dragoman.testing.conform.probe import expect

PIECES = ("One ", "two ", "three ", "four.")
PLAN = "Count the herons, and then the storks."
QUESTION, OPTIONS = "Which colour?", ("Red", "Blue")


def permission_accept(context: ProbeContext) -> None:
    """It asks before it acts, and acts when it is allowed to."""
    made = context.workspace / "made"
    talk = context.open()
    talk.send(context.change(made))
    talk.allow(talk.permission())
    turn = talk.rest()
    _resolved(turn, "accept")
    failed = [item for item in query.items(turn, "tool_result") if item.status == "failed"]
    expect(not failed, "a tool that ran", "one that failed")
    expect(made.exists() or not context.model, f"{made.name} on disk", "not there")


def permission_always(context: ProbeContext) -> None:
    """What is allowed for the session is not asked for again."""
    made = context.workspace / "made"
    talk = context.open()
    talk.send(context.change(made))
    talk.allow(talk.permission(), "always")
    _resolved(talk.rest(), "accept_for_session")
    made.unlink(missing_ok=True)
    talk.turn(context.change(made))  # to some agents another one would be something else
    expect(made.exists() or not context.model, f"{made.name} on disk", "not there")


def permission_reject(context: ProbeContext) -> None:
    """It does not do what it is refused, and the refused call fails as declined."""
    made = context.workspace / "made"
    talk = context.open()
    talk.send(context.change(made))
    talk.allow(talk.permission(), "reject")
    turn = talk.rest()
    _resolved(turn, "reject")
    reasons = [item.reason for item in query.items(turn, "tool_result")]
    expect(reasons == ["declined"], "one result that failed as declined", reasons or "no result")
    expect(not made.exists(), f"no {made.name} on disk", "it is there")


def _resolved(turn: list[Event], status: str) -> None:
    found = [event.data.status for event in turn if isinstance(event.data, PermissionResolved)]
    expect(found == [status], f"permission.resolved: {status}", found or "none")


def question(context: ProbeContext) -> None:
    """It asks a person, and hears the answer."""
    talk = context.open()
    talk.send(context.do("ask", QUESTION, OPTIONS))
    asked = _question(talk)
    expect(asked.options, "a question with options", "none")
    parts = () if asked.questions is UNSET else asked.questions
    talk.answer(asked, [[part.options[0].label] for part in parts])
    turn = talk.rest()
    answered = [event.data.answers for event in turn if isinstance(event.data, QuestionResolved)]
    expect(len(answered) == 1, "question.resolved with the answers", answered or "none")
    chosen, heard = (
        asked.options[0],
        query.printed(turn) + query.text(turn) + context.last_message(),
    )
    expect(chosen in heard, f"the answer {chosen!r} to reach the agent", repr(heard))


def _question(talk: Talk) -> QuestionRequested:
    event = talk.until(
        lambda event: isinstance(event.data, QuestionRequested),
        "question.requested",
        last="turn.ended",
    )
    assert isinstance(event.data, QuestionRequested)
    return event.data


def plan_mode(context: ProbeContext) -> None:
    """In its mode `plan` it shows a plan, and asks for leave where it does."""
    modes = [mode.id for mode in context.adapter.modes]
    expect("plan" in modes, "a mode 'plan'", modes)
    talk = context.open(agent_mode="plan")
    talk.turn(context.say("Let me think about it."))
    talk.send(context.plan(PLAN))
    event = talk.until(_shows_plan, "a plan", last="turn.ended")
    if isinstance(asked := event.data, QuestionRequested):
        wanted = PLAN in asked.prompt or not context.model
        expect(wanted, f"a question with the plan {PLAN!r}", repr(asked.prompt))
        talk.answer(asked, [[asked.options[0]]])
    turn = talk.rest()
    expect(query.outcome(turn) == "completed", "a completed turn", query.outcome(turn))


def _shows_plan(event: Event) -> bool:
    match event.data:
        case QuestionRequested():
            return True
        case ItemCompleted(item=item):
            labels = [part.label for part in item.content if isinstance(part, Status)]
            return item.phase == "plan" or "plan" in labels
        case _:
            return False


def interrupt(context: ProbeContext) -> None:
    """An interrupt ends the turn, not the session."""
    talk = context.open()
    talk.send(context.work(PIECES))
    talk.until(query.is_answer, "a delta", last="turn.ended")
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
    talk.until(query.is_answer, "a delta", last="turn.ended")
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
