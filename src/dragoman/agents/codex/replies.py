"""What Codex answers to our requests."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from dragoman.agents.codex import native
from dragoman.wire.jsonrpc import Answered, Overdue, Refused, Reply

_LOST = ("no rollout found", "invalid thread id")


class Opened(Struct, frozen=True, kw_only=True, rename="camel"):
    """A thread, and how it works."""

    thread: native.Thread
    model: str | None = None
    reasoning_effort: str | None = None


class Begun(Struct, frozen=True, kw_only=True):
    """A turn that begins."""

    turn: native.Turn


_opened = msgspec.json.Decoder(Opened)
_begun = msgspec.json.Decoder(Begun)


def opened(reply: Answered) -> Opened:
    """The thread. Raise only msgspec errors."""
    return _opened.decode(reply.result)


def turn_of(reply: Answered) -> str | None:
    """The turn that a request began; None: it does not say."""
    try:
        return _begun.decode(reply.result).turn.id
    except msgspec.ValidationError:
        return None


def why(reply: Reply) -> str:
    """Why there is no result."""
    match reply:
        case Refused(message=message):
            return message
        case Overdue():
            return "Codex did not answer in time"
        case _:
            return ""


def is_lost(reply: Reply) -> bool:
    """Codex does not know the thread."""
    return isinstance(reply, Refused) and any(words in reply.message for words in _LOST)
