"""Tables and migrations."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

from dragoman.errors import StartRefused
from dragoman.store.chain import ORIGIN, next_link

log = logging.getLogger(__name__)

PAGE_SIZE = 16384
LOG_BYTES = 64 << 20
"""What is kept of the write-ahead log's file when it begins anew."""
AUTOCHECKPOINT_PAGES = 65536
"""Where the writer itself moves the log on: what `checkpoint.py` does not keep up with."""

Migration = str | Callable[[sqlite3.Connection], None]
"""Statements, or what they cannot do. Runs inside a transaction."""


def _add_chain(db: sqlite3.Connection) -> None:
    """Give each event its link, as it would have been given when it was written."""
    db.execute("ALTER TABLE events ADD COLUMN chain BLOB")
    (count,) = db.execute("SELECT count(*) FROM events").fetchone()
    if count:
        log.warning("computing the hash chain of %d events, once", count)
    session, previous = 0, ORIGIN
    # One event after another, however large they are. Neither the order nor the rows that are
    # still to come change by what is written.
    for number, event, line in db.execute(
        "SELECT session, id, line FROM events ORDER BY session, sequence"
    ):
        if number != session:
            session, previous = number, ORIGIN
        previous = next_link(previous, line)
        db.execute("UPDATE events SET chain = ? WHERE id = ?", (previous, event))


CHAINED = 3
"""Since this version each event has its link in the hash chain."""
WEBHOOKS = 4
"""Since this version there are webhooks."""
MIGRATIONS: tuple[Migration, ...] = (
    """
    CREATE TABLE sessions (
        n INTEGER PRIMARY KEY,
        session_id TEXT NOT NULL UNIQUE,
        agent TEXT NOT NULL,
        spec BLOB NOT NULL,
        directory TEXT NOT NULL,
        state BLOB NOT NULL,
        status TEXT NOT NULL,
        title TEXT,
        event_count INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        unfinished INTEGER NOT NULL DEFAULT 0,
        deleted INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX sessions_unfinished ON sessions (unfinished) WHERE unfinished;
    CREATE INDEX sessions_to_purge ON sessions (n) WHERE deleted = 1;
    CREATE TABLE events (
        id INTEGER PRIMARY KEY,
        session INTEGER NOT NULL,
        sequence INTEGER NOT NULL,
        crc INTEGER NOT NULL,
        total INTEGER NOT NULL,
        raw_at INTEGER,
        line BLOB NOT NULL,
        raw BLOB,
        raw_cut INTEGER,
        raw_from INTEGER,
        raw_size INTEGER
    );
    CREATE UNIQUE INDEX events_order ON events (session, sequence);
    CREATE TABLE messages (
        position INTEGER PRIMARY KEY,
        message_id TEXT NOT NULL UNIQUE,
        session INTEGER NOT NULL,
        state TEXT NOT NULL,
        key TEXT,
        digest BLOB NOT NULL,
        body BLOB NOT NULL
    );
    CREATE UNIQUE INDEX messages_key ON messages (session, key) WHERE key IS NOT NULL;
    CREATE INDEX messages_queued ON messages (session, position) WHERE state = 'queued';
    CREATE TABLE requests (
        request_id TEXT PRIMARY KEY,
        session INTEGER NOT NULL,
        type TEXT NOT NULL,
        body BLOB NOT NULL
    );
    CREATE INDEX requests_session ON requests (session);
    """,
    """
    CREATE TABLE processes (
        mark TEXT NOT NULL,
        pid INTEGER NOT NULL,
        started INTEGER NOT NULL,
        boot TEXT NOT NULL,
        PRIMARY KEY (pid, started, boot)
    );
    CREATE INDEX processes_mark ON processes (mark);
    """,
    _add_chain,
    """
    CREATE TABLE webhooks (
        n INTEGER PRIMARY KEY,
        webhook_id TEXT NOT NULL UNIQUE,
        url TEXT NOT NULL,
        types TEXT NOT NULL,
        secret TEXT NOT NULL,
        enabled INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        position INTEGER NOT NULL,
        last_delivery_at INTEGER,
        failing_since INTEGER,
        attempts INTEGER NOT NULL,
        last_error TEXT
    )
    """,
)


def connect(path: Path, *, synchronous: str) -> sqlite3.Connection:
    """Open the database for writing, as fast as it stays safe."""
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256)
    db.execute(f"PRAGMA page_size = {PAGE_SIZE}")
    (pages,) = db.execute("PRAGMA page_count").fetchone()
    if not pages:  # to a file that is there it would be a write for nothing
        db.execute("PRAGMA auto_vacuum = INCREMENTAL")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute(f"PRAGMA synchronous = {synchronous}")
    db.execute(f"PRAGMA wal_autocheckpoint = {AUTOCHECKPOINT_PAGES}")
    db.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
    db.execute("PRAGMA foreign_keys = ON")
    return db


def connect_reader(path: Path) -> sqlite3.Connection:
    """Open the database for reading only."""
    db = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
    )
    db.execute("PRAGMA query_only = ON")
    # Only the first read opens the log, by its name: who removes a file later finds it open.
    db.execute("SELECT 1 FROM sqlite_master").fetchone()
    return db


def migrate(
    db: sqlite3.Connection, path: Path, migrations: tuple[Migration, ...] = MIGRATIONS
) -> None:
    """Bring the tables up to date, all or nothing; a newer database is refused, never touched."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > len(migrations):
        raise StartRefused(
            f"{path} was written by a newer Dragoman (its version is {version}, this one knows "
            f"{len(migrations)}); upgrade Dragoman, or choose another folder with --data-dir"
        )
    if version == len(migrations):
        return
    if version:
        backup(db, path.with_name(f"{path.name}.before-{version + 1}"))
    db.execute("BEGIN IMMEDIATE")
    try:
        for migration in migrations[version:]:
            _run(db, migration)
        db.execute(f"PRAGMA user_version = {len(migrations)}")
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def _run(db: sqlite3.Connection, migration: Migration) -> None:
    if callable(migration):
        return migration(db)
    for statement in migration.split(";"):  # a script would commit what was done so far
        db.execute(statement)
    return None


def foreign_objects(db: sqlite3.Connection) -> list[str]:
    """What a database holds that no migration up to its version makes, by name.

    Ours in other words counts too: a table may come with expressions that run when it is used.
    """
    (version,) = db.execute("PRAGMA user_version").fetchone()
    with contextlib.closing(sqlite3.connect(":memory:")) as ours:
        for migration in MIGRATIONS[:version]:
            _run(ours, migration)
        made = _objects(ours)
    return sorted({name for _, name, _, _ in _objects(db) ^ made})


def _objects(db: sqlite3.Connection) -> set[tuple[str, str, str, str]]:
    found = db.execute("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master")
    return {(kind, name, table, " ".join(sql.split())) for kind, name, table, sql in found}


def backup(db: sqlite3.Connection, target: Path) -> None:
    """Copy the whole database, consistently."""
    partial = target.with_name(f"{target.name}.partial")
    partial.unlink(missing_ok=True)
    copy = sqlite3.connect(partial)
    try:
        db.backup(copy)
    finally:
        copy.close()
    partial.chmod(0o600)
    with partial.open("rb") as file:
        os.fsync(file.fileno())
    partial.replace(target)
