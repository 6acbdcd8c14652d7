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

from dragoman.store.base import Batch, Page
from dragoman.store.raws import whole, whole_size
from dragoman.store.schema import connect_reader

T = TypeVar("T")
MAX_PAGE_BYTES = 8 << 20
MAX_BATCH_BYTES = 512 << 10
BATCH_EVENTS = 2000

_LINE = "line"
_OTHER = "FROM events o WHERE o.session = e.session AND o.sequence = e.raw_at"
# An event is stored with `"raw":null}` at its end; the native message goes between.
_LINE_WITH_RAW = (
    f"substr(line, 1, length(line) - 5) || "
    f"coalesce({whole('e')}, (SELECT {whole('o')} {_OTHER}), 'null') || '}}'"
)
_SIZE = "length(line)"
_SIZE_WITH_RAW = (
    f"length(line) + coalesce({whole_size('e')}, (SELECT {whole_size('o')} {_OTHER}), 0)"
)
_END = """
    SELECT max(sequence), count(*) FROM (
        SELECT sequence, {size} AS size, sum({size}) OVER (ORDER BY sequence) AS total
        FROM events e WHERE session = ? AND sequence > ? ORDER BY sequence LIMIT ?
    ) WHERE total <= ? OR total = size
"""
_JOIN = """
    SELECT CAST(group_concat({what}, {between}) AS BLOB) FROM (
        SELECT * FROM events WHERE session = ? AND sequence > ? AND sequence <= ?
        ORDER BY sequence
    ) e
"""


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
            except (sqlite3.Error, msgspec.MsgspecError, ValueError) as failed:
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


def page(db: sqlite3.Connection, session: int, after: int, limit: int, raw: bool) -> Page:
    """Events after a sequence, joined by commas; as many as the limits allow, at least one."""
    end, _ = _end(db, session, after, limit, MAX_PAGE_BYTES, raw)
    if end is None:
        return Page(b"", after, False)
    what = _LINE_WITH_RAW if raw else _LINE
    sql = _JOIN.format(what=what, between="','")
    (events,) = db.execute(sql, (session, after, end)).fetchone()
    more = db.execute(
        "SELECT 1 FROM events WHERE session = ? AND sequence > ? LIMIT 1", (session, end)
    ).fetchone()
    return Page(events, end, more is not None)


def batch(db: sqlite3.Connection, session: int, after: int, raw: bool) -> Batch:
    """The next events after a sequence, as SSE frames."""
    end, _ = _end(db, session, after, BATCH_EVENTS, MAX_BATCH_BYTES, raw)
    if end is None:
        return Batch(b"", after)
    line = _LINE_WITH_RAW if raw else _LINE
    what = f"'id: ' || sequence || x'0a' || 'data: ' || {line} || x'0a0a'"
    sql = _JOIN.format(what=what, between="''")
    (frames,) = db.execute(sql, (session, after, end)).fetchone()
    return Batch(frames, end)


def _end(
    db: sqlite3.Connection, session: int, after: int, limit: int, max_bytes: int, raw: bool
) -> tuple[int | None, int]:
    sql = _END.format(size=_SIZE_WITH_RAW if raw else _SIZE)
    found: tuple[int | None, int] = db.execute(sql, (session, after, limit, max_bytes)).fetchone()
    return found
