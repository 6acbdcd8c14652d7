"""What Parakeet says: one JSON object a line."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from dragoman.wire import decode as wire


class Ready(Struct, tag="ready"):
    """It is up."""


class Start(Struct, tag="start"):
    """It begins to answer."""


class Word(Struct, tag="word"):
    """A piece of the answer."""

    text: str


class Done(Struct, tag="done"):
    """The answer is over."""

    stopped: bool = False
    error: str | None = None


_decoder = msgspec.json.Decoder(Ready | Start | Word | Done)


def decode(message: bytes) -> Ready | Start | Word | Done:
    """Read a line. Raise only msgspec errors."""
    return wire.decode(message, _decoder)
