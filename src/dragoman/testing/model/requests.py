"""Records each request to the model, and reads facts from it."""

from __future__ import annotations

import gzip
import importlib
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from dragoman.testing.model.steps import When
from dragoman.wire.decode import decode

Outcome = Literal["answered", "dropped", "abandoned"]
REMINDER = "<system-reminder>"
"""What an agent adds to a message so begins; the user did not say it."""
_ANY: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


class Unreadable(ValueError):
    """A body that cannot be decoded."""


@dataclass(eq=False)
class ModelRequest:
    """One request.

    `is_main`: it offers tools, and so takes a step of the script. `step`: the number of that step,
    None if there was none. `outcome`: how it ended, once it has: answered, dropped by us, or
    abandoned by the client. Names of headers are in lower case.
    """

    method: str
    path: str
    headers: dict[str, str]
    body: Any = None
    is_main: bool = False
    step: int | None = None
    outcome: Outcome | None = None
    query: str = ""

    @property
    def model(self) -> str:
        """The name of the model that is asked for."""
        return str(self._get("model") or "scripted")

    @property
    def text(self) -> str:
        """The last message of the user; results of tools are none."""
        said = [text for role, text in _messages(self.body) if role == "user" and text]
        return said[-1] if said else ""

    @property
    def is_subagent(self) -> bool:
        """Whether a subagent asks, by the headers that agents mark such requests with."""
        marks = ("-agent-id", "-subagent", "-parent-session-id")
        return any(name.endswith(marks) for name in self.headers)

    @property
    def streams(self) -> bool:
        """Whether the answer is to be streamed."""
        return bool(self._get("stream"))

    @property
    def wants_usage(self) -> bool:
        """Whether a stream is to tell its usage, where the client must ask for it."""
        options = self._get("stream_options")
        return isinstance(options, dict) and bool(options.get("include_usage"))

    def fits(self, when: When) -> bool:
        """Whether a step is for this request."""
        return (
            (when.contains is None or when.contains in self.text)
            and (when.subagent is None or when.subagent == self.is_subagent)
            and (when.model is None or when.model in self.model)
            and all(self._has(name.lower(), value) for name, value in when.header.items())
        )

    def _has(self, name: str, value: str) -> bool:
        return name in self.headers and value in self.headers[name]

    def _get(self, key: str) -> Any:
        return self.body.get(key) if isinstance(self.body, dict) else None


def carries_tools(body: Any) -> bool:
    """Whether a body offers tools: such requests are an agent's own work, others are asides."""
    if not isinstance(body, dict):
        return False
    items = body.get("input")
    return bool(body.get("tools")) or any(
        isinstance(item, dict) and item.get("type") == "additional_tools"
        for item in (items if isinstance(items, list) else ())
    )


def is_side(request: ModelRequest, marks: Iterable[str]) -> bool:
    """Whether a request is not for the script: it offers no tools, or has one of these marks.

    A mark is the name of a tool that only side requests offer, or the beginning of a message.
    """
    if not carries_tools(request.body):
        return True
    names = set(_tool_names(request.body))
    return any(mark in names or request.text.startswith(mark) for mark in marks)


def _tool_names(body: Any) -> Iterator[str]:
    tools = body.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        inner = tool.get("function") if isinstance(tool, dict) else None
        for place in (tool, inner):
            if isinstance(place, dict) and isinstance(name := place.get("name"), str):
                yield name


def decoded(content: bytes, encoding: str) -> Any:
    """The JSON of a body; raise Unreadable."""
    try:
        return decode(_plain(content, encoding.strip().lower()), _ANY) if content else None
    except (OSError, EOFError, zlib.error, msgspec.DecodeError) as error:
        raise Unreadable(f"the body cannot be decoded: {error}") from None


def _plain(content: bytes, encoding: str) -> bytes:
    match encoding:
        case "" | "identity":
            return content
        case "gzip":
            return gzip.decompress(content)
        case "deflate":
            return zlib.decompress(content)
        case "zstd":
            return _zstd(content)
        case _:
            raise Unreadable(f"the encoding {encoding!r} is not known")


def _zstd(content: bytes) -> bytes:
    try:
        zstandard: Any = importlib.import_module("zstandard")
    except ModuleNotFoundError:
        raise Unreadable("the body is compressed with zstd: pip install zstandard") from None
    try:
        plain: bytes = zstandard.ZstdDecompressor().decompressobj().decompress(content)
    except zstandard.ZstdError as error:
        raise Unreadable(f"the body cannot be decoded: {error}") from None
    return plain


def _messages(body: Any) -> Iterator[tuple[str, str]]:
    """Role and text of each message, in any of the APIs."""
    given = body.get("messages") or body.get("input") if isinstance(body, dict) else None
    if isinstance(given, str):
        yield "user", given
    for message in given if isinstance(given, list) else ():
        if isinstance(message, dict) and "role" in message:
            yield str(message["role"]), "\n".join(_texts(message.get("content")))


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else ():
        text = part.get("text") if isinstance(part, dict) else None
        if isinstance(text, str) and not text.lstrip().startswith(REMINDER):
            yield text
