"""Requests, errors and ends: what the normalizer repairs, one sentence each."""

from __future__ import annotations

import hashlib

import pytest
from msgspec import UNSET

from dragoman.facts import Exit
from dragoman.schema.commands import Configure
from dragoman.schema.events import (
    AgentUnparsed,
    ErrorRaised,
    ModelUsage,
    PermissionResolved,
    Question,
    QuestionResolved,
    SessionEnded,
    SessionUpdated,
    Stderr,
    TurnEnded,
    Usage,
)
from dragoman.schema.items import (
    Text,
)
from dragoman.steps import (
    AskPermission,
    AskQuestion,
    BeginTurn,
    Bind,
    CompleteItem,
    Delta,
    EndSession,
    EndTurn,
    StartItem,
    Update,
    Used,
    whole,
)

from .dialect import Act, Answer, Cut, Die, Garble, Restart, Say, Stop, Terminate, Write
from .stage import Stage
from .steps import CALL, DIED, MESSAGE, RESULT, completed, last

ASK = AskPermission(key="p", action="bash", metadata={"command": "ls"}, item="t")
QUESTION = AskQuestion(key="q", questions=(Question(prompt="Why?"),))


def test_a_permission_names_the_item_it_is_about(stage: Stage) -> None:
    stage.say(*whole(CALL)).say(ASK)
    (asked,) = stage.interpreter.requests
    call = next(item for item in completed(stage) if item.kind == "tool_call")
    assert asked.body.metadata == {"command": "ls", "rule": "bash", "item_id": call.item_id}


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (Stop(), "interrupt"),
        (Die(DIED, resumable=True), "process_exit"),
        (Die(DIED, resumable=False), "process_exit"),
        (Cut(), "interrupt"),
        (Restart(), "restart"),
        (Terminate(), "session_end"),
    ],
    ids=lambda given: given if isinstance(given, str) else type(given).__name__,
)
def test_whatever_ends_a_turn_withdraws_its_requests(
    stage: Stage, end: object, reason: str
) -> None:
    stage.say(ASK).say(QUESTION).play(end)  # type: ignore[arg-type]
    permission, question = stage.tape.of("permission.resolved", "question.resolved")
    assert isinstance(permission, PermissionResolved)
    assert isinstance(question, QuestionResolved)
    assert (permission.status, question.status) == ("reject", "rejected")
    assert (permission.metadata or {})["reason"] == reason
    assert (question.metadata or {})["reason"] == reason
    assert stage.tape.violations() == []


def test_an_agents_end_of_the_turn_withdraws_with_reason_turn_end(stage: Stage) -> None:
    stage.say(ASK).say(EndTurn(outcome="completed"))
    (resolved,) = stage.tape.of("permission.resolved")
    assert isinstance(resolved, PermissionResolved)
    assert (resolved.metadata or {})["reason"] == "turn_end"


def test_a_request_of_a_loose_subagent_can_be_answered_after_the_turn(stage: Stage) -> None:
    about = {"subagent_id": "s1"}
    stage.say(AskPermission(key="p", action="bash", metadata=about, detached=True))
    stage.say(EndTurn(outcome="completed")).play(Answer(favourably=True))
    assert stage.tape.types()[-2:] == ["turn.ended", "permission.resolved"]
    assert stage.tape.violations() == []


def test_a_process_that_dies_withdraws_says_why_fails_items_and_ends_the_turn(
    stage: Stage,
) -> None:
    stderr = Stderr(head="boom", truncated=False, total_lines=1)
    exit = Exit(code=3, signal=None, expected=False, stderr=stderr)
    stage.say(MESSAGE).say(ASK)
    before = len(stage.tape.bodies)
    stage.play(Die(exit, resumable=False))
    assert stage.tape.types()[before:] == [
        "permission.resolved",
        "error",
        "item.completed",
        "turn.ended",
        "session.ended",
    ]
    (error,) = stage.tape.of("error")
    assert isinstance(error, ErrorRaised)
    assert error.code == "process_exit"
    assert error.details == {"exit_code": 3, "signal": None, "stderr": stderr}
    assert stage.tape.bodies[-1] == SessionEnded(
        reason="error",
        terminated_by="agent",
        message="the agent's process ended (exit code 3)",
        exit_code=3,
        stderr=stderr,
    )


@pytest.mark.parametrize(
    "end",
    [Die(DIED, resumable=True), Restart(), Cut(), Terminate()],
    ids=lambda end: type(end).__name__,
)
def test_what_ends_the_process_closes_all_of_the_turn_before_the_turn(
    stage: Stage, end: Act
) -> None:
    """A subagent's result of the agent's own call, after a restart, was the one left open."""
    detached = StartItem(key="s", kind="message", role="assistant", subagent="s1", detached=True)
    result = StartItem(
        key="r", kind="tool_result", content=RESULT.content, subagent="s1", detached=True
    )
    stage.say(*whole(CALL)).say(detached).say(result).play(end)
    ended = stage.tape.types().index("turn.ended")
    assert "item.completed" not in stage.tape.types()[ended:]
    assert stage.tape.violations() == []


@pytest.mark.parametrize(
    "end",
    [Die(DIED, resumable=True), Restart(), Cut(), Terminate(), Say((EndTurn(outcome="failed"),))],
    ids=lambda end: type(end).__name__,
)
def test_whoever_ends_a_turn_names_it_as_the_agent_did(end: Act) -> None:
    about = {"native_turn_id": "n1", "model": "m"}
    stage = Stage().say(BeginTurn(metadata=about)).play(end)
    (ended,) = stage.tape.of("turn.ended")
    assert isinstance(ended, TurnEnded)
    assert ended.metadata == {"native_turn_id": "n1"}


@pytest.mark.parametrize(
    "end",
    [Die(DIED, resumable=True), Cut(), Terminate(), Say((EndTurn(outcome="failed"),))],
    ids=lambda end: type(end).__name__,
)
def test_a_turn_that_is_cut_has_used_what_is_known(stage: Stage, end: Act) -> None:
    known, more = Usage(input_tokens=1), Usage(input_tokens=2)
    stage.say(MESSAGE).say(Used(usage=known)).say(Used(usage=more)).play(end)
    (ended,) = stage.tape.of("turn.ended")
    assert isinstance(ended, TurnEnded)
    assert ended.usage == more


def test_what_an_agent_says_at_the_end_of_a_turn_is_what_it_used(stage: Stage) -> None:
    said = Usage(input_tokens=3)
    stage.say(MESSAGE).say(Used(usage=Usage(input_tokens=1)))
    stage.say(EndTurn(outcome="completed", usage=said)).say(MESSAGE).say(EndTurn(outcome="failed"))
    first, second = stage.tape.of("turn.ended")
    assert isinstance(first, TurnEnded)
    assert isinstance(second, TurnEnded)
    assert (first.usage, second.usage) == (said, UNSET)


@pytest.mark.parametrize("count", [-1, 10**13, 10**30])
def test_a_count_that_cannot_be_is_none(stage: Stage, count: int) -> None:
    wrong = Usage(
        input_tokens=count,
        output_tokens=2,
        cost_usd=float(count),
        models={"m": ModelUsage(input_tokens=count, output_tokens=2)},
    )
    stage.say(MESSAGE).say(EndTurn(outcome="completed", usage=wrong))
    (ended,) = stage.tape.of("turn.ended")
    assert isinstance(ended, TurnEnded)
    models = {"m": ModelUsage(output_tokens=2)}
    assert ended.usage == Usage(output_tokens=2, cost_usd=0, models=models)


def test_terminate_takes_back_what_is_asked_before_anything_else(stage: Stage) -> None:
    stage.say(*whole(CALL)).say(ASK)
    before = len(stage.tape.bodies)
    stage.play(Terminate())
    resolved = stage.tape.bodies[before]
    assert isinstance(resolved, PermissionResolved)
    assert (resolved.metadata or {})["reason"] == "session_end"


def test_a_process_that_can_be_resumed_does_not_end_the_session(stage: Stage) -> None:
    stage.say(Bind("n1")).play(Die(DIED, resumable=True), Write(echoed=False))
    assert stage.tape.of("session.ended") == []
    assert len(stage.tape.of("turn.started")) == 2


def test_a_process_that_ends_between_turns_writes_nothing() -> None:
    stage = Stage().play(Die(DIED, resumable=False))
    assert stage.tape.types() == ["session.started"]


def test_an_agent_that_ends_the_session_in_a_turn_ends_the_turn_first(stage: Stage) -> None:
    stage.say(MESSAGE).say(EndSession(message="Goodbye."))
    assert stage.tape.types()[-3:] == ["item.completed", "turn.ended", "session.ended"]
    assert stage.tape.bodies[-1] == SessionEnded(reason="completed", terminated_by="agent")
    stage.say(MESSAGE).play(Die(DIED, resumable=False), Terminate())
    assert stage.tape.types()[-1] == "session.ended"
    assert len(stage.tape.of("session.ended")) == 1


def test_a_session_that_ends_with_its_process_says_how_that_ended(stage: Stage) -> None:
    stage.say(EndSession(reason="error", message="gone", exit=DIED))
    assert stage.tape.bodies[-1] == SessionEnded(
        reason="error", terminated_by="agent", message="gone", exit_code=3, stderr=DIED.stderr
    )


def test_a_session_that_has_ended_does_not_end_again_because_it_never_came_up(
    stage: Stage,
) -> None:
    stage.say(EndSession())
    stage.interpreter.give_up("too late", DIED)
    assert stage.interpreter.take() == []


def test_what_cannot_be_decoded_harms_nothing_around_it(stage: Stage) -> None:
    stage.say(MESSAGE, Delta("a", "one ")).play(Garble()).say(Delta("a", "two"))
    assert last(stage.say(CompleteItem(key="a"))).content == (Text(text="one two"),)
    (unparsed,) = stage.tape.of("agent.unparsed")
    assert unparsed == AgentUnparsed(
        error="truncated", location="test", raw_hash=hashlib.sha256(b"?").hexdigest()
    )


def test_an_oversize_message_has_the_hash_of_all_of_it(stage: Stage) -> None:
    stage.interpreter.oversize(5000, "abc123", b'{"type":')
    (draft,) = stage.interpreter.take()
    assert getattr(draft, "raw", None) == b'{"type":'
    body = getattr(draft, "body", None)
    assert isinstance(body, AgentUnparsed)
    assert body.raw_hash == "abc123"
    assert "oversize" in body.error


def test_what_a_command_changes_is_ours_and_what_the_agent_changes_is_its() -> None:
    stage = Stage()
    stage.command(Configure(model="large"))
    stage.say(Update(body=SessionUpdated(model="small")))
    assert [draft.source for draft in stage.tape.drafts[-2:]] == ["daemon", "agent"]


def test_events_carry_the_native_id_once_the_agent_confirmed_it(stage: Stage) -> None:
    stage.say(Bind("n1")).say(MESSAGE)
    assert stage.tape.drafts[-1].native_session_id == "n1"
    assert stage.tape.drafts[1].native_session_id is None
    assert stage.state.confirmed
