"""Native messages that leave no event because their adapter lists them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from dragoman.facts import IgnoredMessage
from dragoman.wire import decode as wire

_any = msgspec.json.Decoder()
_ABSENT = object()


def is_ignored(listed: Iterable[IgnoredMessage], message: bytes) -> bool:
    """Whether such messages are listed."""
    try:
        value = wire.decode(message, _any)
    except msgspec.DecodeError:
        return False
    return any(_matches(ignored, value) for ignored in listed)


def _matches(ignored: IgnoredMessage, value: Any) -> bool:
    return all(_is(_at(value, path), wanted) for path, wanted in ignored.where.items())


def _at(value: Any, path: str) -> Any:
    for step in path.split("."):
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return _ABSENT
    return value


def _is(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, str) and wanted.endswith("*"):
        return isinstance(found, str) and found.startswith(wanted[:-1])
    # To Python, True is 1.
    return found is not _ABSENT and type(found) is type(wanted) and bool(found == wanted)
