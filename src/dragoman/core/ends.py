"""What is said at an end: of a turn, of a process, of a session."""

from __future__ import annotations

from msgspec import UNSET

from dragoman.adapter import EndSession, EndTurn, Exit
from dragoman.schema.events import ErrorRaised, SessionEnded, TurnEnded


def turn_ended(turn_id: str | None, end: EndTurn) -> TurnEnded:
    """The end of a turn, with what the agent tells about it."""
    return TurnEnded(
        turn_id=turn_id or UNSET,
        outcome=end.outcome,
        metadata=UNSET if end.metadata is None else dict(end.metadata),
        usage=UNSET if end.usage is None else end.usage,
        stop_reason=UNSET if end.stop_reason is None else end.stop_reason,
    )


def process_exit(exit: Exit) -> ErrorRaised:
    """The error of a turn whose agent is gone."""
    how = f"exit code {exit.code}" if exit.signal is None else f"signal {exit.signal}"
    return ErrorRaised(
        message=f"the agent's process ended ({how})",
        code="process_exit",
        details={"exit_code": exit.code, "signal": exit.signal, "stderr": exit.stderr},
    )


def given_up(message: str, exit: Exit | None) -> SessionEnded:
    """The end of a session whose agent cannot go on, nor be resumed."""
    return SessionEnded(
        reason="error",
        terminated_by="agent",
        message=message,
        exit_code=UNSET if exit is None or exit.code is None else exit.code,
        stderr=UNSET if exit is None else exit.stderr,
    )


def said_goodbye(end: EndSession) -> SessionEnded:
    """The end of a session in the agent's own words."""
    message = UNSET if end.message is None else end.message
    return SessionEnded(reason=end.reason, terminated_by="agent", message=message)
