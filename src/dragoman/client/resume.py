"""Where a reader is in a session's log, and how it goes on after a cut. No IO."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from dragoman.client.events import decode_event
from dragoman.client.failures import Unreachable
from dragoman.errors import DragomanError
from dragoman.schema.events import Event


class Retry(Struct, frozen=True, kw_only=True):
    """How a cut stream is taken up again: each pause doubles, up to the longest."""

    first_s: float = 0.2
    longest_s: float = 5.0
    attempts: int = 8
    """So many in a row without an event; then the daemon counts as unreachable."""


class Position:
    """A reader's place in the log, kept across its connections."""

    def __init__(self, url: str, retry: Retry, after: int = 0) -> None:
        self.sequence = after
        self.connected = False
        """A daemon has answered at least once."""
        self.finished = False
        self.message_id: str | None = None
        """The message whose turn is read."""
        self.accepted: Callable[[str], None] | None = None
        """Hears its id, once."""
        self._url = url
        self._retry = retry
        self._cuts = 0

    def hear(self, message_id: str | None) -> None:
        """A daemon has accepted the message under this id; None: it did not say."""
        if message_id is None or self.message_id is not None:
            return
        self.message_id = message_id
        if self.accepted is not None:
            self.accepted(message_id)

    def take(self, frame: str, last: frozenset[str]) -> Event | None:
        """The event of a frame, unless it was seen; a type in `last` finishes the reading."""
        event = decode_event(frame)
        if event.sequence <= self.sequence:
            return None
        self.sequence = event.sequence
        self._cuts = 0
        self.finished = event.type in last
        return event

    def reach(self, cursor: int) -> None:
        """The stream of all sessions is so far; here a position is a cursor."""
        if cursor > self.sequence:
            self.sequence = cursor
            self._cuts = 0

    def cut(self, error: Exception | None) -> float:
        """The pause before the next attempt. Raise where there shall be none."""
        if not self.connected or self._cuts >= self._retry.attempts:
            if isinstance(error, DragomanError):
                raise error
            raise Unreachable(self._url, str(error or "the stream ended too early"))
        pause = self._retry.first_s * 2.0**self._cuts
        self._cuts += 1
        return min(pause, self._retry.longest_s)
