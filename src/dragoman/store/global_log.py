"""The log over all sessions: each event's position in the order of commits.

A position is the number of an event's row. It only grows: where the newest event is deleted, its
row stays, empty. Where a database was put back from a backup, or a part of it was lost, readers may
have seen more than there is; so a start goes on at the time of day.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator
from functools import partial

from dragoman.errors import Unavailable
from dragoman.store.chain import ORIGIN
from dragoman.store.global_reader import TYPE_KEY, batch, count_events, next_event
from dragoman.store.ids import now_ms
from dragoman.store.live_tail import Sink, Tail
from dragoman.store.protocol import Batch, EventCount, EventFilter, LogEvent
from dragoman.store.reader import MAX_BATCH_BYTES, Readers
from dragoman.store.rows import insert_events, link_at
from dragoman.store.stamp import EventRow
from dragoman.wire.sse import frame, mark

POSITIONS_A_MS = 1 << 10
"""More than can be written."""
MAX_POSITION = 1 << 53
"""Reached in two hundred years; up to it, every number is exact in JavaScript too."""
EVERYTHING = EventFilter()


def next_position(db: sqlite3.Connection) -> int:
    """Where the first event of a start goes: beyond what any reader can have seen."""
    (newest,) = db.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()
    return int(max(newest, now_ms() * POSITIONS_A_MS)) + 1


class LogEntry:
    """Events of one session that are written together."""

    __slots__ = ("agent", "first", "link", "notable", "rows", "session_id")

    def __init__(
        self, session_id: str, agent: str, rows: list[EventRow], *, notable: bool = True
    ) -> None:
        self.session_id = session_id
        self.agent = agent
        self.rows = rows
        self.notable = notable
        """They are more than pieces of a text."""
        self.first = 0
        """Where the first of them stands, once they are written."""
        self.link = ORIGIN
        """The last one's, once they are written."""


class _EntryFrames(Batch, frozen=True):
    """An entry as frames."""

    session_id: str
    agent: str


class SqliteGlobalLog:
    """Gives events their place among all, and lets readers follow. See `base.SqliteGlobalLog`."""

    def __init__(self, db: sqlite3.Connection, readers: Readers) -> None:
        self._last_position = next_position(db) - 1
        """Belongs to the writer's thread."""
        self._tail = Tail(self._last_position)
        self._notable_position = self._last_position
        """Up to here there may be more than pieces of texts."""
        self._readers = readers
        self._closing = False

    @property
    def position(self) -> int:
        """Where the newest event stands."""
        return self._tail.committed

    @property
    def readers(self) -> int:
        """How many follow."""
        return self._tail.readers

    def write(self, db: sqlite3.Connection, entry: LogEntry) -> None:
        """Insert events behind all others. What is not committed leaves a gap, which is fine."""
        if not entry.rows:
            return
        entry.first = self._last_position + 1
        self._last_position += len(entry.rows)
        session, sequence = entry.rows[0][:2]
        previous = link_at(db, session, sequence - 1) or ORIGIN
        entry.link = insert_events(db, entry.rows, entry.first, previous)

    def publish(self, entry: LogEntry) -> None:
        """These events are committed."""
        if not entry.rows:
            return
        frames = b""
        if self._tail.readers:
            frames = b"".join(
                frame(position, row[4]) for position, row in enumerate(entry.rows, entry.first)
            )
        last = entry.first + len(entry.rows) - 1
        if entry.notable:
            self._notable_position = last
        self._tail.add(_EntryFrames(frames, last, entry.session_id, entry.agent))

    def forget(self) -> None:
        """A session was deleted: nobody shall find it in memory."""
        self._tail.forget()

    def notify(self) -> None:
        """Wake all readers."""
        self._tail.notify()

    def close(self) -> None:
        """Let go of every reader that has seen all there is."""
        self._closing = True
        self._tail.notify()

    async def follow(
        self,
        after: int,
        which: EventFilter = EVERYTHING,
        *,
        raw: bool = False,
        sink: Sink | None = None,
    ) -> AsyncGenerator[Batch]:
        """Everything after a position, then whatever comes, of all sessions or the chosen ones."""
        tail, chooses = self._tail, which != EVERYTHING
        tail.readers += 1
        try:
            # A reader that is cut before its first event has a place to resume from.
            yield Batch(mark(after), after)
            while True:
                if after < tail.committed:
                    found = await self._next(after, which, raw)
                    after = found.last
                    if found.frames:
                        yield found
                elif self._closing:
                    return
                else:
                    after = await tail.wait(after, None if raw or chooses else sink).woken()
                    if after >= tail.committed:
                        yield Batch(mark(after), after)
        finally:
            tail.readers -= 1

    async def next_event(self, after: int, which: EventFilter = EVERYTHING) -> LogEvent:
        """The next chosen event after a position; without a line, there is none up to there.

        It looks at so many events only. Raise Unavailable where the store cannot be read.
        """
        read = partial(next_event, after=after, committed=self._tail.committed, which=which)
        try:
            return await self._readers.run(read)
        except sqlite3.Error as error:
            raise Unavailable(f"the store cannot be read: {error}") from None

    async def count_events(self, after: int, which: EventFilter = EVERYTHING) -> EventCount:
        """How many chosen events follow a position, among the next ones only."""
        read = partial(count_events, after=after, committed=self._tail.committed, which=which)
        return await self._readers.run(read)

    async def wait_after(self, after: int, *, deltas: bool) -> None:
        """Wait until there are events after a position; without `deltas`, other than those."""
        while after >= (self._tail.committed if deltas else self._notable_position):
            await self._tail.wait(after, None).woken()

    async def _next(self, after: int, which: EventFilter, raw: bool) -> Batch:
        """What follows a position: from memory if it is there, else from the store."""
        found = None
        if not raw:
            found = self._tail.after(after) if which == EVERYTHING else self._matching(after, which)
        if found is None:
            committed = self._tail.committed
            read = partial(batch, after=after, committed=committed, which=which, raw=raw)
            found = await self._readers.run(read)
            found = Batch(found.frames or mark(found.last), found.last)
        return found

    def _matching(self, after: int, which: EventFilter) -> Batch | None:
        parts: list[bytes] = []
        size, last = 0, after
        for piece in self._tail.each_after(after):
            assert isinstance(piece, _EntryFrames)
            frames = _chosen_of(piece, which)
            size += len(frames)
            if parts and size > MAX_BATCH_BYTES:
                break
            parts.append(frames)
            last = piece.last
        return Batch(b"".join(parts), last) if parts else None


def _chosen_of(piece: _EntryFrames, which: EventFilter) -> bytes:
    if which.agents and piece.agent not in which.agents:
        return b""
    if which.session_ids and piece.session_id not in which.session_ids:
        return b""
    if not which.types:
        return piece.frames
    wanted = tuple(TYPE_KEY + each.encode() + b'"' for each in which.types)
    frames = (each + b"\n\n" for each in piece.frames.split(b"\n\n")[:-1])
    return b"".join(each for each in frames if each.startswith(wanted, each.index(TYPE_KEY)))
