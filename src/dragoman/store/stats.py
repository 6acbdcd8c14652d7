"""The state of the store for `GET /v1/status`."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import get_args

from dragoman.schema.http import SessionStatus
from dragoman.store.disk_usage import space
from dragoman.store.global_log import SqliteGlobalLog
from dragoman.store.protocol import StoreStats
from dragoman.store.writer import Writer


def stats(
    db: sqlite3.Connection, path: Path, writer: Writer, global_log: SqliteGlobalLog, readers: int
) -> StoreStats:
    """Look at the database and at those who work with it."""
    found = db.execute(
        "SELECT status, count(*), sum(event_count) FROM sessions WHERE NOT deleted GROUP BY status"
    ).fetchall()
    (queued,) = db.execute("SELECT count(*) FROM messages WHERE state = 'queued'").fetchone()
    room = space(db)
    log_bytes = 0
    with contextlib.suppress(OSError):  # it comes and goes
        log_bytes = path.with_name(f"{path.name}-wal").stat().st_size
    counts = {status: count for status, count, _ in found}
    return StoreStats(
        sessions={status: counts.get(status, 0) for status in get_args(SessionStatus)},
        events=sum(events for _, _, events in found),
        queued=queued,
        database_bytes=room.used_bytes + room.free_bytes,
        free_bytes=room.free_bytes,
        log_bytes=log_bytes,
        writing=writer.waiting,
        problem=writer.problem,
        readers=readers,
        position=global_log.position,
        all_readers=global_log.readers,
    )
