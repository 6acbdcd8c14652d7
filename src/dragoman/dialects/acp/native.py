"""What ACP agents say: narrow structs of notifications, requests and replies, version 1."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct

from dragoman.wire.decode import decode as decode_json
from dragoman.wire.diff import diff
from dragoman.wire.jsonrpc import Result, key_of

PROTOCOL_VERSION = 1
AUTH_REQUIRED = -32000
NOT_FOUND = -32002
_ABSENT = Raw(b"")
_EMPTY = Raw(b"{}")


class CamelCase(Struct, frozen=True, kw_only=True, rename="camel"):
    """Base: ACP writes its members so."""


# --- Content ---


class TextBlock(CamelCase, frozen=True, kw_only=True, tag="text"):
    """A text."""

    text: str = ""


class ImageBlock(CamelCase, frozen=True, kw_only=True, tag="image"):
    """An image, in base64."""

    data: str = ""
    mime_type: str | None = None
    uri: str | None = None


class AudioBlock(CamelCase, frozen=True, kw_only=True, tag="audio"):
    """A sound, in base64."""

    data: str = ""
    mime_type: str | None = None


class LinkBlock(CamelCase, frozen=True, kw_only=True, tag="resource_link"):
    """The address of something that the agent has."""

    uri: str = ""
    name: str = ""
    title: str | None = None


class ResourceContents(CamelCase, frozen=True, kw_only=True):
    """What a resource holds: a text, or bytes in base64."""

    uri: str = ""
    text: str | None = None
    blob: str | None = None
    mime_type: str | None = None


class ResourceBlock(CamelCase, frozen=True, kw_only=True, tag="resource"):
    """A resource with its content."""

    resource: ResourceContents = ResourceContents()


class UnknownBlock(Struct, frozen=True):
    """Content of a kind that is not known here."""

    value: Any


KnownBlock = TextBlock | ImageBlock | AudioBlock | LinkBlock | ResourceBlock
ContentBlock = KnownBlock | UnknownBlock
_block: msgspec.json.Decoder[KnownBlock] = msgspec.json.Decoder(KnownBlock)
_any = msgspec.json.Decoder()


def block_of(raw: Raw) -> ContentBlock:
    """Content; one kind that is new must not cost the message."""
    try:
        return decode_json(bytes(raw), _block)
    except msgspec.ValidationError:
        return UnknownBlock(decode_json(bytes(raw), _any))


class PlainContent(CamelCase, frozen=True, kw_only=True, tag="content"):
    """What a tool says."""

    content: Raw = _EMPTY


class DiffContent(CamelCase, frozen=True, kw_only=True, tag="diff"):
    """A file as a tool changes it."""

    path: str
    new_text: str = ""
    old_text: str | None = None
    """None: there was none."""
    meta: Any = msgspec.field(name="_meta", default=None)

    def diff(self, path: str) -> str:
        """The change as a diff: one that stands beside it, else that of the texts."""
        ready = self.meta.get("diff") if isinstance(self.meta, dict) else None
        return ready if isinstance(ready, str) else diff(path, self.old_text or None, self.new_text)


class TerminalContent(CamelCase, frozen=True, kw_only=True, tag="terminal"):
    """What a command prints, in a terminal of ours."""

    terminal_id: str = ""


KnownToolContent = PlainContent | DiffContent | TerminalContent
ToolContent = KnownToolContent | UnknownBlock
_tool_content: msgspec.json.Decoder[KnownToolContent] = msgspec.json.Decoder(KnownToolContent)


def tool_content_of(raw: Raw) -> ToolContent:
    """What a tool shows; as above."""
    try:
        return decode_json(bytes(raw), _tool_content)
    except msgspec.ValidationError:
        return UnknownBlock(decode_json(bytes(raw), _any))


# --- Updates ---


class MessageChunk(CamelCase, frozen=True, kw_only=True):
    """Base: the next piece of a message."""

    content: Raw = _EMPTY
    message_id: str | None = None


class UserChunk(MessageChunk, frozen=True, kw_only=True):
    """A piece of what a person said."""


class AgentChunk(MessageChunk, frozen=True, kw_only=True):
    """A piece of an answer."""

    meta: Any = msgspec.field(name="_meta", default=None)


class ThoughtChunk(MessageChunk, frozen=True, kw_only=True):
    """A piece of a thought."""


class ToolUpdate(CamelCase, frozen=True, kw_only=True):
    """What is known of a tool call; what is absent has not changed."""

    tool_call_id: str
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    content: list[Raw] | None = None
    locations: Any = None
    raw_input: Any = None
    raw_output: Any = None
    meta: Any = msgspec.field(name="_meta", default=None)


class ToolStart(ToolUpdate, frozen=True, kw_only=True):
    """A tool call begins."""


class PlanUpdate(CamelCase, frozen=True, kw_only=True):
    """What is to be done; each time the whole list."""

    entries: Any = None


class PlanContentUpdate(CamelCase, frozen=True, kw_only=True):
    """One of several plans, in one of several forms: not stable yet."""

    plan: Any = None


class PlanRemoval(CamelCase, frozen=True, kw_only=True):
    """A plan is let go: not stable yet."""

    plan_id: Any = msgspec.field(name="id", default=None)


class CommandsUpdate(CamelCase, frozen=True, kw_only=True):
    """The slash commands that the session has."""

    available_commands: Any = None


class ModeUpdate(CamelCase, frozen=True, kw_only=True):
    """The session's mode has changed."""

    current_mode_id: str


class OptionsUpdate(CamelCase, frozen=True, kw_only=True):
    """The session's options have changed; each time all of them."""

    config_options: list[Raw] = []


class InfoUpdate(CamelCase, frozen=True, kw_only=True):
    """What the session is called."""

    title: str | None = None


class UsageUpdate(CamelCase, frozen=True, kw_only=True):
    """How full the window is, and what the session has cost so far."""

    used: Any = None
    size: Any = None
    cost: Any = None


class UnknownUpdate(Struct, frozen=True):
    """An update of a kind that is not known here."""

    kind: str


SessionUpdate = (
    UserChunk
    | AgentChunk
    | ThoughtChunk
    | ToolStart
    | ToolUpdate
    | PlanUpdate
    | PlanContentUpdate
    | PlanRemoval
    | CommandsUpdate
    | ModeUpdate
    | OptionsUpdate
    | InfoUpdate
    | UsageUpdate
    | UnknownUpdate
)
UPDATES: dict[str, type[SessionUpdate]] = {
    "user_message_chunk": UserChunk,
    "agent_message_chunk": AgentChunk,
    "agent_thought_chunk": ThoughtChunk,
    "tool_call": ToolStart,
    "tool_call_update": ToolUpdate,
    "plan": PlanUpdate,
    "plan_update": PlanContentUpdate,
    "plan_removed": PlanRemoval,
    "available_commands_update": CommandsUpdate,
    "current_mode_update": ModeUpdate,
    "config_option_update": OptionsUpdate,
    "session_info_update": InfoUpdate,
    "usage_update": UsageUpdate,
}
"""Every kind of version 1, and those that are not stable yet."""


class _Kind(CamelCase, frozen=True, kw_only=True):
    session_update: str = ""


_kind = msgspec.json.Decoder(_Kind)
_updates = {name: msgspec.json.Decoder(kind) for name, kind in UPDATES.items()}


def update_of(raw: Raw) -> SessionUpdate:
    """What has changed. Raise only msgspec errors."""
    kind = decode_json(bytes(raw), _kind).session_update
    decoder = _updates.get(kind)
    return UnknownUpdate(kind) if decoder is None else decode_json(bytes(raw), decoder)


# --- Requests of the agent ---


class PermissionOption(CamelCase, frozen=True, kw_only=True):
    """An answer that is offered."""

    option_id: str
    name: str = ""
    kind: str = ""


class PermissionParams(CamelCase, frozen=True, kw_only=True):
    """May it do this?"""

    session_id: str = ""
    tool_call: ToolUpdate
    options: tuple[PermissionOption, ...] = ()
    meta: Any = msgspec.field(name="_meta", default=None)


class ElicitationParams(CamelCase, frozen=True, kw_only=True):
    """A form to fill in, or a page to visit."""

    session_id: str = ""
    tool_call_id: str | None = None
    mode: str = "form"
    message: str = ""
    requested_schema: Any = None
    elicitation_id: str | None = None
    url: str | None = None


class ElicitationComplete(CamelCase, frozen=True, kw_only=True):
    """The page was visited."""

    elicitation_id: str


class ReadFileParams(CamelCase, frozen=True, kw_only=True):
    """What is in this file?"""

    path: str
    line: Annotated[int, Meta(ge=0)] | None = None
    limit: Annotated[int, Meta(ge=0)] | None = None


class WriteFileParams(CamelCase, frozen=True, kw_only=True):
    """Write all of this file."""

    path: str
    content: str


class EnvVariable(CamelCase, frozen=True, kw_only=True):
    """A variable of a command's environment."""

    name: str
    value: str


class TerminalParams(CamelCase, frozen=True, kw_only=True):
    """Run a command."""

    command: str
    args: tuple[str, ...] | None = None
    env: tuple[EnvVariable, ...] | None = None
    cwd: str | None = None
    output_byte_limit: Annotated[int, Meta(ge=0)] | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The command with its arguments."""
        return (self.command, *(self.args or ()))


class TerminalName(CamelCase, frozen=True, kw_only=True):
    """A command that was run."""

    terminal_id: str


class CancelParams(CamelCase, frozen=True, kw_only=True):
    """It waits no longer for the answer to this request."""

    request_id: Raw = _ABSENT


# --- Envelopes ---


class Envelope(Struct, frozen=True, kw_only=True):
    """A notification or a request."""

    method: str = ""
    id: Raw = _ABSENT
    params: Raw = _EMPTY

    @property
    def key(self) -> str | None:
        """The key of a request; None: it is a notification."""
        return key_of(self.id) if bytes(self.id) else None


class UpdateParams(CamelCase, frozen=True, kw_only=True):
    """Around every update."""

    session_id: str = ""
    update: Raw = _EMPTY
    meta: Any = msgspec.field(name="_meta", default=None)


_envelope = msgspec.json.Decoder(Envelope)
T = TypeVar("T")


def envelope_of(message: bytes) -> Envelope:
    """The envelope of a line. Raise only msgspec errors."""
    return decode_json(message, _envelope)


def params_of(envelope: Envelope, kind: type[T]) -> T:
    """What a message is about. Raise only msgspec errors."""
    return decode_json(bytes(envelope.params), msgspec.json.Decoder(kind))


# --- Replies ---


class PromptCapabilities(CamelCase, frozen=True, kw_only=True):
    """What may stand in a message beside text and links."""

    image: bool = False
    audio: bool = False
    embedded_context: bool = False


class McpCapabilities(CamelCase, frozen=True, kw_only=True):
    """Which MCP servers it connects to beside local ones."""

    http: bool = False
    sse: bool = False


class SessionCapabilities(CamelCase, frozen=True, kw_only=True):
    """What can be done with its sessions; None: it cannot."""

    resume: Any = None
    fork: Any = None
    close: Any = None
    list: Any = None


class AgentFeatures(CamelCase, frozen=True, kw_only=True):
    """What the agent says that it can do."""

    load_session: bool = False
    prompt_capabilities: PromptCapabilities = PromptCapabilities()
    mcp_capabilities: McpCapabilities = McpCapabilities()
    session_capabilities: SessionCapabilities = SessionCapabilities()


class AuthMethod(CamelCase, frozen=True, kw_only=True):
    """A way to log in."""

    id: str
    name: str = ""
    description: str | None = None
    type: str | None = None


class InitializeResult(CamelCase, frozen=True, kw_only=True):
    """Who the agent is."""

    protocol_version: int = PROTOCOL_VERSION
    agent_capabilities: AgentFeatures = AgentFeatures()
    auth_methods: tuple[AuthMethod, ...] = ()


class ModeName(CamelCase, frozen=True, kw_only=True):
    """A mode."""

    id: str
    name: str = ""
    description: str | None = None


class SessionModes(CamelCase, frozen=True, kw_only=True):
    """The modes, where they are no option."""

    current_mode_id: str | None = None
    available_modes: tuple[ModeName, ...] = ()


class ModelName(CamelCase, frozen=True, kw_only=True):
    """A model."""

    model_id: str
    name: str | None = None
    meta: Any = msgspec.field(name="_meta", default=None)


class SessionModels(CamelCase, frozen=True, kw_only=True):
    """The models, where they are no option: an older, unstable part of the protocol."""

    current_model_id: str | None = None
    available_models: tuple[ModelName, ...] = ()


class SessionResult(CamelCase, frozen=True, kw_only=True):
    """A session is open; `session_id` is absent where it was named before."""

    session_id: str | None = None
    modes: SessionModes | None = None
    models: SessionModels | None = None
    config_options: list[Raw] | None = None


class SessionName(CamelCase, frozen=True, kw_only=True):
    """A session that the agent has."""

    session_id: str = ""


class KnownSessions(CamelCase, frozen=True, kw_only=True):
    """Some of the sessions that the agent has."""

    sessions: tuple[SessionName, ...] = ()
    next_cursor: str | None = None


class OptionValue(CamelCase, frozen=True, kw_only=True):
    """A value that an option may have; or, with `options`, a group of such."""

    value: str | None = None
    name: str = ""
    description: str | None = None
    options: tuple[OptionValue, ...] = ()


class SelectOption(CamelCase, frozen=True, kw_only=True):
    """Something that can be chosen in a session."""

    id: str
    category: str | None = None
    current_value: str
    options: tuple[OptionValue, ...] = ()

    @property
    def values(self) -> tuple[OptionValue, ...]:
        """All values, of all groups."""
        groups = ((each,) if each.value is not None else each.options for each in self.options)
        return tuple(value for group in groups for value in group)


class TokenCounts(CamelCase, frozen=True, kw_only=True):
    """The tokens of a turn. Any: what is no count must not cost the others (`wire.counts`)."""

    input_tokens: Any = None
    output_tokens: Any = None
    thought_tokens: Any = None
    cached_read_tokens: Any = None
    cached_write_tokens: Any = None
    total_tokens: Any = None


class PromptResult(CamelCase, frozen=True, kw_only=True):
    """A turn is over."""

    stop_reason: str = "end_turn"
    usage: TokenCounts | None = None
    meta: Any = msgspec.field(name="_meta", default=None)


_option = msgspec.json.Decoder(SelectOption)


def result_of(reply: Result, kind: type[T]) -> T:
    """What a reply says; `null` says nothing. Raise only msgspec errors."""
    data = b"{}" if reply.result == b"null" else reply.result
    return decode_json(data, msgspec.json.Decoder(kind))


def options_of(raws: list[Raw] | None) -> tuple[SelectOption, ...]:
    """The options with values to choose from; switches and what is new are left out."""
    found = []
    for raw in raws or ():
        try:
            found.append(decode_json(bytes(raw), _option))
        except msgspec.ValidationError:
            continue
    return tuple(found)
