"""The bodies of endings: of a turn, a process, a session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec import UNSET
from msgspec.structs import asdict, replace

from dragoman.facts import Exit
from dragoman.schema.events import ErrorRaised, ModelUsage, SessionEnded, TurnEnded, Usage
from dragoman.steps import EndSession, EndTurn, Used
from dragoman.wire.counts import MOST_TOKENS

U = TypeVar("U", Usage, ModelUsage)

NATIVE_ID = "native_turn_id"
"""Where a turn's metadata have the agent's own id of it: at the end as at the start."""


def turn_ended(
    turn_id: str | None, end: EndTurn, so_far: Used | None, begun: Mapping[str, Any]
) -> TurnEnded:
    """The end of a turn, with what the agent tells about it, or has told before."""
    known = so_far.usage if end.usage is None and so_far is not None else end.usage
    named = {name: begun[name] for name in (NATIVE_ID,) if name in begun}
    return TurnEnded(
        turn_id=turn_id or UNSET,
        outcome=end.outcome,
        metadata={**named, **(end.metadata or {})} or UNSET,
        usage=UNSET if known is None else _counted(known),
        stop_reason=UNSET if end.stop_reason is None else end.stop_reason,
    )


def _counted(usage: Usage) -> Usage:
    """The same, without counts that cannot be."""
    models = usage.models
    if models is not UNSET:
        models = {name: _possible(used) for name, used in models.items()}
    return replace(_possible(usage), models=models)


def _possible(used: U) -> U:
    numbers = [(name, n) for name, n in asdict(used).items() if isinstance(n, int | float)]
    wrong = [name for name, n in numbers if not 0 <= n <= MOST_TOKENS]
    return replace(used, **dict.fromkeys(wrong, 0)) if wrong else used


def process_exit(exit: Exit) -> ErrorRaised:
    """The error of a turn whose agent is gone."""
    if exit.stdout_closed:
        message = "the agent closed its output and lived on, so its process was ended"
        return ErrorRaised(message=message, code="stdout_closed", details=exit.details)
    how = f"exit code {exit.code}" if exit.signal is None else f"signal {exit.signal}"
    return ErrorRaised(
        message=f"the agent's process ended ({how})",
        code="process_exit",
        details=exit.details,
    )


def given_up(message: str, exit: Exit | None) -> SessionEnded:
    """The end of a session whose agent cannot go on, nor be resumed."""
    return said_goodbye(EndSession(reason="error", message=message, exit=exit))


def said_goodbye(end: EndSession) -> SessionEnded:
    """The end of a session as the agent says it. Details belong to an error; words, to items."""
    if end.reason != "error":
        return SessionEnded(reason=end.reason, terminated_by="agent")
    exit = end.exit
    return SessionEnded(
        reason=end.reason,
        terminated_by="agent",
        message=UNSET if end.message is None else end.message,
        exit_code=UNSET if exit is None or exit.code is None else exit.code,
        stderr=UNSET if exit is None else exit.stderr,
    )
