"""The native message as `raw` of an event: one line of JSON."""

from __future__ import annotations

from binascii import b2a_base64

import msgspec

from dragoman.wire.decode import is_deep

_json = msgspec.json.Decoder(msgspec.Raw)


def as_json(message: bytes) -> bytes:
    """Give one line of JSON: the message itself where it is one, else its bytes in base64."""
    if is_one_line(message):
        return message
    return b'{"encoding":"base64","data":"%b"}' % b2a_base64(message, newline=False)


def is_one_line(message: bytes) -> bool:
    """Whether it is one line of JSON that every decoder reads.

    A lone surrogate escape counts as not JSON, and so does what is nested too deeply: strict
    decoders, ours too, refuse it.
    """
    if b"\n" in message or b"\r" in message or is_deep(message):
        return False
    try:
        _json.decode(message)
        return message.isascii() or bool(message.decode())
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return False
