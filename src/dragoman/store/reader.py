"""Reader threads: pages and stream batches, joined inside SQLite."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

import msgspec

from dragoman.schema.events import Body, decode_body
from dragoman.store.chain import ORIGIN, next_link
from dragoman.store.native_payload import whole, whole_size
from dragoman.store.protocol import Batch, Page
from dragoman.store.rows import link_at
from dragoman.store.schema import connect_reader

log = logging.getLogger(__name__)

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
_LINK = "(SELECT chain FROM events WHERE session = ?1 AND sequence = ?3)"
_RANGE = "session = ?1 AND sequence > ?2 AND sequence <= ?3"
_JOIN = """
    SELECT CAST(group_concat(shown, {between}) AS BLOB){also} FROM (
        SELECT {what} AS shown FROM (
            SELECT {columns} FROM events WHERE {rows} ORDER BY sequence
        ) e {more}
    )
"""
# Nothing that an agent said comes before the type in a line, and nothing before the item's id in
# the data of these two types. As text: SQLite's JSON functions would read each line to its end.
_TYPE = (
    """substr(line, instr(line, CAST(',"type":"' AS BLOB)) + 9, {size}) = CAST('{type}' AS BLOB)"""
)
_ITEM_AT = """instr(line, CAST('"item_id":"' AS BLOB)) + 11"""
_ITEM = f"substr(line, {_ITEM_AT}, instr(substr(line, {_ITEM_AT}, 128), CAST('\"' AS BLOB)))"
_COMPACT = """
    {range} AND NOT ({is_delta} AND {item} IN (
        SELECT {item} FROM events WHERE {range} AND {is_completed}
    ))
""".format(
    range=_RANGE,
    item=_ITEM,
    is_delta=_TYPE.format(size=11, type='item.delta"'),
    is_completed=_TYPE.format(size=15, type='item.completed"'),
)
# Each statement costs a wait for the interpreter's lock, so there is one for the usual case.
_WITHIN = """
    SELECT CASE WHEN (SELECT total FROM events WHERE session = ?1 AND sequence = ?3)
        - coalesce((SELECT total FROM events WHERE session = ?1 AND sequence = ?2), 0) <= ?4
    THEN ({join}) END, {link}
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
# One more row: to add it to what was joined would copy all of that.
_CHAIN = f"UNION ALL SELECT ': chain ' || ?3 || ' ' || lower(hex({_LINK})) || x'0a0a'"


class _Form:
    """How events are put together: the statements for it, with native messages and without."""

    def __init__(
        self, what: str, between: str, *, link: str, rows: str = _RANGE, more: str = ""
    ) -> None:
        join = partial(_JOIN.format, between=between, rows=rows, more=more)
        plain = partial(join, what=what.format(line=_LINE), columns="sequence, line")
        self._plain = plain(also=f", {link}")
        self._with_raw = join(what=what.format(line=LINE_WITH_RAW), columns="*", also=f", {link}")
        self._within = _WITHIN.format(join=plain(also=""), link=link)

    def read(
        self,
        db: sqlite3.Connection,
        session: int,
        after: int,
        wanted: int,
        max_bytes: int,
        raw: bool,
    ) -> tuple[bytes, int, bytes | None]:
        """Events up to the wanted one, as many as there is room for, at least the next.

        With the last one's sequence and, where it is not among the events, its link.
        """
        if wanted <= after:
            return b"", after, link_at(db, session, after)
        values = (session, after, wanted, max_bytes)
        if not raw:
            joined, link = db.execute(self._within, values).fetchone()
            if joined is not None:
                return joined, wanted, link
        (end,) = db.execute(_END_WITH_RAW if raw else _END, values).fetchone()
        end = after + 1 if end is None else end
        join = self._with_raw if raw else self._plain
        joined, link = db.execute(join, (session, after, end)).fetchone()
        return joined, end, link


_PAGE = _Form("{line}", "','", link=_LINK)
_COMPACT_PAGE = _Form("{line}", "','", link=_LINK, rows=_COMPACT)
_STREAM = _Form(_FRAME, "''", link="NULL", more=_CHAIN)


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
    compact: bool = False,
    max_bytes: int = MAX_PAGE_BYTES,
) -> Page:
    """Events after a sequence, joined by commas; as many as the limits allow, at least one.

    `compact` leaves out the deltas of items that are completed on this page, so never its last
    event: who reads on from there misses nothing.
    """
    wanted = min(after + limit, committed)
    form = _COMPACT_PAGE if compact else _PAGE
    events, end, link = form.read(db, session, after, wanted, max_bytes, raw)
    return Page(events, end, end < committed, link)


def _border(after: int) -> int:
    # Batches end at the same places for all readers, so that they can share them.
    return (after // BATCH_EVENTS + 1) * BATCH_EVENTS


def is_full(after: int, committed: int) -> bool:
    """The batch after a sequence will never be longer than it is now."""
    return _border(after) <= committed


def batch(db: sqlite3.Connection, session: int, after: int, committed: int, raw: bool) -> Batch:
    """The next events after a sequence, as SSE frames, and the last one's link."""
    wanted = min(_border(after), committed)
    frames, end, _ = _STREAM.read(db, session, after, wanted, MAX_BATCH_BYTES, raw)
    return Batch(frames, end)


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


def search(db: sqlite3.Connection, session: int, text: str, after: int, until: int) -> list[Body]:
    """The bodies of the events of a range in whose line a text stands, in order."""
    lines = db.execute(
        "SELECT line FROM events WHERE session = ? AND sequence > ? AND sequence <= ? "
        "AND instr(line, ?) ORDER BY sequence",
        (session, after, until, text.encode()),
    )
    found = (_type_and_data.decode(line) for (line,) in lines)
    return [decode_body(each.type, bytes(each.data)) for each in found]


Located = tuple[int, int, bool, int, str, bytes]
"""A session's number, events, whether it has ended, size of its lines, agent, and last link."""


def locate(db: sqlite3.Connection, session_id: str) -> Located | None:
    """Where a session's log ends; its last link is checked, and what is wrong is logged."""
    found = db.execute(
        "SELECT n, event_count, status = 'ended', total, agent, chain, line, "
        "(SELECT chain FROM events WHERE session = n AND sequence = event_count - 1) "
        "FROM sessions LEFT JOIN events ON session = n AND sequence = event_count "
        "WHERE session_id = ? AND NOT deleted",
        (session_id,),
    ).fetchone()
    if found is None:
        return None
    number, last, ended, total, agent, chain, line, previous = found
    if last and next_link(previous or ORIGIN, line or b"") != chain:
        log.error(
            "the hash chain of session %s is broken at its last event, %d: the database may be "
            "damaged; see `dragoman doctor`", session_id, last,
        )  # fmt: skip
    return number, last, bool(ended), total or 0, agent, chain or ORIGIN
