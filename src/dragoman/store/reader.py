"""Threads that read. SQLite joins the rows itself, so a page costs the loop one bytes object."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

import msgspec

from dragoman.schema.events import Body, decode_body
from dragoman.store.base import Batch, Page
from dragoman.store.raws import whole, whole_size
from dragoman.store.schema import connect_reader

T = TypeVar("T")
MAX_PAGE_BYTES = 8 << 20
MAX_BATCH_BYTES = 1 << 20
BATCH_EVENTS = 1024
"""How much is read at once."""

_FAILURES = (sqlite3.Error, msgspec.MsgspecError, ValueError, ArithmeticError, RecursionError)
"""What costs whoever asked the answer, and never us the thread."""

_LINE = "line"
_OTHER = "FROM events o WHERE o.session = e.session AND o.sequence = e.raw_at"
# An event is stored with `"raw":null}` at its end; the native message goes between.
LINE_WITH_RAW = (
    f"substr(line, 1, length(line) - 5) || "
    f"coalesce({whole('e')}, (SELECT {whole('o')} {_OTHER}), 'null') || '}}'"
)
_JOIN = """
    SELECT CAST(group_concat({what}, {between}) AS BLOB) FROM (
        SELECT {columns} FROM events WHERE session = ?1 AND sequence > ?2 AND sequence <= ?3
        ORDER BY sequence
    ) e
"""
# Each statement costs a wait for the interpreter's lock, so there is one for the usual case.
_WITHIN = """
    SELECT CASE WHEN (SELECT total FROM events WHERE session = ?1 AND sequence = ?3)
        - coalesce((SELECT total FROM events WHERE session = ?1 AND sequence = ?2), 0) <= ?4
    THEN ({join}) END
"""
_END = """
    SELECT max(sequence) FROM events
    WHERE session = ?1 AND sequence > ?2 AND sequence <= ?3 AND total <= ?4
        + coalesce((SELECT total FROM events WHERE session = ?1 AND sequence = ?2), 0)
"""
SIZE_WITH_RAW = (
    f"length(line) + coalesce({whole_size('e')}, (SELECT {whole_size('o')} {_OTHER}), 0)"
)
_END_WITH_RAW = f"""
    SELECT max(sequence) FROM (
        SELECT sequence, sum({SIZE_WITH_RAW}) OVER (ORDER BY sequence) AS size
        FROM events e WHERE session = ?1 AND sequence > ?2 AND sequence <= ?3
    ) WHERE size <= ?4
"""
_FRAME = "'id: ' || sequence || x'0a' || 'data: ' || {line} || x'0a0a'"


class _Form:
    """How events are put together: the statements for it, with native messages and without."""

    def __init__(self, what: str, between: str) -> None:
        self._plain = _JOIN.format(
            what=what.format(line=_LINE), between=between, columns="sequence, line"
        )
        self._with_raw = _JOIN.format(
            what=what.format(line=LINE_WITH_RAW), between=between, columns="*"
        )
        self._within = _WITHIN.format(join=self._plain)

    def read(
        self,
        db: sqlite3.Connection,
        session: int,
        after: int,
        wanted: int,
        max_bytes: int,
        raw: bool,
    ) -> tuple[bytes, int]:
        """Events up to the wanted one, as many as there is room for, at least the next."""
        if wanted <= after:
            return b"", after
        values = (session, after, wanted, max_bytes)
        if not raw:
            (joined,) = db.execute(self._within, values).fetchone()
            if joined is not None:
                return joined, wanted
        (end,) = db.execute(_END_WITH_RAW if raw else _END, values).fetchone()
        end = after + 1 if end is None else end
        join = self._with_raw if raw else self._plain
        return db.execute(join, (session, after, end)).fetchone()[0], end


_PAGE = _Form("{line}", "','")
_STREAM = _Form(_FRAME, "''")


class Readers:
    """A few threads with a connection each."""

    def __init__(self, path: Path, loop: asyncio.AbstractEventLoop, count: int = 2) -> None:
        self._loop = loop
        self._jobs: SimpleQueue[Any] = SimpleQueue()
        self._threads = [
            threading.Thread(
                target=self._run, args=(path,), name=f"dragoman-reader-{n}", daemon=True
            )
            for n in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def run(self, work: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        """Read something off the loop."""
        future: asyncio.Future[T] = self._loop.create_future()
        self._jobs.put((work, future))
        return future

    async def close(self) -> None:
        """Let go of the database."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            await asyncio.to_thread(thread.join)

    def _run(self, path: Path) -> None:
        db = connect_reader(path)
        while (job := self._jobs.get()) is not None:
            work, future = job
            try:
                result, error = work(db), None
            except _FAILURES as failed:
                result, error = None, failed
            self._loop.call_soon_threadsafe(_settle, future, result, error)
        db.close()


def _settle(future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if future.cancelled():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


def page(
    db: sqlite3.Connection,
    session: int,
    after: int,
    limit: int,
    committed: int,
    raw: bool,
    max_bytes: int = MAX_PAGE_BYTES,
) -> Page:
    """Events after a sequence, joined by commas; as many as the limits allow, at least one."""
    events, end = _PAGE.read(db, session, after, min(after + limit, committed), max_bytes, raw)
    return Page(events, end, end < committed)


def _border(after: int) -> int:
    # Batches end at the same places for all readers, so that they can share them.
    return (after // BATCH_EVENTS + 1) * BATCH_EVENTS


def is_full(after: int, committed: int) -> bool:
    """The batch after a sequence will never be longer than it is now."""
    return _border(after) <= committed


def batch(db: sqlite3.Connection, session: int, after: int, committed: int, raw: bool) -> Batch:
    """The next events after a sequence, as SSE frames."""
    wanted = min(_border(after), committed)
    return Batch(*_STREAM.read(db, session, after, wanted, MAX_BATCH_BYTES, raw))


class _TypeAndData(msgspec.Struct):
    type: str
    data: msgspec.Raw


_type_and_data = msgspec.json.Decoder(_TypeAndData)


def bodies(db: sqlite3.Connection, session: int, after: int) -> list[Body]:
    """The bodies of all events after a sequence, in order."""
    lines = db.execute(
        "SELECT line FROM events WHERE session = ? AND sequence > ? ORDER BY sequence",
        (session, after),
    )
    found = (_type_and_data.decode(line) for (line,) in lines)
    return [decode_body(each.type, bytes(each.data)) for each in found]


def locate(db: sqlite3.Connection, session_id: str) -> tuple[int, int, bool, int, str] | None:
    """A session's number, events, whether it has ended, the size of its lines, and its agent."""
    found = db.execute(
        "SELECT n, event_count, status = 'ended', coalesce((SELECT total FROM events e "
        "WHERE e.session = n AND e.sequence = event_count), 0), agent FROM sessions "
        "WHERE session_id = ? AND NOT deleted",
        (session_id,),
    ).fetchone()
    return None if found is None else (found[0], found[1], bool(found[2]), *found[3:])
