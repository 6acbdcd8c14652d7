"""Probes: permissions, questions and plans, and what becomes of the answers."""

from __future__ import annotations

from msgspec import UNSET

from dragoman.schema.events import (
    Event,
    ItemCompleted,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
)
from dragoman.schema.items import Status
from dragoman.testing.conform import query
from dragoman.testing.conform.context import ProbeContext, Talk
from dragoman.testing.conform.probe import expect

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
    """It asks a person, and hears the answer; also where nothing else is asked."""
    is_free = "bypass" in context.adapter.permission_modes
    talk = context.open(permission_mode="bypass" if is_free else None)
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
