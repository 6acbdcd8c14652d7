"""Lenient JSON decoding: BOMs, lone surrogates, deep nesting."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct

T = TypeVar("T")

_BOM = b"\xef\xbb\xbf"

# Every escape is matched, so that an escaped backslash before a `u` is not taken for one.
_ESCAPE = re.compile(
    rb"\\(?:"
    rb"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb"|.)",
    re.DOTALL,
)


MAX_DEPTH = 200
"""Nested deeper, it is not decoded: who reads it next may stand deeper in a stack than we do."""
_NO_STRUCTURE = bytes(set(range(256)) - set(b'[]{}"'))
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
"""One level down, or up; as signed bytes."""


class Unknown(Struct, frozen=True):
    """A block that could not be decoded, and why."""

    raw: bytes
    error: str


def decode(message: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    """Decode a message; a BOM or a lone surrogate does not cost it. Raise only msgspec errors."""
    try:
        return _decode(message, decoder)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        repaired = _ESCAPE.sub(_paired, message.removeprefix(_BOM))
        if repaired == message:
            raise
    return _decode(repaired, decoder)


def is_deep(message: bytes) -> bool:
    """Whether JSON is nested too deeply, for us and for others."""
    if len(message) <= 2 * MAX_DEPTH or not _has_many_brackets(message):
        return False
    no_escapes = message.replace(rb"\\", b"").replace(rb"\"", b"")
    outside_texts = no_escapes.translate(None, _NO_STRUCTURE).split(b'"')[::2]
    steps = b"".join(outside_texts).translate(_STEPS)
    return max(accumulate(memoryview(steps).cast("b")), default=0) > MAX_DEPTH


def _has_many_brackets(message: bytes) -> bool:
    """Whether enough are opened, also in texts. Looking for each is faster than counting all."""
    left = MAX_DEPTH
    for bracket in (b"[", b"{"):
        at = message.find(bracket)
        while at >= 0:
            if not left:
                return True
            left -= 1
            at = message.find(bracket, at + 1)
    return False


def blocks(raws: Iterable[Raw], decoder: msgspec.json.Decoder[T]) -> Iterator[T | Unknown]:
    """Decode each block by itself: an unknown one costs only itself."""
    for raw in raws:
        block = bytes(raw)
        try:
            yield decode(block, decoder)
        except msgspec.DecodeError as error:
            yield Unknown(block, str(error))


def _decode(message: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    if is_deep(message):
        raise msgspec.DecodeError("nested too deeply")
    try:
        return decoder.decode(message)
    except RecursionError:  # of one who stands deep in a stack
        raise msgspec.DecodeError("nested too deeply") from None
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(f"invalid UTF-8: {error.reason}") from None


def _paired(escape: re.Match[bytes]) -> bytes:
    # An emoji sliced in half leaves one of its two escapes behind.
    return b"\\ufffd" if escape[1] else escape[0]
