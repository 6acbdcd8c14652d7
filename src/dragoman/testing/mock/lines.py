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
    """Say it, and wait for the answer that names its key."""

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
    """Give a part with a picture."""
    return {"type": "blob", "mime": "image/png", "data": base64.b64encode(PNG).decode()}


def file(path: str, action: str, diff: str | None = None) -> Message:
    """Give a part that names a file."""
    return {"type": "file_ref", "path": path, "action": action, "diff": diff}


def label(name: str, detail: str | None = None) -> Message:
    """Give a part that says what goes on."""
    return {"type": "status", "label": name, "detail": detail}


def start(id: str, kind: str, *content: Message, **about: Any) -> Message:
    """Open an item of this shape."""
    item = {"type": "start_item", "key": id, "kind": kind, "role": "assistant", "native_id": id}
    return {**item, "content": content, **about}


def start_message(id: str, **about: Any) -> Message:
    """Open a message."""
    return start(id, "message", {"type": "text", "text": ""}, **about)


def delta(id: str, text: str, content_type: str | None = None) -> Message:
    """Give the next piece of an item."""
    return {"type": "delta", "key": id, "text": text, "content_type": content_type}


def complete(id: str, *content: Message, **about: Any) -> Message:
    """Close an item; without content it is what was streamed."""
    return {"type": "complete_item", "key": id, "content": content or None, **about}


def item(kind: str, *content: Message, role: str = "system") -> Script:
    """Give an item that is complete at once."""
    id = fresh("i")
    yield start(id, kind, *content, role=role)
    yield complete(id, *content)
    return None


def say(text: str, *parts: Message, id: str | None = None, **about: Any) -> Script:
    """Say a text, and show the parts after it."""
    id = id or fresh("m")
    yield start_message(id, **about)
    for piece in pieces(text):
        yield delta(id, piece)
    content = [{"type": "text", "text": text}, *parts]
    yield complete(id, *content, fields={"stop_reason": "end_turn"})
    return None


def think(text: str, visibility: str = "public", message: str | None = None) -> Script:
    """Think aloud."""
    id = fresh("r")
    thought = {"type": "reasoning", "text": "", "visibility": visibility}
    yield start(id, "message", thought, parent=message)
    for piece in pieces(text):
        yield delta(id, piece, "reasoning")
    yield complete(id)
    return None


def call(
    id: str,
    name: str,
    arguments: Message,
    *,
    message: str | None = None,
    subagent: str | None = None,
    **fields: Any,
) -> Script:
    """Call a tool, its arguments streamed."""
    part = {"type": "tool_call", "name": name, "arguments": "", "call_id": id}
    yield start(id, "tool_call", part, parent=message, fields=fields, subagent=subagent)
    for piece in pieces(json.dumps(arguments), size=12):
        yield delta(id, piece, "arguments")
    yield complete(id)
    return None


def result(
    id: str,
    output: str,
    *parts: Message,
    message: str | None = None,
    subagent: str | None = None,
    failed: bool = False,
    **fields: Any,
) -> Script:
    """Give what a tool gave back, streamed line by line: an item beside the call with this id."""
    key, part = f"{id}:result", {"type": "tool_result", "call_id": id, "output": ""}
    about = {"role": "tool", "native_id": None, "parent": message, "subagent": subagent}
    yield start(key, "tool_result", part, **about)
    for line in output.splitlines(keepends=True):
        yield delta(key, line, "output")
    status = "failed" if failed else "completed"
    yield complete(key, {**part, "output": output}, *parts, status=status, fields=fields)
    return None
