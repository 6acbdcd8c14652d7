"""Where a reader is in a session's log, and how it goes on after a cut. No IO."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

from msgspec import Struct

from dragoman.client.events import decode_event, without_raw
from dragoman.client.failures import BadAnswer, Unreachable
from dragoman.errors import DragomanError
from dragoman.schema.events import Event

ORIGIN = "00" * 16
"""The link before the first event."""


class Retry(Struct, frozen=True, kw_only=True):
    """How a cut stream is taken up again: each pause doubles, up to the longest."""

    first_s: float = 0.2
    longest_s: float = 5.0
    attempts: int = 8
    """So many in a row without an event; then the daemon counts as unreachable."""


class Position:
    """A reader's place in the log, kept across its connections.

    With the place goes the link of the event there, a hash over the log up to it: the daemon can
    tell by it whether its log is still the one that was read.
    """

    def __init__(
        self, url: str, retry: Retry, after: int = 0, after_chain: str | None = None
    ) -> None:
        self.sequence = after
        self.chain = after_chain
        """The link; None: nobody has told it yet."""
        self.on_link: Callable[[int, str], None] | None = None
        """Hears the sequence and the link of each event, before the event is given."""
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

    def take(self, line: bytes, last: frozenset[str]) -> Event | None:
        """The event of a line, unless it was seen; a type in `last` finishes the reading."""
        event = decode_event(line)
        if event.sequence <= self.sequence:
            return None
        is_next, self.sequence = event.sequence == self.sequence + 1, event.sequence
        self._link(_next_link(self.chain, line) if self.chain and is_next else None)
        self._cuts = 0
        self.finished = event.type in last
        return event

    def take_link(self, sequence: int, link: str) -> None:
        """The daemon tells the link of an event. Raise BadAnswer where it is not what was read."""
        if sequence != self.sequence:
            return
        if self.chain is None:
            self._link(link)
        elif self.chain != link:
            raise BadAnswer(
                f"event {sequence} came with the link {link}, but what was read up to it has "
                f"{self.chain}; something between here and the daemon changes events"
            )

    def _link(self, link: str | None) -> None:
        self.chain = link
        if link is not None and self.on_link is not None:
            self.on_link(self.sequence, link)

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


def _next_link(previous: str, line: bytes) -> str:
    """The link of an event: BLAKE2b-128 over the one before it and the line without raw."""
    return blake2b(bytes.fromhex(previous) + without_raw(line), digest_size=16).hexdigest()
