"""What Pi says in RPC mode: one JSON object a line, told apart by `type`.

Structs hold only the fields that are read. They follow the protocol pages in Pi's own package
(`docs/rpc.md`, `docs/json.md`) and were seen in 1.5.0; where 0.73.1 differs, the field says so.
"""

from __future__ import annotations

from typing import Any, get_args

import msgspec
from msgspec import Raw, Struct

from dragoman.wire import decode as wire

NULL = Raw(b"null")


class UnknownJson(Struct, frozen=True):
    """A kind of line or block that has no struct here, as it came."""

    json: Any


# --- Content of messages ---


class ContentBlock(Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of what a message is made of."""


class TextBlock(ContentBlock, frozen=True, kw_only=True, tag="text"):
    """Text."""

    text: str = ""


class ThinkingBlock(ContentBlock, frozen=True, kw_only=True, tag="thinking"):
    """A thought."""

    thinking: str = ""
    redacted: bool | None = None


class ToolCallBlock(ContentBlock, frozen=True, kw_only=True, tag="toolCall", rename="camel"):
    """A call of a tool."""

    id: str
    name: str = "unknown"
    arguments: Any = None


class ImageBlock(ContentBlock, frozen=True, kw_only=True, tag="image", rename="camel"):
    """An image, in base64 on the wire."""

    data: bytes = b""
    mime_type: str | None = None


KnownBlock = TextBlock | ThinkingBlock | ToolCallBlock | ImageBlock
AnyBlock = KnownBlock | UnknownJson


# --- Messages ---


class Cost(Struct, frozen=True, kw_only=True):
    """What an answer cost, in US dollars. Any: a wrong count must not cost the message."""

    total: Any = None


class Tokens(Struct, frozen=True, kw_only=True, rename="camel"):
    """What an answer used; `reasoning` is part of `output`."""

    input: Any = None
    output: Any = None
    cache_read: Any = None
    cache_write: Any = None
    reasoning: Any = None
    cost: Cost | None = None


class Message(Struct, frozen=True, kw_only=True, rename="camel"):
    """A message of any role."""

    role: str = ""
    content: str | tuple[Raw, ...] | None = None
    provider: str | None = None
    model: str | None = None
    usage: Tokens | None = None
    stop_reason: str | None = None
    error_message: str | None = None
    duration_ms: int | None = None
    tool_name: str | None = None
    custom_type: str | None = None
    display: bool | None = None
    summary: str | None = None


class StreamPiece(Struct, frozen=True, kw_only=True, rename="camel"):
    """A change of the message that streams."""

    type: str
    content_index: int = 0
    delta: str = ""
    content: str | None = None
    id: str | None = None
    tool_name: str | None = None
    tool_call: ToolCallBlock | None = None
    partial: Raw = NULL
    """Before 0.84.3: the message so far, which alone names the call that begins."""


class Partial(Struct, frozen=True, kw_only=True):
    """The message so far."""

    content: tuple[Raw, ...] = ()


# --- Lines ---


class Line(Struct, frozen=True, kw_only=True, tag_field="type", rename="camel"):
    """Base of everything that Pi says."""


class Response(Line, frozen=True, kw_only=True, tag="response"):
    """The answer to a command of ours."""

    id: str | None = None
    command: str = ""
    success: bool = True
    data: Raw = NULL
    error: str | None = None


class AgentStart(Line, frozen=True, kw_only=True, tag="agent_start"):
    """A run begins."""


class AgentEnd(Line, frozen=True, kw_only=True, tag="agent_end"):
    """A run ends; another may follow in the same turn."""

    will_retry: bool | None = None
    """None before 0.80.4, where nothing says that it settled."""


class AgentSettled(Line, frozen=True, kw_only=True, tag="agent_settled"):
    """Nothing follows by itself."""

    aborted: bool | None = None
    """None before 1.1.0."""


class TurnStart(Line, frozen=True, kw_only=True, tag="turn_start"):
    """The model is asked."""


class TurnEnd(Line, frozen=True, kw_only=True, tag="turn_end"):
    """Its answer and the tools that it called are done."""


class MessageStart(Line, frozen=True, kw_only=True, tag="message_start"):
    """A message begins."""

    message: Message


class MessageUpdate(Line, frozen=True, kw_only=True, tag="message_update"):
    """The model's answer streams."""

    assistant_message_event: StreamPiece


class MessageEnd(Line, frozen=True, kw_only=True, tag="message_end"):
    """A message is complete."""

    message: Message


class ToolOutput(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a tool gave back, or has so far."""

    content: tuple[Raw, ...] | None = None
    structured_content: Any = None
    details: Any = None


class ToolStart(Line, frozen=True, kw_only=True, tag="tool_execution_start"):
    """A tool begins; a handler of an extension may still stop it."""

    tool_call_id: str
    tool_name: str = "unknown"
    args: Any = None
    parent_tool_call_id: str | None = None


class ToolUpdate(Line, frozen=True, kw_only=True, tag="tool_execution_update"):
    """All that a tool gave so far."""

    tool_call_id: str
    tool_name: str = "unknown"
    partial_result: ToolOutput | None = None


class ToolEnd(Line, frozen=True, kw_only=True, tag="tool_execution_end"):
    """A tool is done."""

    tool_call_id: str
    tool_name: str = "unknown"
    result: ToolOutput | None = None
    is_error: bool = False
    duration_ms: int | None = None


class QueueUpdate(Line, frozen=True, kw_only=True, tag="queue_update"):
    """What waits in Pi's own queues."""


class EntryAppended(Line, frozen=True, kw_only=True, tag="entry_appended"):
    """A line of Pi's own file."""


class InfoChanged(Line, frozen=True, kw_only=True, tag="session_info_changed"):
    """The conversation has another name."""

    name: str | None = None


class LevelChanged(Line, frozen=True, kw_only=True, tag="thinking_level_changed"):
    """Another thinking level."""

    level: str


class CompactionStart(Line, frozen=True, kw_only=True, tag="compaction_start"):
    """The conversation is being compacted."""

    reason: str | None = None


class CompactionResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """What the conversation was compacted to."""

    summary: str | None = None
    tokens_before: Any = None
    estimated_tokens_after: Any = None
    usage: Tokens | None = None


class CompactionEnd(Line, frozen=True, kw_only=True, tag="compaction_end"):
    """It was compacted, or not."""

    reason: str | None = None
    result: CompactionResult | None = None
    aborted: bool | None = None
    will_retry: bool | None = None
    error_message: str | None = None


class RetryStart(Line, frozen=True, kw_only=True, tag="auto_retry_start"):
    """The model will be asked again."""

    attempt: int = 0
    max_attempts: int = 0
    delay_ms: float = 0
    error_message: str | None = None


class RetryEnd(Line, frozen=True, kw_only=True, tag="auto_retry_end"):
    """Asking again helped, or not."""

    success: bool = True
    final_error: str | None = None


class SummaryRetry(Line, frozen=True, kw_only=True, tag="summarization_retry_scheduled"):
    """The model will be asked again for a summary."""

    attempt: int = 0
    max_attempts: int = 0
    delay_ms: float = 0
    error_message: str | None = None


class SummaryRetryStart(Line, frozen=True, kw_only=True, tag="summarization_retry_attempt_start"):
    """It is asked again."""


class SummaryRetryEnd(Line, frozen=True, kw_only=True, tag="summarization_retry_finished"):
    """That is over."""


class BashUpdate(Line, frozen=True, kw_only=True, tag="bash_execution_update"):
    """Output of a command that a client ran, and we run none."""


class UiRequest(Line, frozen=True, kw_only=True, tag="extension_ui_request"):
    """What an extension asks of a person, or shows to one."""

    id: str
    method: str = ""
    title: str | None = None
    message: str | None = None
    options: tuple[str, ...] = ()
    placeholder: str | None = None
    prefill: str | None = None
    timeout: float | None = None
    """Milliseconds, after which Pi answers itself, without a word."""
    notify_type: str | None = None
    status_key: str | None = None
    status_text: str | None = None
    widget_key: str | None = None
    widget_lines: tuple[str, ...] | None = None
    widget_placement: str | None = None
    text: str | None = None


class ExtensionError(Line, frozen=True, kw_only=True, tag="extension_error"):
    """An extension failed."""

    extension_path: str | None = None
    event: str | None = None
    error: str | None = None


KnownLine = (
    Response
    | AgentStart
    | AgentEnd
    | AgentSettled
    | TurnStart
    | TurnEnd
    | MessageStart
    | MessageUpdate
    | MessageEnd
    | ToolStart
    | ToolUpdate
    | ToolEnd
    | QueueUpdate
    | EntryAppended
    | InfoChanged
    | LevelChanged
    | CompactionStart
    | CompactionEnd
    | RetryStart
    | RetryEnd
    | SummaryRetry
    | SummaryRetryStart
    | SummaryRetryEnd
    | BashUpdate
    | UiRequest
    | ExtensionError
)
AnyLine = KnownLine | UnknownJson


class Model(Struct, frozen=True, kw_only=True, rename="camel"):
    """A model that Pi knows."""

    id: str = ""
    name: str | None = None
    provider: str = ""
    reasoning: bool = False
    context_window: Any = None


class State(Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer to `get_state`."""

    session_id: str | None = None
    model: Model | None = None
    thinking_level: str | None = None
    is_streaming: bool = False
    is_compacting: bool = False


class Disposition(Struct, frozen=True, kw_only=True):
    """What became of a message."""

    disposition: str | None = None
    """`started`, `queued` or `handled`; None before 0.99.0."""


# --- Decoding ---


class _Tag(Struct):
    type: str = ""


_line: msgspec.json.Decoder[KnownLine] = msgspec.json.Decoder(KnownLine)
_tag = msgspec.json.Decoder(_Tag)
_json = msgspec.json.Decoder()
_block: msgspec.json.Decoder[KnownBlock] = msgspec.json.Decoder(KnownBlock)
_partial = msgspec.json.Decoder(Partial)
_state = msgspec.json.Decoder(State)
_disposition = msgspec.json.Decoder(Disposition)
_TAGS = frozenset(str(each.__struct_config__.tag) for each in get_args(KnownLine))


def decode(message: bytes) -> AnyLine:
    """Decode a line. Raise only msgspec errors."""
    try:
        return wire.decode(message, _line)
    except msgspec.ValidationError:
        if wire.decode(message, _tag).type in _TAGS:
            raise
        return UnknownJson(wire.decode(message, _json))


def decode_block(raw: Raw) -> AnyBlock:
    """Decode a block; one that is not known costs only itself."""
    try:
        return wire.decode(bytes(raw), _block)
    except msgspec.ValidationError:
        return UnknownJson(wire.decode(bytes(raw), _json))


def blocks_of(content: str | tuple[Raw, ...] | None) -> tuple[AnyBlock, ...]:
    """The content of a message."""
    if content is None:
        return ()
    if isinstance(content, str):
        return (TextBlock(text=content),) if content else ()
    return tuple(map(decode_block, content))


def text_of(content: str | tuple[Raw, ...] | None) -> str:
    """The text of a message."""
    return "".join(each.text for each in blocks_of(content) if isinstance(each, TextBlock))


def call_in(partial: Raw, index: int) -> ToolCallBlock | None:
    """The call at an index of a message so far, as versions before 0.84.3 tell of it."""
    if bytes(partial) == b"null":
        return None
    content = wire.decode(bytes(partial), _partial).content
    block = decode_block(content[index]) if index < len(content) else None
    return block if isinstance(block, ToolCallBlock) else None


def state_of(response: Response) -> State:
    """What `get_state` was answered with."""
    data = bytes(response.data)
    return State() if data == b"null" else wire.decode(data, _state)


def disposition_of(response: Response) -> str | None:
    """What became of a message, where Pi says it."""
    data = bytes(response.data)
    return None if data == b"null" else wire.decode(data, _disposition).disposition
