"""Reads the events of all sessions in the order of their commits."""

from __future__ import annotations

import sqlite3
from typing import Any

from dragoman.store.protocol import Batch, EventFilter
from dragoman.store.reader import (
    BATCH_EVENTS,
    LINE_WITH_RAW,
    MAX_BATCH_BYTES,
    SIZE_WITH_RAW,
)

TYPE_KEY = b'"type":"'
"""The first one in a line is the envelope's: in front of it are only strings, and escaped ones."""

_LOOK = f"""
    SELECT count(*), max(id) FROM (
        SELECT id FROM events WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT {BATCH_EVENTS}
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
    count, end = db.execute(_LOOK, (after, committed)).fetchone()
    if count < BATCH_EVENTS:
        end = committed
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
