"""The model's own words, which Claude Code passes on: messages, their blocks, their stream."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from dragoman.wire import decode as wire


class Unmodelled(Struct, frozen=True):
    """A kind of message or block that we do not know, as it came."""

    json: Any


# --- Blocks of a message ---


class Block(Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of what a message is made of."""


class TextBlock(Block, frozen=True, kw_only=True, tag="text"):
    """Text."""

    text: str = ""


class ThinkingBlock(Block, frozen=True, kw_only=True, tag="thinking"):
    """A thought."""

    thinking: str = ""


class RedactedBlock(Block, frozen=True, kw_only=True, tag="redacted_thinking"):
    """A thought that nobody may read."""


class ToolUseBlock(Block, frozen=True, kw_only=True, tag="tool_use"):
    """A call of a tool."""

    id: str
    name: str = "unknown"
    input: Any = None


class ServerToolUseBlock(ToolUseBlock, frozen=True, kw_only=True, tag="server_tool_use"):
    """A call of a tool that the vendor runs."""


class McpToolUseBlock(ToolUseBlock, frozen=True, kw_only=True, tag="mcp_tool_use"):
    """A call of a tool of an MCP server that the vendor talks to."""


class ToolResultBlock(Block, frozen=True, kw_only=True, tag="tool_result"):
    """What a tool gave back."""

    tool_use_id: str
    content: str | tuple[Raw, ...] | None = None
    is_error: bool | None = None


class ImageSource(Struct, frozen=True, kw_only=True):
    """Where an image is."""

    data: bytes | None = None
    """Base64 on the wire."""
    media_type: str | None = None


class ImageBlock(Block, frozen=True, kw_only=True, tag="image"):
    """An image."""

    source: ImageSource


AnyToolUse = ToolUseBlock | ServerToolUseBlock | McpToolUseBlock
AnyBlock = TextBlock | ThinkingBlock | RedactedBlock | AnyToolUse | ToolResultBlock | ImageBlock


# --- A message of the model, as it streams ---


class Streamed(Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of the model's own stream."""


class Tokens(Struct, frozen=True, kw_only=True):
    """What one answer of the model used. Any: what is no count must not cost the answer."""

    input_tokens: Any = None
    cache_creation_input_tokens: Any = None
    cache_read_input_tokens: Any = None
    output_tokens: Any = None


class MessageHead(Struct, frozen=True, kw_only=True):
    """The message that begins, and what it read."""

    id: str
    model: str | None = None
    usage: Tokens | None = None


class MessageStart(Streamed, frozen=True, kw_only=True, tag="message_start"):
    """A message begins."""

    message: MessageHead


class BlockStart(Streamed, frozen=True, kw_only=True, tag="content_block_start"):
    """A block begins."""

    index: int
    content_block: Raw


class TextDelta(Struct, frozen=True, kw_only=True, tag_field="type", tag="text_delta"):
    """The next piece of a text."""

    text: str


class ThinkingDelta(Struct, frozen=True, kw_only=True, tag_field="type", tag="thinking_delta"):
    """The next piece of a thought."""

    thinking: str


class InputDelta(Struct, frozen=True, kw_only=True, tag_field="type", tag="input_json_delta"):
    """The next piece of a call's input."""

    partial_json: str


class SignatureDelta(Struct, frozen=True, kw_only=True, tag_field="type", tag="signature_delta"):
    """The vendor's seal on a thought."""


class CitationsDelta(Struct, frozen=True, kw_only=True, tag_field="type", tag="citations_delta"):
    """Where a text comes from; the whole block repeats it."""


AnyDelta = TextDelta | ThinkingDelta | InputDelta | SignatureDelta | CitationsDelta


class BlockDelta(Streamed, frozen=True, kw_only=True, tag="content_block_delta"):
    """A block grows."""

    index: int
    delta: AnyDelta


class BlockStop(Streamed, frozen=True, kw_only=True, tag="content_block_stop"):
    """A block is whole."""

    index: int


class Stop(Struct, frozen=True, kw_only=True):
    """Why the model stopped."""

    stop_reason: str | None = None


class MessageDelta(Streamed, frozen=True, kw_only=True, tag="message_delta"):
    """Why the message ends, and what it used."""

    delta: Stop = Stop()
    usage: Tokens | None = None


class MessageStop(Streamed, frozen=True, kw_only=True, tag="message_stop"):
    """The message is over."""


class Ping(Streamed, frozen=True, kw_only=True, tag="ping"):
    """Nothing."""


AnyStreamed = MessageStart | BlockStart | BlockDelta | BlockStop | MessageDelta | MessageStop | Ping

_block: msgspec.json.Decoder[AnyBlock] = msgspec.json.Decoder(AnyBlock)
_any = msgspec.json.Decoder()


def decode_block(block: Raw) -> AnyBlock | Unmodelled:
    """Decode one block. Raise only msgspec errors."""
    try:
        return wire.decode(bytes(block), _block)
    except msgspec.ValidationError:
        return Unmodelled(wire.decode(bytes(block), _any))
