"""The mock agent's own words: one JSON object a line, told apart by `type`."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Raw, Struct

from dragoman.schema.events import Outcome
from dragoman.schema.items import FileAction, Visibility
from dragoman.wire import decode as wire


class Native(Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of everything the agent says."""


class Hello(Native, frozen=True, kw_only=True, tag="hello"):
    """The process is up, and names its session."""

    session: str
    model: str | None = None


class TurnStarted(Native, frozen=True, kw_only=True, tag="turn_started"):
    """It begins to work on a prompt."""

    turn: str


class Tokens(Struct, frozen=True, kw_only=True):
    """What a turn used; `input_tokens` is without cached ones.

    Any: what is no count must not cost the end of the turn (`wire.counts`).
    """

    model: str
    input_tokens: Any = 0
    cached_input_tokens: Any = 0
    cache_write_tokens: Any = 0
    output_tokens: Any = 0
    reasoning_tokens: Any = 0
    cost_usd: Any = 0.0


class TurnEnded(Native, frozen=True, kw_only=True, tag="turn_ended"):
    """It has stopped working."""

    turn: str
    outcome: Outcome
    stop_reason: str | None = None
    usage: Tokens | None = None


class MessageStart(Native, frozen=True, kw_only=True, tag="message_start"):
    """A message begins."""

    id: str
    subagent: str | None = None


class TextDelta(Native, frozen=True, kw_only=True, tag="text_delta"):
    """The next piece of a message."""

    id: str
    text: str


class MessageEnd(Native, frozen=True, kw_only=True, tag="message_end"):
    """A message is final; without blocks it is what was streamed."""

    id: str
    blocks: tuple[Raw, ...] | None = None
    stop_reason: str | None = None


class ReasoningStart(Native, frozen=True, kw_only=True, tag="reasoning_start"):
    """A thought begins."""

    id: str
    message: str | None = None
    visibility: Visibility = "public"
    subagent: str | None = None


class ReasoningDelta(Native, frozen=True, kw_only=True, tag="reasoning_delta"):
    """The next piece of a thought."""

    id: str
    text: str


class ReasoningEnd(Native, frozen=True, kw_only=True, tag="reasoning_end"):
    """A thought is final: what was streamed."""

    id: str


class ToolStart(Native, frozen=True, kw_only=True, tag="tool_start"):
    """A tool is about to be called."""

    id: str
    name: str
    message: str | None = None
    title: str | None = None
    command: str | None = None
    cwd: str | None = None
    server: str | None = None
    subagent: str | None = None


class ArgumentsDelta(Native, frozen=True, kw_only=True, tag="arguments_delta"):
    """The next piece of a call's arguments."""

    id: str
    text: str


class ToolReady(Native, frozen=True, kw_only=True, tag="tool_ready"):
    """A call's arguments are complete."""

    id: str


class ToolOutput(Native, frozen=True, kw_only=True, tag="tool_output"):
    """The next piece of what a tool prints."""

    id: str
    text: str


class ToolEnd(Native, frozen=True, kw_only=True, tag="tool_end"):
    """A tool is done."""

    id: str
    output: str
    failed: bool = False
    reason: str | None = None
    exit_code: int | None = None
    duration_ms: int | None = None
    blocks: tuple[Raw, ...] = ()


class PermissionAsk(Native, frozen=True, kw_only=True, tag="permission_ask"):
    """It waits for leave to run a tool."""

    id: str
    tool: str
    action: str
    input: Any = None
    command: str | None = None
    path: str | None = None
    diff: str | None = None
    why: str | None = None
    edits_files: bool = False


class Choice(Struct, frozen=True, kw_only=True):
    """An answer on offer."""

    label: str
    description: str | None = None


class Inquiry(Struct, frozen=True, kw_only=True):
    """One question of an ask."""

    id: str
    text: str
    header: str | None = None
    choices: tuple[Choice, ...] = ()
    several: bool = False
    free_text: bool = False


class QuestionAsk(Native, frozen=True, kw_only=True, tag="question_ask"):
    """It waits for answers."""

    id: str
    questions: tuple[Inquiry, ...]


class WholeItem(Native, frozen=True, kw_only=True, tag="item"):
    """Something that is complete at once; what, its `kind` says."""

    id: str
    item: Raw


class SubagentStart(Native, frozen=True, kw_only=True, tag="subagent_start"):
    """A tool call has started a helper."""

    id: str
    tool: str
    description: str | None = None


class SubagentEnd(Native, frozen=True, kw_only=True, tag="subagent_end"):
    """The helper is done."""

    id: str
    failed: bool = False


class Error(Native, frozen=True, kw_only=True, tag="error"):
    """Something went wrong."""

    message: str
    code: str | None = None
    details: Any = None


class ContextWindow(Native, frozen=True, kw_only=True, tag="context"):
    """How full the model's context is, in tokens."""

    used: Any
    window: Any


class SessionEnd(Native, frozen=True, kw_only=True, tag="session_end"):
    """The session is over."""

    reason: Literal["completed", "error"] = "completed"
    message: str | None = None


Message = (
    TextDelta
    | Hello
    | TurnStarted
    | TurnEnded
    | MessageStart
    | MessageEnd
    | ReasoningStart
    | ReasoningDelta
    | ReasoningEnd
    | ToolStart
    | ArgumentsDelta
    | ToolReady
    | ToolOutput
    | ToolEnd
    | PermissionAsk
    | QuestionAsk
    | WholeItem
    | SubagentStart
    | SubagentEnd
    | Error
    | ContextWindow
    | SessionEnd
)


class TextBlock(Struct, frozen=True, kw_only=True, tag_field="kind", tag="text"):
    """The text of a message."""

    text: str


class FileBlock(Struct, frozen=True, kw_only=True, tag_field="kind", tag="file"):
    """A file that a tool touched."""

    path: str
    action: FileAction
    diff: str | None = None


class ImageBlock(Struct, frozen=True, kw_only=True, tag_field="kind", tag="image"):
    """An image, base64 on the wire."""

    data: bytes
    mime: str | None = None


class StatusItem(Struct, frozen=True, kw_only=True, tag_field="kind", tag="status"):
    """What goes on, in a word."""

    label: str
    detail: str | None = None


class SystemItem(Struct, frozen=True, kw_only=True, tag_field="kind", tag="system"):
    """What somebody but the person and the agent says, e.g. a hook."""

    text: str


class PlanItem(Struct, frozen=True, kw_only=True, tag_field="kind", tag="plan"):
    """What it is going to do."""

    steps: tuple[Any, ...]


class Unmodelled(Struct, frozen=True):
    """A kind of block or item that we do not know, as it came."""

    json: Any


Block = TextBlock | FileBlock | ImageBlock
ItemBody = StatusItem | SystemItem | PlanItem

T = TypeVar("T")

_message: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)
_block: msgspec.json.Decoder[Block] = msgspec.json.Decoder(Block)
_item: msgspec.json.Decoder[ItemBody] = msgspec.json.Decoder(ItemBody)
_any = msgspec.json.Decoder()


def decode(line: bytes) -> Message:
    """Decode one line. Raise only msgspec errors."""
    return wire.decode(line, _message)


def decode_block(block: Raw) -> Block | Unmodelled:
    """Decode one block of a message or result. Raise only msgspec errors."""
    return _lenient(bytes(block), _block)


def decode_item(item: Raw) -> ItemBody | Unmodelled:
    """Decode what a whole item is. Raise only msgspec errors."""
    return _lenient(bytes(item), _item)


def _lenient(raw: bytes, decoder: msgspec.json.Decoder[T]) -> T | Unmodelled:
    try:
        return wire.decode(raw, decoder)
    except msgspec.ValidationError:
        return Unmodelled(wire.decode(raw, _any))
