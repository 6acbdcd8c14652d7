"""The examples of this folder: what a client may read (`given`), and what we write (`wire`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from msgspec import Struct

from dragoman.schema.events import BODIES

FOLDER = Path(__file__).parent / "examples"


class Example(Struct, frozen=True):
    """One example and its name."""

    name: str
    given: Any
    wire: Any

    def __str__(self) -> str:
        return self.name


def read(stem: str) -> list[Example]:
    """Read the examples of one file."""
    pairs = json.loads((FOLDER / f"{stem}.json").read_text())
    return [Example(f"{stem}-{n}", pair["given"], pair["wire"]) for n, pair in enumerate(pairs, 1)]


def bodies() -> list[tuple[str, Example]]:
    """Every example of every event type."""
    return [(type, example) for type in BODIES for example in read(type)]


def envelope(type: str, data: Any) -> dict[str, Any]:
    """An event with this data, as it stands on the wire."""
    return {
        "event_id": "evt_1",
        "sequence": 1,
        "time": "2026-01-27T19:10:11.000001Z",
        "session_id": "sess_1",
        "native_session_id": None,
        "synthetic": False,
        "source": "agent",
        "type": type,
        "data": data,
        "raw": None,
    }
