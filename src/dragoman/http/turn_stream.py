"""Filters a stream down to one message's turn."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator

import msgspec
from msgspec import Raw, Struct

from dragoman.schema.events import (
    ItemStarted,
    QueueUpdated,
    SessionEnded,
    TurnEnded,
    TurnStarted,
)
from dragoman.store import Batch, LogEnd

_HELD = 64
"""So many events of a turn may come before its person's message."""


class _EventHead(Struct):
    type: str
    data: Raw


class _Item(Struct):
    message_id: str | None = None


class _ItemData(Struct):
    item: _Item


_seen = msgspec.json.Decoder(_EventHead)
_item = msgspec.json.Decoder(_ItemData)
_queue = msgspec.json.Decoder(QueueUpdated)


async def turn_of(
    message_id: str, batches: AsyncGenerator[Batch], held: LogEnd
) -> AsyncGenerator[Batch]:
    """The frames of one message's turn, and links among them; empty batches while it waits."""
    turn = _Turn(message_id)
    async with contextlib.aclosing(batches):
        async for batch in batches:
            frames = batch.frames.split(b"\n\n")[:-1]
            shown = b"".join(turn.take(frame + b"\n\n") for frame in frames)
            if shown or not any(map(_is_event, frames)):
                yield Batch(shown, batch.last)
            if turn.over:
                return
    if not turn.inside and held.end:
        # The session was deleted before all of it was read; of what was left out, nothing is ours.
        yield Batch(held.end, 0)


def _is_event(frame: bytes) -> bool:
    return not frame.startswith(b":")


class _Turn:
    """Watches for a message's turn. `take` gives what is to be shown of a frame."""

    def __init__(self, message_id: str) -> None:
        self.over = False
        self._message_id = message_id
        self._pending: list[bytes] = []
        self.inside = False
        self._is_shown = False
        """The last event was shown: a link that follows it is told too."""

    def take(self, frame: bytes) -> bytes:
        if not _is_event(frame):
            return frame if self._is_shown else b""
        shown = self._take_event(frame)
        self._is_shown = bool(shown)
        return shown

    def _take_event(self, frame: bytes) -> bytes:
        if self.over:
            return b""
        event = _seen.decode(frame[frame.index(b"data: ") + 6 :])
        self.over = event.type == SessionEnded.type
        if self.inside or self.over:
            self.over = self.over or event.type == TurnEnded.type
            return frame
        return self._look(event, frame)

    def _look(self, event: _EventHead, frame: bytes) -> bytes:
        if event.type == TurnStarted.type:
            self._pending = [frame]
        elif event.type == TurnEnded.type:
            self._pending = []
        elif event.type == QueueUpdated.type:
            self.over = _queue.decode(event.data).cancelled == self._message_id
        elif event.type == ItemStarted.type and self._is_ours(event):
            self.inside = True
            return b"".join(self._pending) + frame
        elif self._pending:
            # A turn of which much was said before our message is one that we were steered into.
            self._pending = [*self._pending, frame] if len(self._pending) < _HELD else []
        return b""

    def _is_ours(self, event: _EventHead) -> bool:
        message_id = _item.decode(event.data).item.message_id
        if message_id is not None and message_id != self._message_id:
            self._pending = []
        return message_id == self._message_id
