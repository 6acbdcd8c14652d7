"""Which message is which: the names that Codex gives what it says."""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from dragoman.adapter import EVERYONE
from dragoman.agents.codex import native
from dragoman.wire.decode import decode as decode_json
from dragoman.wire.jsonrpc import key_of

DUPLICATES = "codex/event/"
"""Versions up to 0.101 say everything twice, the second time under such a name."""

TOLD: dict[str, type[native.Told]] = {
    "turn/started": native.TurnStarted,
    "turn/completed": native.TurnCompleted,
    "item/started": native.ItemStarted,
    "item/completed": native.ItemCompleted,
    "item/agentMessage/delta": native.MessageDelta,
    "item/plan/delta": native.PlanDelta,
    "item/reasoning/summaryTextDelta": native.SummaryDelta,
    "item/reasoning/textDelta": native.ThoughtDelta,
    "item/commandExecution/outputDelta": native.OutputDelta,
    "item/commandExecution/terminalInteraction": native.Interaction,
    "item/mcpToolCall/progress": native.Progress,
    "error": native.ErrorTold,
    "thread/tokenUsage/updated": native.UsageUpdated,
    "turn/plan/updated": native.PlanUpdated,
    "turn/diff/updated": native.DiffUpdated,
    "account/rateLimits/updated": native.RateLimits,
    "thread/settings/updated": native.SettingsUpdated,
    "thread/name/updated": native.NameUpdated,
    "thread/goal/updated": native.GoalUpdated,
    "mcpServer/startupStatus/updated": native.ServerStatus,
    "warning": native.Warned,
    "guardianWarning": native.Warned,
    "configWarning": native.Warned,
    "deprecationNotice": native.Warned,
    "hook/started": native.HookStarted,
    "hook/completed": native.HookCompleted,
    "model/rerouted": native.Rerouted,
    "serverRequest/resolved": native.RequestResolved,
    "thread/closed": native.Closed,
    "thread/started": native.Quiet,
    "thread/status/changed": native.Quiet,
    "thread/readState/changed": native.Quiet,
    "thread/goal/cleared": native.Quiet,
    "thread/archived": native.Quiet,
    "thread/compacted": native.Quiet,
    "item/reasoning/summaryPartAdded": native.Quiet,
    "item/fileChange/outputDelta": native.Quiet,
    "item/fileChange/patchUpdated": native.Quiet,
}
"""Notifications that are read."""
REMARKS = frozenset({
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

_LIMITS = "account/rateLimits/updated"
"""It names no thread, and counts for each."""


class _Envelope(Struct):
    method: str
    id: Raw = Raw(b"")
    params: Raw = Raw(b"{}")


class _Named(Struct, rename="camel"):
    id: str | None = None
    parent_thread_id: str | None = None


class _About(Struct, rename="camel"):
    thread_id: str | None = None
    conversation_id: str | None = None
    thread: _Named | None = None


class _Routed(Struct):
    method: str = ""
    params: _About | None = None


_any = msgspec.json.Decoder()
_envelope = msgspec.json.Decoder(_Envelope)
_about = msgspec.json.Decoder(_About)
_routed = msgspec.json.Decoder(_Routed)
_params = {method: msgspec.json.Decoder(kind) for method, kind in TOLD.items()}
KNOWN = frozenset(TOLD) | REMARKS
"""Every notification that is understood."""


def route(message: bytes) -> tuple[str, ...]:
    """The thread that a message is about, and the one that started it; or every session."""
    said = decode_json(message, _routed)
    about = said.params or _About()
    thread = about.thread or _Named()
    found = (about.thread_id, about.conversation_id, thread.id, thread.parent_thread_id)
    keys = tuple(key for key in found if key)
    return (EVERYONE,) if said.method == _LIMITS else keys


def decode(message: bytes) -> native.Told | native.Remark | native.Wanted:
    """What a message is. Raise only msgspec errors."""
    envelope = decode_json(message, _envelope)
    method, params = envelope.method, bytes(envelope.params)
    if bytes(envelope.id):
        about = decode_json(params, _about)
        return native.Wanted(
            key=key_of(envelope.id),
            method=method,
            thread_id=about.thread_id,
            params=envelope.params,
        )
    decoder = _params.get(method)
    if decoder is not None:
        return decode_json(params, decoder)
    if method.startswith(DUPLICATES):
        return native.Quiet()
    if method not in REMARKS:
        raise msgspec.ValidationError(f"unknown notification {method!r}")
    about = decode_json(params, _about)
    return native.Remark(method=method, thread_id=about.thread_id, params=decode_json(params, _any))
