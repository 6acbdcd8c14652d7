"""Structs of Codex's notifications, requests and replies, and how its lines are decoded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from dragoman.adapter import EVERYONE
from dragoman.wire.decode import decode as decode_json
from dragoman.wire.jsonrpc import Overdue, Reply, Result, RpcError, key_of

T = TypeVar("T")

# --- What several messages have ---


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


# --- Notifications ---


class Notification(Struct, frozen=True, kw_only=True, rename="camel"):
    """Base: the thread and the turn that a notification may be about."""

    thread_id: str | None = None
    turn_id: str | None = None


class TurnStarted(Notification, frozen=True, kw_only=True):
    """A turn begins."""

    turn: Turn


class TurnCompleted(Notification, frozen=True, kw_only=True):
    """A turn is over; its status says how it ended."""

    turn: Turn


class ItemStarted(Notification, frozen=True, kw_only=True):
    """An item begins."""

    item: Raw


class ItemCompleted(Notification, frozen=True, kw_only=True):
    """An item is complete."""

    item: Raw


class ItemDelta(Notification, frozen=True, kw_only=True):
    """Base: the next piece of an item."""

    item_id: str
    delta: str = ""


class MessageDelta(ItemDelta, frozen=True, kw_only=True):
    """The next piece of a message."""


class PlanDelta(ItemDelta, frozen=True, kw_only=True):
    """The next piece of a plan."""


class SummaryDelta(ItemDelta, frozen=True, kw_only=True):
    """The next piece of a summary of the model's reasoning."""

    summary_index: int = 0


class ReasoningDelta(ItemDelta, frozen=True, kw_only=True):
    """The next piece of the model's raw reasoning."""


class OutputDelta(ItemDelta, frozen=True, kw_only=True):
    """The next piece of a command's output."""


class TerminalInteraction(Notification, frozen=True, kw_only=True):
    """The model types into a running command."""

    item_id: str
    stdin: str = ""


class ToolProgress(Notification, frozen=True, kw_only=True):
    """The progress of an MCP server's tool."""

    item_id: str
    message: str = ""


class ErrorNotification(Notification, frozen=True, kw_only=True):
    """Something went wrong; Codex tries again, or the turn fails."""

    error: TurnError
    will_retry: bool = False


class Tokens(Struct, frozen=True, kw_only=True, rename="camel"):
    """Token counts; cached tokens are part of the input's, reasoning is part of the output's.

    Any: what is no count must not cost the others (`wire.counts`).
    """

    input_tokens: Any = 0
    cached_input_tokens: Any = 0
    cache_write_input_tokens: Any = 0
    output_tokens: Any = 0
    reasoning_output_tokens: Any = 0
    total_tokens: Any = 0


class TokenUsage(Struct, frozen=True, kw_only=True, rename="camel"):
    """Tokens of the whole thread, and of the last request."""

    total: Tokens
    last: Tokens = Tokens()
    model_context_window: Any = None


class UsageUpdated(Notification, frozen=True, kw_only=True):
    """The thread's token counts changed."""

    token_usage: TokenUsage


class PlanStep(Struct, frozen=True, kw_only=True):
    """One step of a plan."""

    step: str = ""
    status: str = "pending"


class PlanUpdated(Notification, frozen=True, kw_only=True):
    """The model's to-do list changed."""

    explanation: str | None = None
    plan: tuple[PlanStep, ...] = ()


class DiffUpdated(Notification, frozen=True, kw_only=True):
    """The diff of everything the turn has changed so far."""

    diff: str = ""


class RateLimitsUpdated(Notification, frozen=True, kw_only=True):
    """How much of the account's limits is used."""

    rate_limits: dict[str, Any] = {}


class Collaboration(Struct, frozen=True, kw_only=True):
    """Whether the model plans or works."""

    mode: str = "default"


class ThreadSettings(Struct, frozen=True, kw_only=True, rename="camel"):
    """A thread's model, effort, approval policy and sandbox."""

    model: str | None = None
    effort: str | None = None
    approval_policy: Any = None
    sandbox_policy: Any = None
    collaboration_mode: Collaboration = Collaboration()


class SettingsUpdated(Notification, frozen=True, kw_only=True):
    """A thread has other settings from now on."""

    thread_settings: ThreadSettings


class NameUpdated(Notification, frozen=True, kw_only=True):
    """A thread has a name."""

    thread_name: str | None = None


class Goal(Struct, frozen=True, kw_only=True):
    """What a thread is to reach."""

    objective: str = ""
    status: str = ""


class GoalUpdated(Notification, frozen=True, kw_only=True):
    """A thread's goal and its status."""

    goal: Goal


class McpServerStatus(Notification, frozen=True, kw_only=True):
    """An MCP server starts, is ready, or failed to start."""

    name: str = ""
    status: str = ""
    error: str | None = None


class WarningNotification(Notification, frozen=True, kw_only=True):
    """A warning for the user."""

    message: str = ""
    summary: str = ""
    details: str | None = None


class HookRun(Struct, frozen=True, kw_only=True, rename="camel"):
    """A hook and its result."""

    id: str
    event_name: str = ""
    status: str = ""
    status_message: str | None = None
    entries: tuple[Any, ...] = ()
    duration_ms: int | None = None


class HookStarted(Notification, frozen=True, kw_only=True):
    """A hook runs."""

    run: HookRun


class HookCompleted(Notification, frozen=True, kw_only=True):
    """A hook is done."""

    run: HookRun


class ModelRerouted(Notification, frozen=True, kw_only=True):
    """Another model answers."""

    from_model: str = ""
    to_model: str = ""
    reason: Any = None


class RequestResolved(Notification, frozen=True, kw_only=True):
    """A request to us was answered, or Codex withdrew it."""

    request_id: Raw


class ThreadClosed(Notification, frozen=True, kw_only=True):
    """The server has unloaded the thread."""


class IgnoredNotification(Notification, frozen=True, kw_only=True):
    """A notification that leaves no event; `probes.IGNORED` says why."""


class OtherNotification(Struct, frozen=True, kw_only=True):
    """A notification of a part of Codex that we do not use, shown as it is."""

    method: str
    thread_id: str | None
    params: Any


class ServerRequest(Struct, frozen=True, kw_only=True):
    """A request to us; `key` is its JSON-RPC id. `requests.decode` reads its params."""

    key: str
    method: str
    thread_id: str | None
    params: Raw


# --- Which message is which ---

DUPLICATES = "codex/event/"
"""Versions up to 0.101 say everything twice, the second time under such a name."""

NOTIFICATIONS: dict[str, type[Notification]] = {
    "turn/started": TurnStarted,
    "turn/completed": TurnCompleted,
    "item/started": ItemStarted,
    "item/completed": ItemCompleted,
    "item/agentMessage/delta": MessageDelta,
    "item/plan/delta": PlanDelta,
    "item/reasoning/summaryTextDelta": SummaryDelta,
    "item/reasoning/textDelta": ReasoningDelta,
    "item/commandExecution/outputDelta": OutputDelta,
    "item/commandExecution/terminalInteraction": TerminalInteraction,
    "item/mcpToolCall/progress": ToolProgress,
    "error": ErrorNotification,
    "thread/tokenUsage/updated": UsageUpdated,
    "turn/plan/updated": PlanUpdated,
    "turn/diff/updated": DiffUpdated,
    "account/rateLimits/updated": RateLimitsUpdated,
    "thread/settings/updated": SettingsUpdated,
    "thread/name/updated": NameUpdated,
    "thread/goal/updated": GoalUpdated,
    "mcpServer/startupStatus/updated": McpServerStatus,
    "warning": WarningNotification,
    "guardianWarning": WarningNotification,
    "configWarning": WarningNotification,
    "deprecationNotice": WarningNotification,
    "hook/started": HookStarted,
    "hook/completed": HookCompleted,
    "model/rerouted": ModelRerouted,
    "serverRequest/resolved": RequestResolved,
    "thread/closed": ThreadClosed,
    "thread/started": IgnoredNotification,
    "thread/status/changed": IgnoredNotification,
    "thread/readState/changed": IgnoredNotification,
    "thread/goal/cleared": IgnoredNotification,
    "thread/archived": IgnoredNotification,
    "thread/compacted": IgnoredNotification,
    "item/reasoning/summaryPartAdded": IgnoredNotification,
    "item/fileChange/outputDelta": IgnoredNotification,
    "item/fileChange/patchUpdated": IgnoredNotification,
}
"""The notifications that are decoded."""
OTHER_NOTIFICATIONS = frozenset({
    "thread/deleted", "thread/unarchived", "thread/reverted", "skills/changed",
    "thread/attachment/updated", "thread/prediction/updated", "thread/queue/changed",
    "project/changed", "thread/project/updated", "thread/environment/connected",
    "thread/environment/disconnected", "item/autoApprovalReview/started",
    "item/autoApprovalReview/completed", "autoApprovalReview/strictReviewRequired",
    "command/exec/outputDelta", "process/outputDelta", "process/exited",
    "mcpServer/oauthLogin/completed", "mcpServer/event/stream/notification", "account/updated",
    "account/gatewayOAuth/changed", "app/list/updated", "remoteControl/status/changed",
    "externalAgentConfig/import/progress", "externalAgentConfig/import/completed", "fs/changed",
    "model/verification", "modelProvider/authRecoveryStarted",
    "modelProvider/authRecoveryCompleted", "turn/moderationMetadata",
    "model/safetyBuffering/updated", "fuzzyFileSearch/sessionUpdated",
    "fuzzyFileSearch/sessionCompleted", "thread/realtime/started", "thread/realtime/itemAdded",
    "thread/realtime/item/started", "thread/realtime/item/transcript/delta",
    "thread/realtime/item/completed", "thread/realtime/transcript/delta",
    "thread/realtime/transcript/done", "thread/realtime/outputAudio/delta",
    "thread/realtime/sdp", "thread/realtime/error", "thread/realtime/closed",
    "windows/worldWritableWarning", "windowsSandbox/setupCompleted", "account/login/completed",
})  # fmt: skip
"""Notifications of parts of Codex that we do not use; if they come, they are shown as they are."""
KNOWN_NOTIFICATIONS = frozenset(NOTIFICATIONS) | OTHER_NOTIFICATIONS
"""Every notification of 0.166.0."""

_LIMITS = "account/rateLimits/updated"
"""It names no thread, and counts for each."""


class _Envelope(Struct):
    method: str
    id: Raw = Raw(b"")
    params: Raw = Raw(b"{}")


class _ThreadKeys(Struct, rename="camel"):
    id: str | None = None
    parent_thread_id: str | None = None


class _Subject(Struct, rename="camel"):
    thread_id: str | None = None
    conversation_id: str | None = None
    thread: _ThreadKeys | None = None


class _Routing(Struct):
    method: str = ""
    params: _Subject | None = None


_any = msgspec.json.Decoder()
_envelope = msgspec.json.Decoder(_Envelope)
_subject = msgspec.json.Decoder(_Subject)
_routing = msgspec.json.Decoder(_Routing)
_notifications = {method: msgspec.json.Decoder(kind) for method, kind in NOTIFICATIONS.items()}


def route(message: bytes) -> tuple[str, ...]:
    """The thread that a message is about, and the one that started it; or every session."""
    routing = decode_json(message, _routing)
    subject = routing.params or _Subject()
    thread = subject.thread or _ThreadKeys()
    ids = (subject.thread_id, subject.conversation_id, thread.id, thread.parent_thread_id)
    keys = tuple(key for key in ids if key)
    return (EVERYONE,) if routing.method == _LIMITS else keys


def decode(message: bytes) -> Notification | OtherNotification | ServerRequest:
    """Decode a notification or a request. Raise only msgspec errors."""
    envelope = decode_json(message, _envelope)
    method, params = envelope.method, bytes(envelope.params)
    if bytes(envelope.id):
        thread_id = decode_json(params, _subject).thread_id
        return ServerRequest(
            key=key_of(envelope.id), method=method, thread_id=thread_id, params=envelope.params
        )
    decoder = _notifications.get(method)
    if decoder is not None:
        return decode_json(params, decoder)
    if method.startswith(DUPLICATES):
        return IgnoredNotification()
    if method not in OTHER_NOTIFICATIONS:
        raise msgspec.ValidationError(f"unknown notification {method!r}")
    thread_id = decode_json(params, _subject).thread_id
    return OtherNotification(method=method, thread_id=thread_id, params=decode_json(params, _any))


# --- Replies to our requests ---

_UNKNOWN_THREAD = ("no rollout found", "invalid thread id")


class _ThreadItem(Struct, frozen=True, kw_only=True, rename="camel"):
    client_id: str | None = None


class ItemEntry(Struct, frozen=True, kw_only=True, rename="camel"):
    """An item of a thread, and its turn."""

    turn_id: str
    item: _ThreadItem


class TurnEntry(Struct, frozen=True, kw_only=True):
    """A turn of a thread, and its first items."""

    id: str
    items: tuple[_ThreadItem, ...] = ()


class _Page(Struct, frozen=True, kw_only=True):
    data: tuple[Raw, ...] = ()


class ThreadResponse(Struct, frozen=True, kw_only=True, rename="camel"):
    """A thread, its model and its effort."""

    thread: Thread
    model: str | None = None
    reasoning_effort: str | None = None


class ThreadResumeResponse(ThreadResponse, frozen=True, kw_only=True):
    """A thread that existed before, with its last turn."""

    initial_turns_page: Raw = Raw()

    @property
    def turn_of_message(self) -> dict[str, str] | None:
        """The last turn, by the id of our message that began it; None: the thread is new."""
        page = bytes(self.initial_turns_page)
        if page in (b"", b"null"):
            return None
        return {item.client_id: turn.id for turn in _entries(page, TurnEntry)
                for item in turn.items if item.client_id is not None}  # fmt: skip


class TurnResponse(Struct, frozen=True, kw_only=True):
    """A turn that begins."""

    turn: Turn


class ModelEffort(Struct, frozen=True, kw_only=True, rename="camel"):
    """An effort that a model can work with."""

    reasoning_effort: str


class ModelEntry(Struct, frozen=True, kw_only=True, rename="camel"):
    """A model that Codex offers."""

    id: str
    display_name: str | None = None
    hidden: bool = False
    is_default: bool = False
    supported_reasoning_efforts: tuple[ModelEffort, ...] = ()
    default_reasoning_effort: str | None = None


class ModelPage(Struct, frozen=True, kw_only=True):
    """The models of one page."""

    data: tuple[ModelEntry, ...] = ()


class ModelListReply(Struct, frozen=True, kw_only=True):
    """The reply to `model/list`, as a whole line; other lines lack its id."""

    id: str | int | None = None
    result: ModelPage = ModelPage()


_thread_response = msgspec.json.Decoder(ThreadResumeResponse)
_turn_response = msgspec.json.Decoder(TurnResponse)


def decode_thread(reply: Result) -> ThreadResumeResponse:
    """The thread; one that is new has no turns. Raise only msgspec errors."""
    return decode_json(reply.result, _thread_response)


def decode_turn_id(reply: Result) -> str | None:
    """The turn that a request began; None: the reply does not say."""
    try:
        return decode_json(reply.result, _turn_response).turn.id
    except msgspec.ValidationError:
        return None


def decode_item_list(reply: Reply) -> dict[str, str]:
    """The turn of each of our messages that is among the listed items."""
    page = reply.result if isinstance(reply, Result) else b""
    return {each.item.client_id: each.turn_id for each in _entries(page, ItemEntry)
            if each.item.client_id is not None}  # fmt: skip


def _entries(page: bytes, kind: type[T]) -> Iterator[T]:
    """The entries of a page that can be decoded: no message may wait because of the others."""
    with contextlib.suppress(msgspec.DecodeError):
        for entry in msgspec.json.decode(page, type=_Page).data:
            with contextlib.suppress(msgspec.DecodeError):
                yield msgspec.json.decode(entry, type=kind)


def error_message(reply: Reply) -> str:
    """Why there is no result."""
    match reply:
        case RpcError(message=message):
            return message
        case Overdue():
            return "Codex did not answer in time"
        case _:
            return ""


def is_unknown_thread(reply: Reply) -> bool:
    """Whether Codex refuses because it does not know the thread."""
    return isinstance(reply, RpcError) and any(text in reply.message for text in _UNKNOWN_THREAD)
