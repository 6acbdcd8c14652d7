"""What Grok adds to ACP: narrow structs of its own notifications and requests (1.0.41)."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from dragoman.wire.decode import decode

_EMPTY = Raw(b"{}")


class CamelCase(Struct, frozen=True, kw_only=True, rename="camel"):
    """Base: Grok writes the members of its methods so, but those of its updates in snake case."""


class UpdateParams(CamelCase, frozen=True, kw_only=True):
    """Around every update of its own."""

    session_id: str = ""
    update: Raw = _EMPTY


class UpdateKind(CamelCase, frozen=True, kw_only=True):
    """What an update is about."""

    session_update: str = ""


class CallPiece(Struct, frozen=True, kw_only=True):
    """The next piece of a call's arguments; only the first names the call."""

    tool_index: int = 0
    tool_call_id: str | None = None
    name: str | None = None
    arguments_delta: str = ""


class RetryState(Struct, frozen=True, kw_only=True):
    """The model is asked again, or no longer."""

    type: str = ""
    attempt: Any = None
    max_retries: Any = None
    reason: str | None = None
    error_type: str | None = None
    message: str | None = None


class TurnCompleted(Struct, frozen=True, kw_only=True):
    """A turn is over; of one that a message began, the reply says so too."""

    prompt_id: str | None = None
    stop_reason: str = "end_turn"
    agent_result: str | None = None
    usage: Any = None


class SubagentSpawned(Struct, frozen=True, kw_only=True):
    """A subagent works, in a session of its own."""

    child_session_id: str
    subagent_type: str | None = None
    description: str | None = None


class SubagentFinished(Struct, frozen=True, kw_only=True):
    """A subagent has stopped."""

    child_session_id: str
    status: str = "completed"
    error: str | None = None


class Compaction(Struct, frozen=True, kw_only=True):
    """The conversation is made shorter."""

    percentage: Any = None
    tokens_before: Any = None
    tokens_after: Any = None
    error: str | None = None
    reason: str | None = None


class TaskSnapshot(Struct, frozen=True, kw_only=True):
    """A command in the background."""

    command: str = ""
    exit_code: Any = None
    output: str = ""
    explicitly_killed: bool = False


class TaskCompleted(Struct, frozen=True, kw_only=True):
    """A command in the background has ended."""

    task_snapshot: TaskSnapshot = TaskSnapshot()


class InteractionResolved(Struct, frozen=True, kw_only=True):
    """A call waits for a person no longer."""

    tool_call_id: str | None = None


class TurnSummary(Struct, frozen=True, kw_only=True):
    """What a turn came to, in a line."""

    summary: str = ""


class DroppedImages(Struct, frozen=True, kw_only=True):
    """Images of a message that the model does not get."""

    notes: tuple[str, ...] = ()


class ServerStatus(CamelCase, frozen=True, kw_only=True):
    """An MCP server is there, or is not."""

    name: str = ""
    status: str = ""
    reason: str | None = None
    detail: str | None = None


class ServerProgress(CamelCase, frozen=True, kw_only=True):
    """So many MCP servers are connected."""

    total: int = 0
    connected: int = 0


class QueueParams(CamelCase, frozen=True, kw_only=True):
    """The messages that wait; one is first put there, and then taken out."""

    session_id: str = ""
    entries: tuple[Any, ...] = ()


class QuestionOption(CamelCase, frozen=True, kw_only=True):
    """An answer that is offered."""

    label: str = ""
    description: str | None = None
    preview: str | None = None


class Question(CamelCase, frozen=True, kw_only=True):
    """A question; its text is its name."""

    question: str = ""
    header: str | None = None
    options: tuple[QuestionOption, ...] = ()
    multi_select: bool | None = None


class QuestionParams(CamelCase, frozen=True, kw_only=True):
    """Questions to the person."""

    tool_call_id: str | None = None
    questions: tuple[Question, ...] = ()


class PlanParams(CamelCase, frozen=True, kw_only=True):
    """May it leave plan mode, with this plan?"""

    tool_call_id: str | None = None
    plan_content: str | None = None


_update_kind = msgspec.json.Decoder(UpdateKind)
T = TypeVar("T")


def kind_of(update: Raw) -> str:
    """What an update is about. Raise only msgspec errors."""
    return decode(bytes(update), _update_kind).session_update


def read(raw: Raw, kind: type[T]) -> T:
    """What a message says. Raise only msgspec errors."""
    return decode(bytes(raw), msgspec.json.Decoder(kind))
