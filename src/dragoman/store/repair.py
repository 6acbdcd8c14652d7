"""A damaged database: set it aside, save what can be read, and go on."""

from __future__ import annotations

import logging
import sqlite3
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dragoman.store.schema import MIGRATIONS, connect, migrate

log = logging.getLogger(__name__)

CHECKED_AT_START_BYTES = 64 << 20
"""Larger files are checked by `dragoman doctor`, not at every start."""


def ensure_sound(path: Path) -> None:
    """Check a database before it is used; a damaged one is replaced by what can be saved."""
    if not path.exists():
        return
    problem = damage(path, thorough=path.stat().st_size <= CHECKED_AT_START_BYTES)
    if problem is None:
        return
    aside = path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
    log.error("the database is damaged (%s); it is kept as %s", problem, aside.name)
    rescued = path.with_name(f"{path.name}.rescued")
    rescued.unlink(missing_ok=True)
    count = rescue(path, rescued)
    for suffix in ("-wal", "-shm"):
        beside = path.with_name(path.name + suffix)
        if beside.exists():
            beside.replace(aside.with_name(aside.name + suffix))
    path.replace(aside)
    rescued.replace(path)
    log.error("%d events were saved from the damaged database", count)


def damage(path: Path, *, thorough: bool) -> str | None:
    """What is wrong with a database file, None if nothing is found."""
    try:
        db = sqlite3.connect(path)
        try:
            (version,) = db.execute("PRAGMA user_version").fetchone()
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if thorough:
                (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
                if verdict != "ok":
                    return str(verdict)
                if 0 < version <= len(MIGRATIONS):
                    return _changed_event(db)
        finally:
            db.close()
    except sqlite3.DatabaseError as error:
        # A lock or a full disk is not damage; the start itself will tell.
        return None if isinstance(error, sqlite3.OperationalError) else str(error)
    return None


def _changed_event(db: sqlite3.Connection) -> str | None:
    for session, sequence, crc, line in db.execute(
        "SELECT session, sequence, crc, line FROM events"
    ):
        if zlib.crc32(line) != crc:
            return f"event {sequence} of session {session} was changed"
    return None


def rescue(damaged: Path, target: Path) -> int:
    """Copy what can be read: each session with its events up to the first that is lost."""
    source = sqlite3.connect(damaged)
    db = connect(target, synchronous="normal")
    migrate(db, target)
    count = 0
    db.execute("BEGIN")
    for session in _readable(source, "sessions", "n"):
        last = _rescue_events(source, db, session["n"])
        count += last
        _insert(db, "sessions", {**session, "event_count": last, "unfinished": 1})
    for table, key in (("messages", "position"), ("requests", "request_id")):
        for row in _readable(source, table, key):
            _insert(db, table, row)
    db.execute("COMMIT")
    db.close()
    source.close()
    return count


def _rescue_events(source: sqlite3.Connection, db: sqlite3.Connection, session: int) -> int:
    last = 0
    try:
        found = source.execute(
            "SELECT * FROM events WHERE session = ? ORDER BY sequence", (session,)
        )
        names = [column[0] for column in found.description]
        for values in found:
            row = dict(zip(names, values, strict=True))
            if row["sequence"] != last + 1 or zlib.crc32(row["line"]) != row["crc"]:
                break
            last += 1
            _insert(db, "events", {k: v for k, v in row.items() if k != "id"})
    except sqlite3.DatabaseError as error:
        log.error("session %d is readable up to event %d: %s", session, last, error)
    return last


def _readable(source: sqlite3.Connection, table: str, key: str) -> Iterator[dict[str, Any]]:
    try:
        found = source.execute(f"SELECT * FROM {table} ORDER BY {key}")
        names = [column[0] for column in found.description]
        for values in found:
            yield dict(zip(names, values, strict=True))
    except sqlite3.DatabaseError as error:
        log.error("the rest of %s cannot be read: %s", table, error)


def _insert(db: sqlite3.Connection, table: str, row: dict[str, Any]) -> None:
    marks = ", ".join("?" * len(row))
    db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))
