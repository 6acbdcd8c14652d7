"""What OpenCode says on `/global/event`: narrow structs of its events, messages and parts.

Checked against the OpenAPI document that OpenCode 1.18.33 serves, and against every recording.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from dragoman.adapter import EVERYONE
from dragoman.wire.decode import decode

_RENAMED = {
    "session_id": "sessionID",
    "message_id": "messageID",
    "part_id": "partID",
    "parent_id": "parentID",
    "call_id": "callID",
    "request_id": "requestID",
    "provider_id": "providerID",
    "model_id": "modelID",
    "file_path": "filePath",
    "is_retryable": "isRetryable",
    "status_code": "statusCode",
}


def _name(field_name: str) -> str:
    return _RENAMED.get(field_name, field_name)


class Native(Struct, frozen=True, kw_only=True, rename=_name):
    """Base of what OpenCode says."""


# --- Events ---


class Payload(Native, frozen=True, kw_only=True):
    """An event; `sync` says again what a durable one has said."""

    type: str = ""
    properties: Raw = field(default_factory=lambda: Raw(b"{}"))


class GlobalEvent(Native, frozen=True, kw_only=True):
    """An event of some directory."""

    payload: Payload
    directory: str | None = None


class ErrorInfo(Native, frozen=True, kw_only=True):
    """An error of a session or of a message; `data` depends on its name."""

    name: str = "UnknownError"
    data: dict[str, Any] = {}


class ModelRef(Native, frozen=True, kw_only=True):
    """A model in a session's or a person's words."""

    provider_id: str | None = None
    model_id: str | None = None
    id: str | None = None
    variant: str | None = None


class SessionInfo(Native, frozen=True, kw_only=True):
    """A session, or the session of a subagent."""

    id: str
    parent_id: str | None = None
    title: str | None = None
    agent: str | None = None
    directory: str | None = None


class SessionEvent(Native, frozen=True, kw_only=True):
    """`session.created`, `session.updated`, `session.deleted`."""

    info: SessionInfo


class CacheTokens(Native, frozen=True, kw_only=True):
    """Tokens that a cache gave or took."""

    read: Any = 0
    write: Any = 0


class Tokens(Native, frozen=True, kw_only=True):
    """What a model step used."""

    input: Any = 0
    output: Any = 0
    reasoning: Any = 0
    cache: CacheTokens = CacheTokens()


class MessageTime(Native, frozen=True, kw_only=True):
    """When a message began, and when it was complete."""

    created: Any = None
    completed: Any = None


class MessageInfo(Native, frozen=True, kw_only=True):
    """A message: of a person, or of one model step."""

    id: str
    session_id: str
    role: str = "assistant"
    parent_id: str | None = None
    time: MessageTime = MessageTime()
    error: ErrorInfo | None = None
    finish: str | None = None
    provider_id: str | None = None
    model_id: str | None = None
    summary: Any = None
    """Of the message that compacts a session: True."""


class MessageUpdated(Native, frozen=True, kw_only=True):
    """`message.updated`."""

    info: MessageInfo


class PartUpdated(Native, frozen=True, kw_only=True):
    """`message.part.updated`."""

    part: Raw


class PartDelta(Native, frozen=True, kw_only=True):
    """`message.part.delta`: the next piece of a text or a thought."""

    session_id: str
    message_id: str
    part_id: str
    delta: str
    field: str = "text"


class Removed(Native, frozen=True, kw_only=True):
    """A message, or a part of one, is no longer in the session."""

    session_id: str
    message_id: str
    part_id: str | None = None
    """None: all of the message."""


class StatusInfo(Native, frozen=True, kw_only=True):
    """`idle`, `busy` or `retry`."""

    type: str
    attempt: int = 0
    message: str = ""


class StatusEvent(Native, frozen=True, kw_only=True):
    """`session.status`."""

    session_id: str
    status: StatusInfo


class SessionNamed(Native, frozen=True, kw_only=True):
    """An event that only names its session: `session.idle`, `session.compacted`."""

    session_id: str


class ErrorEvent(Native, frozen=True, kw_only=True):
    """`session.error`."""

    session_id: str | None = None
    error: ErrorInfo = ErrorInfo()


class Todo(Native, frozen=True, kw_only=True):
    """One thing to do."""

    content: str = ""
    status: str = ""
    priority: str = ""


class TodoUpdated(Native, frozen=True, kw_only=True):
    """`todo.updated`."""

    session_id: str
    todos: list[Todo] = []


class ToolRef(Native, frozen=True, kw_only=True):
    """The tool call that a request is about."""

    message_id: str = ""
    call_id: str = ""


class PermissionAsked(Native, frozen=True, kw_only=True):
    """`permission.asked`."""

    id: str
    session_id: str
    permission: str
    patterns: list[str] = []
    metadata: dict[str, Any] = {}
    always: list[str] = []
    tool: ToolRef | None = None


class OptionInfo(Native, frozen=True, kw_only=True):
    """An answer that is offered."""

    label: str
    description: str | None = None


class QuestionInfo(Native, frozen=True, kw_only=True):
    """One question."""

    question: str
    header: str | None = None
    options: list[OptionInfo] = []
    multiple: bool | None = None
    custom: bool | None = None


class QuestionAsked(Native, frozen=True, kw_only=True):
    """`question.asked`."""

    id: str
    session_id: str
    questions: list[QuestionInfo] = []
    tool: ToolRef | None = None


class RequestSettled(Native, frozen=True, kw_only=True):
    """`permission.replied`, `question.replied`, `question.rejected`."""

    session_id: str
    request_id: str


# --- Parts ---


class PartHead(Native, frozen=True, kw_only=True):
    """What every part has."""

    id: str
    session_id: str
    message_id: str
    type: str


class PartTime(Native, frozen=True, kw_only=True):
    """When a text or a thought began, and when it was complete."""

    start: Any = None
    end: Any = None


class TextPart(PartHead, frozen=True, kw_only=True):
    """`text` and `reasoning`."""

    text: str = ""
    synthetic: bool | None = None
    ignored: bool | None = None
    time: PartTime | None = None
    metadata: dict[str, Any] | None = None


class FilePart(Native, frozen=True, kw_only=True):
    """`file`, and what a tool attaches to its result."""

    mime: str = ""
    url: str = ""
    filename: str | None = None


class ToolTime(Native, frozen=True, kw_only=True):
    """When a tool ran, in milliseconds."""

    start: Any = None
    end: Any = None


class ToolState(Native, frozen=True, kw_only=True):
    """How far a tool is: `pending`, `running`, `completed` or `error`."""

    status: str
    input: Any = None
    output: str = ""
    error: str = ""
    title: str | None = None
    metadata: dict[str, Any] = {}
    attachments: list[FilePart] | None = None
    time: ToolTime | None = None


class ToolPart(PartHead, frozen=True, kw_only=True):
    """`tool`."""

    call_id: str
    tool: str
    state: ToolState


class StepFinishPart(PartHead, frozen=True, kw_only=True):
    """`step-finish`."""

    reason: str = ""
    cost: Any = None
    tokens: Tokens = Tokens()


class CompactionPart(PartHead, frozen=True, kw_only=True):
    """`compaction`: what came before is summed up."""

    auto: bool = False


class RetryPart(PartHead, frozen=True, kw_only=True):
    """`retry`."""

    attempt: int = 0
    error: ErrorInfo = ErrorInfo()


class SubtaskPart(PartHead, frozen=True, kw_only=True):
    """`subtask`: a command that a subagent carries out."""

    prompt: str = ""
    description: str = ""
    agent: str = ""


class AnyPart(PartHead, frozen=True, kw_only=True):
    """A part that is only named."""


Part = TextPart | ToolPart | StepFinishPart | CompactionPart | RetryPart | SubtaskPart | AnyPart
_PARTS: dict[str, type[Part]] = {
    "text": TextPart,
    "reasoning": TextPart,
    "tool": ToolPart,
    "step-finish": StepFinishPart,
    "compaction": CompactionPart,
    "retry": RetryPart,
    "subtask": SubtaskPart,
}

# --- Replies ---


class StoredMessage(Native, frozen=True, kw_only=True):
    """A message of a session's history."""

    info: MessageInfo
    parts: list[Raw] = []


class ModelLimit(Native, frozen=True, kw_only=True):
    """How much a model takes."""

    context: Any = None


class ModelEntry(Native, frozen=True, kw_only=True):
    """A model of a provider."""

    id: str
    name: str = ""
    limit: ModelLimit = ModelLimit()
    variants: dict[str, Any] | None = None


class Provider(Native, frozen=True, kw_only=True):
    """A provider that can be used."""

    id: str
    models: dict[str, ModelEntry] = {}


class AgentInfo(Native, frozen=True, kw_only=True):
    """One of `GET /agent`."""

    name: str
    description: str | None = None
    mode: str | None = None
    """`primary`, `subagent` or `all`."""
    hidden: bool | None = None


class Providers(Native, frozen=True, kw_only=True):
    """`GET /config/providers`."""

    providers: list[Provider] = []
    default: dict[str, str] = {}


Event = (
    SessionEvent
    | MessageUpdated
    | PartUpdated
    | PartDelta
    | Removed
    | StatusEvent
    | SessionNamed
    | ErrorEvent
    | TodoUpdated
    | PermissionAsked
    | QuestionAsked
    | RequestSettled
)
_EVENTS: dict[str, type[Event]] = {
    "session.created": SessionEvent,
    "session.updated": SessionEvent,
    "session.deleted": SessionEvent,
    "message.updated": MessageUpdated,
    "message.part.updated": PartUpdated,
    "message.part.delta": PartDelta,
    "message.removed": Removed,
    "message.part.removed": Removed,
    "session.status": StatusEvent,
    "session.idle": SessionNamed,
    "session.compacted": SessionNamed,
    "session.error": ErrorEvent,
    "todo.updated": TodoUpdated,
    "permission.asked": PermissionAsked,
    "permission.replied": RequestSettled,
    "question.asked": QuestionAsked,
    "question.replied": RequestSettled,
    "question.rejected": RequestSettled,
}
EVENT_TYPES = tuple(_EVENTS)
CONNECTED = "server.connected"
"""The first event of every stream."""

_event = msgspec.json.Decoder(GlobalEvent)
_properties = {kind: msgspec.json.Decoder(kind) for kind in set(_EVENTS.values())}
_head = msgspec.json.Decoder(PartHead)
_parts = {kind: msgspec.json.Decoder(kind) for kind in {*_PARTS.values(), AnyPart}}


def read_event(line: bytes) -> tuple[str, Event | None]:
    """The type of an event, and what it says; None: of a type that is not known."""
    payload = decode(line, _event).payload
    kind = _EVENTS.get(payload.type)
    if kind is None:
        return payload.type, None
    return payload.type, decode(bytes(payload.properties), _properties[kind])


def read_part(raw: Raw) -> Part:
    """A part; one of a type that is not known is only named."""
    head = decode(bytes(raw), _head)
    return decode(bytes(raw), _parts[_PARTS.get(head.type, AnyPart)])


_session = msgspec.json.Decoder(SessionInfo)
_history = msgspec.json.Decoder(list[StoredMessage])
_requests: dict[type[PermissionAsked | QuestionAsked], Any] = {
    PermissionAsked: msgspec.json.Decoder(list[PermissionAsked]),
    QuestionAsked: msgspec.json.Decoder(list[QuestionAsked]),
}


def read_session(body: bytes) -> SessionInfo:
    """The session that was opened."""
    return decode(body, _session)


def read_history(body: bytes) -> list[StoredMessage]:
    """The last messages of a session."""
    return decode(body, _history)


def read_requests(
    body: bytes, kind: type[PermissionAsked | QuestionAsked]
) -> list[PermissionAsked | QuestionAsked]:
    """All requests of a directory that wait for somebody."""
    found: list[PermissionAsked | QuestionAsked] = decode(body, _requests[kind])
    return found


# --- Routing ---


class _Named(Native, frozen=True, kw_only=True):
    id: str | None = None
    session_id: str | None = None
    parent_id: str | None = None


class _About(Native, frozen=True, kw_only=True):
    session_id: str | None = None
    info: _Named | None = None
    part: _Named | None = None


_about = msgspec.json.Decoder(_About)


def route(line: bytes) -> tuple[str, ...]:
    """The sessions that an event is about; a subagent's first event is its parent's, too."""
    payload = decode(line, _event).payload
    if payload.type == CONNECTED:
        return (EVERYONE,)
    if payload.type == "sync":
        return ()
    about = decode(bytes(payload.properties), _about)
    info = about.info or _Named()
    if payload.type.startswith("session.") and info.id is not None:
        names: tuple[str | None, ...] = (info.id, info.parent_id)
    else:
        names = (about.session_id, info.session_id, (about.part or _Named()).session_id)
    return tuple(dict.fromkeys(filter(None, names)))
