"""Decodes answers of the daemon, from any thread."""

from __future__ import annotations

import threading
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}
_lock = threading.Lock()


def decode(content: bytes, kind: type[T]) -> T:
    """What an answer holds. Raise only msgspec errors.

    msgspec learns a type when it is first used, and two threads that have it do so at the same time
    crash the process (0.22.0).
    """
    decoder = _decoders.get(kind)
    if decoder is None:
        with _lock:
            decoder = _decoders.setdefault(kind, msgspec.json.Decoder(kind))
    found: T = decoder.decode(content)
    return found
