"""Checkpoints the write-ahead log in a thread of its own.

SQLite would do it inside a commit, and that commit would wait for the disk: a tenth of a second
in which nobody sees anything.
"""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

from msgspec import Struct

PATIENCE_MS = 50
"""So long the log's readers are waited for, and the writer with them."""


class Pace(Struct, frozen=True, kw_only=True):
    """How often the log is moved on, and how large it may become."""

    every_s: float = 1.0
    most_pages: int = 4096
    """A log that is larger, 64 MiB, begins anew at once. By itself it does so only when nobody
    writes for a moment."""
    quiet_s: float = 5.0
    """When nothing was written for so long, the log's room is given back."""


class Checkpointer:
    """A thread with a connection of its own; idle while nothing is written."""

    def __init__(self, path: Path, pace: Pace | None = None) -> None:
        self._path = path
        self._pace = pace or Pace()
        self._stopped = threading.Event()
        self._written = threading.Event()
        self._is_large = False
        self._thread = threading.Thread(target=self._run, name="dragoman-checkpoint", daemon=True)
        self._thread.start()

    def written(self, db: sqlite3.Connection) -> None:
        """Something was committed, by this connection, in whose thread this is."""
        if self._is_large:
            self._is_large = False
            # Almost all of it was moved just now, so this is short. From another thread it would
            # have to catch the writer at rest.
            _try_to_move(db, "RESTART")
        self._written.set()

    def close(self) -> None:
        """Stop, and let go of the database."""
        self._stopped.set()
        self._written.set()
        self._thread.join()

    def _run(self) -> None:
        db = sqlite3.connect(self._path, isolation_level=None)
        db.execute("SELECT count(*) FROM sqlite_master")  # its files are open from now on
        is_empty = True
        while not self._stopped.is_set():
            if not self._written.wait(None if is_empty else self._pace.quiet_s):
                _try_to_move(db, "TRUNCATE")
                is_empty = True
            elif not self._stopped.wait(self._pace.every_s):
                self._written.clear()
                is_empty = False
                self._is_large = _try_to_move(db, "PASSIVE") > self._pace.most_pages
        db.close()


def move(db: sqlite3.Connection, mode: str, patience_ms: int = PATIENCE_MS) -> int:
    """Move the log on; how many pages it has. Raise sqlite3.Error where the disk is full."""
    (usual_ms,) = db.execute("PRAGMA busy_timeout").fetchone()
    try:
        db.execute(f"PRAGMA busy_timeout = {patience_ms}")
        _, pages, _ = db.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
    finally:
        db.execute(f"PRAGMA busy_timeout = {usual_ms}")
    return int(pages)


def _try_to_move(db: sqlite3.Connection, mode: str) -> int:
    """A full disk is the writer's to tell: later."""
    try:
        return move(db, mode)
    except sqlite3.Error:
        return 0
