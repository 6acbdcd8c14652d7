"""What Codex answers to our requests."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct

from dragoman.agents.codex import native
from dragoman.wire.decode import decode
from dragoman.wire.jsonrpc import Overdue, Reply, Result, RpcError

T = TypeVar("T")
_LOST = ("no rollout found", "invalid thread id")


class _Item(Struct, frozen=True, kw_only=True, rename="camel"):
    client_id: str | None = None


class Entry(Struct, frozen=True, kw_only=True, rename="camel"):
    """An item of a thread, and its turn."""

    turn_id: str
    item: _Item


class Turn(Struct, frozen=True, kw_only=True):
    """A turn of a thread, and how it began."""

    id: str
    items: tuple[_Item, ...] = ()


class _Page(Struct, frozen=True, kw_only=True):
    data: tuple[Raw, ...] = ()


class Opened(Struct, frozen=True, kw_only=True, rename="camel"):
    """A thread, and how it works."""

    thread: native.Thread
    model: str | None = None
    reasoning_effort: str | None = None


class Resumed(Opened, frozen=True, kw_only=True):
    """A thread that was there before, with the last of its turns."""

    initial_turns_page: Raw = Raw()

    @property
    def known(self) -> dict[str, str] | None:
        """The turn of our message that began the last one; None: the thread is new."""
        page = bytes(self.initial_turns_page)
        if page in (b"", b"null"):
            return None
        return {item.client_id: turn.id for turn in _entries(page, Turn) for item in turn.items
                if item.client_id is not None}  # fmt: skip


class Begun(Struct, frozen=True, kw_only=True):
    """A turn that begins."""

    turn: native.Turn


_opened = msgspec.json.Decoder(Resumed)
_begun = msgspec.json.Decoder(Begun)


def opened(reply: Result) -> Resumed:
    """The thread; one that is new has no turns. Raise only msgspec errors."""
    return decode(reply.result, _opened)


def listed(reply: Reply) -> dict[str, str]:
    """The turns of those of our messages that are among the items."""
    page = reply.result if isinstance(reply, Result) else b""
    return {each.item.client_id: each.turn_id for each in _entries(page, Entry)
            if each.item.client_id is not None}  # fmt: skip


def _entries(page: bytes, kind: type[T]) -> Iterator[T]:
    """What we understand of a page: a message must not wait because Codex says more, or less."""
    with contextlib.suppress(msgspec.DecodeError):
        for entry in msgspec.json.decode(page, type=_Page).data:
            with contextlib.suppress(msgspec.DecodeError):
                yield msgspec.json.decode(entry, type=kind)


def turn_of(reply: Result) -> str | None:
    """The turn that a request began; None: it does not say."""
    try:
        return decode(reply.result, _begun).turn.id
    except msgspec.ValidationError:
        return None


def why(reply: Reply) -> str:
    """Why there is no result."""
    match reply:
        case RpcError(message=message):
            return message
        case Overdue():
            return "Codex did not answer in time"
        case _:
            return ""


def is_lost(reply: Reply) -> bool:
    """Codex does not know the thread."""
    return isinstance(reply, RpcError) and any(words in reply.message for words in _LOST)
