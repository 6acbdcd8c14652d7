"""What a Codex app server says: narrow structs of its notifications and requests."""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct


class Told(Struct, frozen=True, kw_only=True, rename="camel"):
    """Base: what every message may be about."""

    thread_id: str | None = None
    turn_id: str | None = None


class TurnError(Struct, frozen=True, kw_only=True, rename="camel"):
    """Why a turn fails."""

    message: str = ""
    codex_error_info: Any = None
    additional_details: str | None = None


class Turn(Struct, frozen=True, kw_only=True, rename="camel"):
    """A turn, without its items."""

    id: str
    status: str = "inProgress"
    error: TurnError | None = None
    duration_ms: int | None = None


class Thread(Struct, frozen=True, kw_only=True, rename="camel"):
    """A thread, without its turns."""

    id: str
    name: str | None = None
    model: str | None = None


class TurnStarted(Told, frozen=True, kw_only=True):
    """A turn begins."""

    turn: Turn


class TurnCompleted(Told, frozen=True, kw_only=True):
    """A turn is over."""

    turn: Turn


class ItemStarted(Told, frozen=True, kw_only=True):
    """An item begins."""

    item: Raw


class ItemCompleted(Told, frozen=True, kw_only=True):
    """An item is whole."""

    item: Raw


class Piece(Told, frozen=True, kw_only=True):
    """The next piece of an item."""

    item_id: str
    delta: str = ""


class MessageDelta(Piece, frozen=True, kw_only=True):
    """Of a message."""


class PlanDelta(Piece, frozen=True, kw_only=True):
    """Of a plan."""


class SummaryDelta(Piece, frozen=True, kw_only=True):
    """Of what a thought is in short."""

    summary_index: int = 0


class ThoughtDelta(Piece, frozen=True, kw_only=True):
    """Of a thought."""


class OutputDelta(Piece, frozen=True, kw_only=True):
    """Of a command's output."""


class Interaction(Told, frozen=True, kw_only=True):
    """The model types into a running command."""

    item_id: str
    stdin: str = ""


class Progress(Told, frozen=True, kw_only=True):
    """How far an MCP server's tool is."""

    item_id: str
    message: str = ""


class ErrorTold(Told, frozen=True, kw_only=True):
    """Something went wrong; it is tried again, or the turn fails."""

    error: TurnError
    will_retry: bool = False


class Tokens(Struct, frozen=True, kw_only=True, rename="camel"):
    """Counts; cached tokens are among the input's, and reasoning among the output's.

    Any: what is no count must not cost the others (`wire.counts`).
    """

    input_tokens: Any = 0
    cached_input_tokens: Any = 0
    cache_write_input_tokens: Any = 0
    output_tokens: Any = 0
    reasoning_output_tokens: Any = 0
    total_tokens: Any = 0


class TokenUsage(Struct, frozen=True, kw_only=True, rename="camel"):
    """Since the thread began, and in the last request."""

    total: Tokens
    last: Tokens = Tokens()
    model_context_window: Any = None


class UsageUpdated(Told, frozen=True, kw_only=True):
    """Tokens were used."""

    token_usage: TokenUsage


class PlanStep(Struct, frozen=True, kw_only=True):
    """One step of a plan."""

    step: str = ""
    status: str = "pending"


class PlanUpdated(Told, frozen=True, kw_only=True):
    """The list of what is to do changed."""

    explanation: str | None = None
    plan: tuple[PlanStep, ...] = ()


class DiffUpdated(Told, frozen=True, kw_only=True):
    """All that the turn has changed so far."""

    diff: str = ""


class RateLimits(Told, frozen=True, kw_only=True):
    """How much of the account's limits is used."""

    rate_limits: dict[str, Any] = {}


class Collaboration(Struct, frozen=True, kw_only=True):
    """Whether the model plans, or works."""

    mode: str = "default"


class ThreadSettings(Struct, frozen=True, kw_only=True, rename="camel"):
    """How a thread works."""

    model: str | None = None
    effort: str | None = None
    approval_policy: Any = None
    sandbox_policy: Any = None
    collaboration_mode: Collaboration = Collaboration()


class SettingsUpdated(Told, frozen=True, kw_only=True):
    """How a thread works from now on."""

    thread_settings: ThreadSettings


class NameUpdated(Told, frozen=True, kw_only=True):
    """A thread has a name."""

    thread_name: str | None = None


class Goal(Struct, frozen=True, kw_only=True):
    """What a thread is to reach."""

    objective: str = ""
    status: str = ""


class GoalUpdated(Told, frozen=True, kw_only=True):
    """A thread's goal, and how it stands."""

    goal: Goal


class ServerStatus(Told, frozen=True, kw_only=True):
    """How an MCP server comes up."""

    name: str = ""
    status: str = ""
    error: str | None = None


class Warned(Told, frozen=True, kw_only=True):
    """Something that a person should know."""

    message: str = ""
    summary: str = ""
    details: str | None = None


class HookRun(Struct, frozen=True, kw_only=True, rename="camel"):
    """A hook, and what came of it."""

    id: str
    event_name: str = ""
    status: str = ""
    status_message: str | None = None
    entries: tuple[Any, ...] = ()
    duration_ms: int | None = None


class HookStarted(Told, frozen=True, kw_only=True):
    """A hook runs."""

    run: HookRun


class HookCompleted(Told, frozen=True, kw_only=True):
    """A hook is done."""

    run: HookRun


class Rerouted(Told, frozen=True, kw_only=True):
    """Another model answers."""

    from_model: str = ""
    to_model: str = ""
    reason: Any = None


class RequestResolved(Told, frozen=True, kw_only=True):
    """A request to us has its answer, or is taken back."""

    request_id: Raw


class Closed(Told, frozen=True, kw_only=True):
    """The thread is no longer at this server."""


class Quiet(Told, frozen=True, kw_only=True):
    """Nothing that one could show; the adapter's noise says why."""


class Remark(Struct, frozen=True, kw_only=True):
    """Something that is shown as it is."""

    method: str
    thread_id: str | None
    params: Any


class Wanted(Struct, frozen=True, kw_only=True):
    """A request to us; `key` names it."""

    key: str
    method: str
    thread_id: str | None
    params: Raw
