"""What Amp says with `--stream-json`: one JSON object a line, told apart by `type`.

Structs hold only the fields that are read. The lines have the shape of Claude Code's, without ids
of messages and without deltas (0.0.1790142911). A process that has no credentials says it in plain
text instead.
"""

from __future__ import annotations

from typing import Any, get_args

import msgspec
from msgspec import Raw, Struct

from dragoman.wire import decode as wire


class UnknownJson(Struct, frozen=True):
    """A kind of line or block that has no struct here, as it came."""

    json: Any


class PlainText(Struct, frozen=True):
    """A line that is no JSON: Amp speaks to a person at a terminal."""

    text: str


# --- Content of messages ---


class ContentBlock(Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of what a message is made of."""


class TextBlock(ContentBlock, frozen=True, kw_only=True, tag="text"):
    """Text."""

    text: str = ""


class ThinkingBlock(ContentBlock, frozen=True, kw_only=True, tag="thinking"):
    """A thought."""

    thinking: str = ""


class RedactedThinkingBlock(ContentBlock, frozen=True, kw_only=True, tag="redacted_thinking"):
    """A thought that its vendor does not show."""


class ToolUseBlock(ContentBlock, frozen=True, kw_only=True, tag="tool_use"):
    """A call of a tool."""

    id: str
    name: str = "unknown"
    input: Any = None


class ToolResultBlock(ContentBlock, frozen=True, kw_only=True, tag="tool_result"):
    """What a tool gave back: a text, or what it is made of as JSON in one."""

    tool_use_id: str
    content: Any = None
    is_error: bool = False


KnownBlock = TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock | ToolResultBlock
AnyBlock = KnownBlock | UnknownJson


class Tokens(Struct, frozen=True, kw_only=True):
    """What an answer used. Any: a wrong count must not cost the message."""

    input_tokens: Any = None
    output_tokens: Any = None
    cache_creation_input_tokens: Any = None
    cache_read_input_tokens: Any = None


class Message(Struct, frozen=True, kw_only=True):
    """A message of any role."""

    content: str | tuple[Raw, ...] = ()
    stop_reason: str | None = None
    usage: Tokens | None = None


# --- Lines ---


class Line(Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of everything that Amp says."""

    session_id: str | None = None


class McpServer(Struct, frozen=True, kw_only=True):
    """An MCP server, and whether it can be used."""

    name: str = ""
    status: str = ""


class System(Line, frozen=True, kw_only=True, tag="system"):
    """What a process works with; `init` is the only kind."""

    subtype: str = ""
    mcp_servers: tuple[McpServer, ...] = ()
    tools: tuple[str, ...] = ()
    agent_mode: str | None = None


class User(Line, frozen=True, kw_only=True, tag="user"):
    """A person's message, repeated; or results of tools."""

    message: Message
    parent_tool_use_id: str | None = None


class Assistant(Line, frozen=True, kw_only=True, tag="assistant"):
    """An answer of the model, whole."""

    message: Message
    parent_tool_use_id: str | None = None


class Result(Line, frozen=True, kw_only=True, tag="result"):
    """The end of the process's work, once."""

    subtype: str = ""
    is_error: bool = False
    num_turns: int = 0
    """How many answers of the model there were."""
    error: str | None = None


KnownLine = System | User | Assistant | Result
AnyLine = KnownLine | UnknownJson | PlainText


# --- Decoding ---


class _Tag(Struct):
    type: str = ""


_line: msgspec.json.Decoder[KnownLine] = msgspec.json.Decoder(KnownLine)
_tag = msgspec.json.Decoder(_Tag)
_json = msgspec.json.Decoder()
_block: msgspec.json.Decoder[KnownBlock] = msgspec.json.Decoder(KnownBlock)
_TAGS = frozenset(str(each.__struct_config__.tag) for each in get_args(KnownLine))


def decode(message: bytes) -> AnyLine:
    """Decode a line. Raise only msgspec errors."""
    if not message.lstrip().startswith((b"{", b"[", b'"')):
        return PlainText(message.decode(errors="replace").strip())
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


def blocks_of(message: Message) -> tuple[AnyBlock, ...]:
    """The content of a message."""
    if isinstance(message.content, str):
        return (TextBlock(text=message.content),) if message.content else ()
    return tuple(map(decode_block, message.content))
