"""Finds which key of an object is wrong, since msgspec names only the object."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from dragoman.wire.decode import decode

STEP = re.compile(r"\w+|\[.*?\]")
"""One step of a path in an error of msgspec; `[...]` is some key of an object."""
MAX_KEYS = 1000
"""An object with more is not searched: others wait meanwhile."""
_SHOWN = 100

_anything = msgspec.json.Decoder(Any)


def keyed(path: str, content: bytes, wanted: type[Struct], message: str) -> str:
    """The same path with its keys; where one cannot be found, the path to its object."""
    try:
        given = here = decode(content, _anything)
    except msgspec.DecodeError:
        return path.partition("[...]")[0]

    def fails() -> bool:
        try:
            msgspec.convert(given, wanted)
        except msgspec.ValidationError as error:
            return str(error) == message
        return False

    told = ""
    for step in STEP.findall(path):
        name: Any = step
        if step == "[...]":
            name = _wrong_key(here, fails) if isinstance(here, dict) else None
            if name is None:
                break
        elif step.startswith("["):
            name = int(step[1:-1])
        told += step if isinstance(name, int) else f".{name[:_SHOWN]}"
        here = _below(here, name)
    return told.lstrip(".")


def _wrong_key(here: dict[str, Any], fails: Callable[[], bool]) -> str | None:
    """The key without which nothing would be wrong; only that one is left there."""
    entries = list(here.items())
    if len(entries) > MAX_KEYS:
        return None
    while len(entries) > 1:
        middle = len(entries) // 2
        _fill(here, entries[:middle])
        entries = entries[:middle] if fails() else entries[middle:]
    _fill(here, entries)
    return entries[0][0] if entries and fails() else None


def _fill(here: dict[str, Any], entries: list[tuple[str, Any]]) -> None:
    here.clear()
    here.update(entries)


def _below(here: Any, name: str | int) -> Any:
    match here, name:
        case dict(), str():
            return here.get(name)
        case list(), int() if name < len(here):
            return here[name]
        case _:
            return None
