"""Reads the events of all sessions in the order of their commits."""

from __future__ import annotations

import sqlite3
from typing import Any

from dragoman.store.protocol import Batch, EventCount, EventFilter, LogEvent
from dragoman.store.reader import (
    BATCH_EVENTS,
    LINE_WITH_RAW,
    MAX_BATCH_BYTES,
    SIZE_WITH_RAW,
)

TYPE_KEY = b'"type":"'
"""The first one in a line is the envelope's: in front of it are only strings, and escaped ones."""

FEW_EVENTS, MANY_EVENTS = 64, 10_000
"""Who looks for one event looks at a few first: mostly it is among them."""

_LOOK = """
    SELECT count(*), max(id) FROM (
        SELECT id FROM events WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3
    )
"""
# The order of a cross join stands: along the events, with a look at the session of each.
_CHOSEN = """
    FROM events e CROSS JOIN sessions s ON s.n = e.session
    WHERE e.id > ?1 AND e.id <= ?2 AND NOT s.deleted {condition} ORDER BY e.id
"""
_FIT = """
    SELECT count(*), min(id), max(id), max(CASE WHEN size <= {room} THEN id END) FROM (
        SELECT id, sum(size) OVER (ORDER BY id) AS size FROM (SELECT e.id, {size} AS size {chosen})
    )
"""
_JOIN = """
    SELECT CAST(group_concat('id: ' || id || x'0a' || 'data: ' || shown || x'0a0a', '') AS BLOB)
    FROM (SELECT e.id, {line} AS shown {chosen})
"""


def batch(
    db: sqlite3.Connection, after: int, committed: int, which: EventFilter, raw: bool
) -> Batch:
    """The next chosen events after a position, as SSE frames; no frames: none so far.

    It looks at so many events only, whether they are chosen or not.
    """
    end = _end(db, after, committed, BATCH_EVENTS)
    condition, values = _condition(which)
    chosen = _CHOSEN.format(condition=condition)
    size = SIZE_WITH_RAW if raw else "length(line)"
    fit = _FIT.format(room=MAX_BATCH_BYTES, size=size, chosen=chosen)
    found, first, last, fits = db.execute(fit, (after, end, *values)).fetchone()
    if not found:
        return Batch(b"", end)
    if fits != last:
        end = fits or first
    join = _JOIN.format(line=LINE_WITH_RAW if raw else "line", chosen=chosen)
    return Batch(db.execute(join, (after, end, *values)).fetchone()[0], end)


def next_event(db: sqlite3.Connection, after: int, committed: int, which: EventFilter) -> LogEvent:
    """The next chosen event after a position; without a line, there is none up to there."""
    condition, values = _condition(which)
    first = f"SELECT e.id, e.line {_CHOSEN.format(condition=condition)} LIMIT 1"
    end = after
    for most in (FEW_EVENTS, MANY_EVENTS):
        begin, end = end, _end(db, end, committed, most)
        found = db.execute(first, (begin, end, *values)).fetchone()
        if found is not None:
            return LogEvent(*found)
        if end >= committed:
            break
    return LogEvent(end, b"")


def count_events(
    db: sqlite3.Connection, after: int, committed: int, which: EventFilter
) -> EventCount:
    """How many of the next events after a position are chosen."""
    end = _end(db, after, committed, MANY_EVENTS)
    condition, values = _condition(which)
    count = f"SELECT count(*) FROM (SELECT 1 {_CHOSEN.format(condition=condition)})"
    (found,) = db.execute(count, (after, end, *values)).fetchone()
    return EventCount(found, end < committed)


def _end(db: sqlite3.Connection, after: int, committed: int, most: int) -> int:
    """Where so many events after a position end; all of them, where there are not so many."""
    count, end = db.execute(_LOOK, (after, committed, most)).fetchone()
    return committed if count < most else int(end)


def _condition(which: EventFilter) -> tuple[str, list[Any]]:
    """SQL for a filter, with its values from the third on."""
    conditions, values = [], list[Any]()

    def marks(given: list[str]) -> str:
        values.extend(given)
        first = 3 + len(values) - len(given)
        return ", ".join(f"?{first + number}" for number in range(len(given)))

    if which.agents:
        conditions.append(f"AND s.agent IN ({marks(sorted(which.agents))})")
    if which.session_ids:
        conditions.append(f"AND s.session_id IN ({marks(sorted(which.session_ids))})")
    if which.types:
        rest = f"substr(e.line, instr(e.line, x'{TYPE_KEY.hex()}') + {len(TYPE_KEY)}, 64)"
        name = f"CAST(substr({rest}, 1, instr({rest}, x'22') - 1) AS TEXT)"
        conditions.append(f"AND {name} IN ({marks(sorted(which.types))})")
    return " ".join(conditions), values
