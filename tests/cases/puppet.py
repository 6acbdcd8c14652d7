"""Pulls the strings of `puppet_agent.py`."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

from tests.testing.story import Event

AGENT = Path(__file__).with_name("puppet_agent.py")
COMMAND = f"{sys.executable} {AGENT}"
ENV = {"DRAGOMAN_MOCK_COMMAND": COMMAND}
Act = list[Any]
PAUSE: Act = ["pause"]


def line(type: str, **fields: Any) -> bytes:
    """A line of the mock agent's dialect."""
    return json.dumps({"type": type, **fields}).encode() + b"\n"


def start(key: str, kind: str, part: Any, **about: Any) -> bytes:
    """The line that opens an item of one part."""
    item = {"key": key, "kind": kind, "role": "assistant", "native_id": key, "content": [part]}
    return line("start_item", **item, **about)


def call(key: str, **fields: Any) -> bytes:
    """The line that opens a call of a tool."""
    part = {"type": "tool_call", "name": "bash", "arguments": "", "call_id": key}
    return start(key, "tool_call", part, fields=fields)


def delta(text: str, key: str = "m1", content_type: str = "text") -> bytes:
    """The line with the next piece of an item."""
    return line("delta", key=key, text=text, content_type=content_type)


def complete(key: str, **about: Any) -> bytes:
    """The line that closes an item."""
    return line("complete_item", key=key, **about)


BEGIN = line("begin_turn", metadata={"native_turn_id": "t1"})
END = line("end_turn", outcome="completed")
MESSAGE = start("m1", "message", {"type": "text", "text": ""})
DONE = complete("m1")


def write(*pieces: bytes) -> list[Act]:
    """Write the pieces, each by itself."""
    written: list[Act] = []
    for piece in pieces:
        written += [["write", base64.b64encode(piece).decode()], PAUSE]
    return written[:-1]


def prompt(*acts: Act) -> str:
    """The prompt that makes the puppet do this."""
    return json.dumps(acts)


def saying(*lines: bytes) -> str:
    """A whole turn, with these lines inside a message."""
    return prompt(*write(BEGIN + MESSAGE + b"".join(lines) + DONE + END))


def bytes_of(event: Event) -> bytes:
    """The native message that stands under raw in base64."""
    raw = event["raw"]
    assert raw.keys() == {"encoding", "data"}
    assert raw["encoding"] == "base64"
    return base64.b64decode(raw["data"])


def unparsed(events: list[Event]) -> list[Event]:
    return [event for event in events if event["type"] == "agent.unparsed"]


def dying(words: str) -> dict[str, str]:
    """The environment in which the puppet only has these last words."""
    return {"PUPPET_DIES": base64.b64encode(words.encode()).decode()}
