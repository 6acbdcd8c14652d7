"""Events: the envelope, and a body for each type.

Bodies that http clients rely on write absent values as `null`; the newer, optional ones are
left out (`UNSET`). The order of the fields is the order on the wire.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from dragoman.schema.items import DeltaType, Item

Source = Literal["agent", "daemon"]
Outcome = Literal["completed", "interrupted", "failed"]
EndReason = Literal["completed", "error", "terminated"]
PermissionStatus = Literal["requested", "accept", "accept_for_session", "reject"]
QuestionStatus = Literal["requested", "answered", "rejected"]
FileChangeType = Literal["create", "change", "delete"]
Continuity = Literal["restored", "rewound", "sandbox_lost"]
"""How a session came not to go on from where it was: a backup was put back, it was set back to an
earlier moment, or the sandbox of its agent is gone."""


class Body(Struct, frozen=True, kw_only=True):
    """Base of what stands under `data`."""

    type: ClassVar[str]


class SessionStarted(Body, frozen=True, kw_only=True):
    """The session exists. `metadata` mirrors the create request."""

    type = "session.started"
    metadata: Any | None = None


class Stderr(Struct, frozen=True, kw_only=True):
    """What the agent wrote to stderr: all of it up to 70 lines, else its first 20 and last 50."""

    head: str | UnsetType = UNSET
    tail: str | UnsetType = UNSET
    truncated: bool
    total_lines: int | UnsetType = UNSET


class SessionEnded(Body, frozen=True, kw_only=True):
    """The last event of a session."""

    type = "session.ended"
    reason: EndReason
    terminated_by: Source
    message: str | UnsetType = UNSET
    """What went wrong. This, and what follows, only with the reason `error`."""
    exit_code: int | UnsetType = UNSET
    stderr: Stderr | UnsetType = UNSET


class Context(Struct, frozen=True, kw_only=True):
    """How full the model's context window is, in tokens."""

    used: int
    window: int


class SessionUpdated(Body, frozen=True, kw_only=True):
    """Something about the session changed; only what changed is present."""

    type = "session.updated"
    model: str | UnsetType = UNSET
    variant: str | UnsetType = UNSET
    mode: str | UnsetType = UNSET
    permission_mode: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    """Empty: it has none any more."""
    context: Context | UnsetType = UNSET
    rate_limits: Any | UnsetType = UNSET
    tools: tuple[str, ...] | UnsetType = UNSET
    """The tools that the agent has, by its own names."""
    continuity: Continuity | UnsetType = UNSET
    """It does not go on from where it was."""
    message: str | UnsetType = UNSET
    """What the `continuity` means here."""


class ModelUsage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens and cost of one model in a turn."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens and cost of a turn; `input_tokens` is without cached and cache-write tokens."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | UnsetType = UNSET
    cost_source: Literal["reported", "estimated"] | UnsetType = UNSET
    models: dict[str, ModelUsage] | UnsetType = UNSET


class TurnStarted(Body, frozen=True, kw_only=True):
    """The agent begins to work. `turn_id` is ours."""

    type = "turn.started"
    phase: Literal["started"] = "started"
    turn_id: str | UnsetType = UNSET
    metadata: Any | UnsetType = UNSET


class TurnEnded(Body, frozen=True, kw_only=True):
    """The turn is over, once."""

    type = "turn.ended"
    phase: Literal["ended"] = "ended"
    turn_id: str | UnsetType = UNSET
    metadata: Any | UnsetType = UNSET
    outcome: Outcome | UnsetType = UNSET
    stop_reason: str | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET


class ItemStarted(Body, frozen=True, kw_only=True):
    """An item opens; what streams is still empty in it."""

    type = "item.started"
    item: Item


class ItemDelta(Body, frozen=True, kw_only=True, gc=False):
    """The next piece of an open item."""

    type = "item.delta"
    item_id: str
    native_item_id: str | None = None
    delta: str
    content_type: DeltaType = "text"


class ItemCompleted(Body, frozen=True, kw_only=True):
    """An item is final, completed or failed."""

    type = "item.completed"
    item: Item


class ErrorRaised(Body, frozen=True, kw_only=True):
    """Something went wrong at run time."""

    type = "error"
    message: str
    code: str | None = None
    details: Any | None = None


class AgentUnparsed(Body, frozen=True, kw_only=True):
    """The agent said something that could not be decoded; its bytes are the event's raw."""

    type = "agent.unparsed"
    error: str
    location: str
    raw_hash: str | None = None


class Approver(Struct, frozen=True, kw_only=True):
    """Who answered: a token and its scope, or one of our own rules."""

    token: str | None = None
    scope: str | None = None
    rule: str | UnsetType = UNSET


class PermissionRequested(Body, frozen=True, kw_only=True):
    """The agent asks before it acts. `metadata.rule` is what "always" would allow."""

    type = "permission.requested"
    permission_id: str
    action: str
    status: PermissionStatus = "requested"
    metadata: Any | None = None


class PermissionResolved(Body, frozen=True, kw_only=True):
    """The permission was given, refused, or withdrawn (`metadata.reason`)."""

    type = "permission.resolved"
    permission_id: str
    action: str
    status: PermissionStatus
    metadata: Any | None = None
    approver: Approver | UnsetType = UNSET


class QuestionOption(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of the answers offered."""

    label: str
    description: str | None = None


class Question(Struct, frozen=True, kw_only=True):
    """One question of a request."""

    question_id: str | UnsetType = UNSET
    header: str | UnsetType = UNSET
    prompt: str
    options: tuple[QuestionOption, ...] = ()
    multi_select: bool = False
    allow_other: bool | UnsetType = UNSET
    secret: bool | UnsetType = UNSET


class QuestionRequested(Body, frozen=True, kw_only=True):
    """The agent asks a person. `prompt` and `options` are those of the first question."""

    type = "question.requested"
    question_id: str
    prompt: str
    options: tuple[str, ...]
    response: str | None = None
    status: QuestionStatus = "requested"
    questions: tuple[Question, ...] | UnsetType = UNSET
    metadata: Any | UnsetType = UNSET


class QuestionResolved(Body, frozen=True, kw_only=True):
    """The question was answered, rejected, or withdrawn (`metadata.reason`)."""

    type = "question.resolved"
    question_id: str
    prompt: str
    options: tuple[str, ...]
    response: str | None = None
    status: QuestionStatus
    questions: tuple[Question, ...] | UnsetType = UNSET
    answers: tuple[tuple[str, ...], ...] | UnsetType = UNSET
    metadata: Any | UnsetType = UNSET
    approver: Approver | UnsetType = UNSET


class QueuedMessage(Struct, frozen=True, kw_only=True):
    """A message that waits for its turn."""

    message_id: str
    message: str
    """Its text, or the first 200 characters of it."""
    created_at: int
    truncated: bool | UnsetType = UNSET
    """There is more of the text; `GET …/pending` has all of it."""


class QueueUpdated(Body, frozen=True, kw_only=True):
    """The messages that wait, in order."""

    type = "queue.updated"
    messages: tuple[QueuedMessage, ...]
    cancelled: str | UnsetType = UNSET
    """The message that a person has just taken back."""


class SandboxFile(Body, frozen=True, kw_only=True):
    """A file in the session's directory was made, changed or deleted, by whomever."""

    type = "sandbox.file"
    change: FileChangeType = field(name="type")
    """What happened to it."""
    path: str
    """Absolute."""
    timestamp: int
    """When it was noticed, in milliseconds since the epoch."""
    count: int | UnsetType = UNSET
    """So many files beneath `path` changed, too many to be told one by one."""


class SandboxFileDiff(Body, frozen=True, kw_only=True):
    """How a file that was just told of differs from the commit that its turn began at."""

    type = "sandbox.file.diff"
    path: str
    """Absolute."""
    diff: str
    """Empty: it does not differ."""


class FileChanged(Body, frozen=True, kw_only=True):
    """The directory is not what it was when the turn began; just before `turn.ended`."""

    type = "file.changed"
    path: str = "."
    """Always `.`: the diff is of all of the directory."""
    diff: str
    """The directory against the commit that was checked out when the turn began; without a
    repository, against the directory as the turn found it."""
    truncated: bool | UnsetType = UNSET
    """Files are named whose diffs were left out."""


class TurnDiff(Body, frozen=True, kw_only=True):
    """What has changed in the directory during the turn; just before `turn.ended`."""

    type = "turn.diff"
    turn_id: str
    diff: str
    """The directory against how the turn found it, with whatever was not committed then."""
    truncated: bool | UnsetType = UNSET
    """Files are named whose diffs were left out."""


BODIES: dict[str, type[Body]] = {
    body.type: body
    for body in (
        SessionStarted,
        SessionEnded,
        SessionUpdated,
        TurnStarted,
        TurnEnded,
        ItemStarted,
        ItemDelta,
        ItemCompleted,
        ErrorRaised,
        AgentUnparsed,
        PermissionRequested,
        PermissionResolved,
        QuestionRequested,
        QuestionResolved,
        QueueUpdated,
        SandboxFile,
        SandboxFileDiff,
        FileChanged,
        TurnDiff,
    )
}
"""Every event type and its body. Decoding, schema, documentation and conformance all read it."""


class Event(Struct, frozen=True, kw_only=True):
    """The envelope. `data` is a body; `raw` is the native message, where it was asked for."""

    event_id: str
    sequence: int
    time: str
    session_id: str
    native_session_id: str | None = None
    synthetic: bool
    source: Source
    type: str
    data: Body
    raw: Any = None


class Draft(Struct, frozen=True, gc=False):
    """An event that has not been stamped: no id, no sequence, no time."""

    body: Body
    source: Source = "daemon"
    native_session_id: str | None = None
    raw: bytes | None = None
    """The native message that caused it; the drafts of one message share one object."""


class _Envelope(Struct, frozen=True, kw_only=True):
    event_id: str
    sequence: int
    time: str
    session_id: str
    native_session_id: str | None = None
    synthetic: bool
    source: Source
    type: str
    data: Raw
    raw: Raw = Raw(b"null")


_envelope = msgspec.json.Decoder(_Envelope)
_bodies = {name: msgspec.json.Decoder(body) for name, body in BODIES.items()}
_encoder = msgspec.json.Encoder()

# The older seeds of the schema said approved and denied; shipped clients parse these.
LEGACY_PERMISSION_STATUS = {"approved": "accept", "denied": "reject"}


def encode(event: Event) -> bytes:
    """Encode an event, in the order of the contract."""
    return _encoder.encode(event)


def decode(line: bytes | str) -> Event:
    """Decode one event. Raise only msgspec errors."""
    envelope = _envelope.decode(line)
    return Event(
        event_id=envelope.event_id,
        sequence=envelope.sequence,
        time=envelope.time,
        session_id=envelope.session_id,
        native_session_id=envelope.native_session_id,
        synthetic=envelope.synthetic,
        source=envelope.source,
        type=envelope.type,
        data=decode_body(envelope.type, bytes(envelope.data)),
        raw=_decode_raw(envelope.raw),
    )


def _decode_raw(raw: Raw) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return raw  # valid JSON that Python cannot hold, e.g. 1e999, must not cost the event


def decode_body(type: str, data: bytes) -> Body:
    """Decode what stands under `data` of an event of this type."""
    decoder = _bodies.get(type)
    if decoder is None:
        raise msgspec.ValidationError(f"unknown event type {type!r}")
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        if not type.startswith("permission."):
            raise
        return _decode_legacy_permission(type, data)


def _decode_legacy_permission(type: str, data: bytes) -> Body:
    loose = msgspec.json.decode(data, type=dict[str, Any])
    status = loose.get("status")
    loose["status"] = LEGACY_PERMISSION_STATUS.get(str(status), status)
    return msgspec.convert(loose, BODIES[type])
