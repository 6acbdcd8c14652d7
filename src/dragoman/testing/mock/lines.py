"""Building blocks of the mock agent's scripts.

A script is a generator of acts. It yields a message to say it, bytes to write them as they are,
a Pause to wait, and an Ask to say something and be given the answer.
"""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Generator, Iterator
from typing import Any, Literal, NamedTuple

Message = dict[str, Any]
Ending = Literal["completed", "failed", "goodbye"]


class Pause(NamedTuple):
    """Wait for so long, for ever if None; an interrupt is heard, also in a pause of 0."""

    seconds: float | None


class Ask(NamedTuple):
    """Say it, and wait for the answer that names its id."""

    message: Message


Act = Message | bytes | Pause | Ask
Script = Generator[Act, Any, Ending | None]
"""Ends with how its turn ended; None: completed."""

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFklEQVR4nGM4YaPxYYsGg0bFCZsFUQAoaAWXIwe4"
    "9wAAAABJRU5ErkJggg=="
)
"""Two by two pixels."""

_numbers = itertools.count(1)


def fresh(prefix: str) -> str:
    """Name something; no two names of a process are the same."""
    return f"{prefix}{next(_numbers)}"


def encode(message: Message) -> bytes:
    """Write a message as a line, without what is None in it."""
    given = {name: value for name, value in message.items() if value is not None}
    text = json.dumps(given, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def pieces(text: str, size: int = 24) -> Iterator[str]:
    """Cut a text as a model would stream it: in small pieces, but never in very many."""
    size = max(size, len(text) // 64 + 1)
    return (text[start : start + size] for start in range(0, len(text), size))


def image() -> Message:
    """Give a block with a picture."""
    return {"kind": "image", "mime": "image/png", "data": base64.b64encode(PNG).decode()}


def file(path: str, action: str, diff: str | None = None) -> Message:
    """Give a block that names a file."""
    return {"kind": "file", "path": path, "action": action, "diff": diff}


def item(kind: str, **fields: Any) -> Message:
    """Give an item that is complete at once."""
    return {"type": "item", "id": fresh("i"), "item": {"kind": kind, **fields}}


def say(text: str, *blocks: Message, id: str | None = None, subagent: str | None = None) -> Script:
    """Say a text, and show the blocks after it."""
    id = id or fresh("m")
    yield {"type": "message_start", "id": id, "subagent": subagent}
    for piece in pieces(text):
        yield {"type": "text_delta", "id": id, "text": piece}
    content = [{"kind": "text", "text": text}, *blocks]
    yield {"type": "message_end", "id": id, "blocks": content, "stop_reason": "end_turn"}
    return None


def think(text: str, visibility: str = "public", message: str | None = None) -> Script:
    """Think aloud."""
    id = fresh("r")
    yield {"type": "reasoning_start", "id": id, "message": message, "visibility": visibility}
    for piece in pieces(text):
        yield {"type": "reasoning_delta", "id": id, "text": piece}
    yield {"type": "reasoning_end", "id": id}
    return None


def call(id: str, name: str, arguments: Message, **about: Any) -> Script:
    """Call a tool, its arguments streamed."""
    yield {"type": "tool_start", "id": id, "name": name, **about}
    for piece in pieces(json.dumps(arguments), size=12):
        yield {"type": "arguments_delta", "id": id, "text": piece}
    yield {"type": "tool_ready", "id": id}
    return None


def result(id: str, output: str, *blocks: Message, **about: Any) -> Script:
    """Give what a tool gave back, streamed line by line."""
    for line in output.splitlines(keepends=True):
        yield {"type": "tool_output", "id": id, "text": line}
    yield {"type": "tool_end", "id": id, "output": output, "blocks": blocks, **about}
    return None
