"""Keeps disk space in reserve: bounds the log, and lets deletes use the reserve.

A log that has filled the disk could never be moved into the database, which has no room to grow
then. So where there is little room the log is kept small, and what grows the database is bounded by
what there is; see `docs/guarantees.md`, "When the disk is full".
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import sqlite3
import time
from pathlib import Path

from dragoman.store.checkpoint import move
from dragoman.store.schema import PAGE_SIZE

log = logging.getLogger(__name__)

RESERVE = "reserve"
RESERVE_BYTES = 2 << 20
"""Kept in a file of its own, because others write to the same disk."""
LEAST_BYTES = 1 << 20
"""With less, only deletes are written."""
AMPLE_BYTES = 256 << 20
"""With more, a look now and then is enough."""
TIGHT_LOG_BYTES = 1 << 20
"""With less than that, a log of this size is moved on; the reserve has room for all of it."""
LOOK_S = 1.0
BRIEFLY_MS, PATIENCE_MS, URGENT_MS = 50, 500, 5000
"""So long the log's readers are waited for: while there is room, where there is none, and where
somebody wants to make some."""
RECLAIM_S = 0.5
"""Where that was in vain, it is not tried again before."""
MAX_PAGES = 0xFFFFFFFE


class Room:
    """Belongs to the writer's thread; the others may read `is_tight`."""

    def __init__(self, database: Path) -> None:
        self._folder = database.parent
        self._database = database
        self._log = database.with_name(f"{database.name}-wal")
        self._reserve = database.with_name(RESERVE)
        self.is_tight = True
        """Each write is looked at, and what is removed is removed in small steps."""
        self._looked_at = self._reclaim_at = -math.inf
        self._is_bounded = False

    def refusal(self, db: sqlite3.Connection, *, urgent: bool) -> str | None:
        """Why nothing can be written now; None: it can, and cannot outgrow the disk."""
        if not self.is_tight and time.monotonic() - self._looked_at < LOOK_S:
            return None
        try:
            free = self._look(db)
            if free < LEAST_BYTES and (urgent or self._is_reclaim_due()):
                self.reclaim(db, URGENT_MS if urgent else PATIENCE_MS)
                free = self._look(db)
            if urgent and free < LEAST_BYTES:
                free += self._missing() + self._release()
            if free < LEAST_BYTES:
                return self._sentence(free)
            self._bound(db, free if urgent else free - LEAST_BYTES)
        except (OSError, sqlite3.Error) as error:
            return f"the store of {self._folder} cannot be looked at: {error}"
        return None

    def settle(self, db: sqlite3.Connection) -> None:
        """After a write: move the log on before it takes what it needs to be moved."""
        is_large = self.is_tight and _size_of(self._log) >= TIGHT_LOG_BYTES
        if is_large and self._is_reclaim_due():
            self.reclaim(db, BRIEFLY_MS)

    def reclaim(self, db: sqlite3.Connection, patience_ms: int = PATIENCE_MS) -> None:
        """Give back what the log takes; after a write that failed, that may be all there was."""
        if not _size_of(self._log):
            return
        try:
            move(db, "TRUNCATE", patience_ms)
        except sqlite3.Error:
            with contextlib.suppress(sqlite3.Error, OSError):  # then it takes what others free
                self._release()
                move(db, "TRUNCATE", patience_ms)
        # Where somebody reads it, the log stays: to try again and again would hold up the writer.
        is_there = _size_of(self._log)
        self._reclaim_at = time.monotonic() + RECLAIM_S if is_there else -math.inf

    def _is_reclaim_due(self) -> bool:
        return time.monotonic() >= self._reclaim_at

    def _look(self, db: sqlite3.Connection) -> int:
        """How much may be used by what is no delete."""
        self._looked_at = time.monotonic()
        found = os.statvfs(self._folder)
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        to_move = max(0, int(pages) * PAGE_SIZE - _size_of(self._database))
        free = found.f_bavail * found.f_frsize - to_move
        self.is_tight = free < AMPLE_BYTES
        missing = self._missing()
        if missing and free - missing >= LEAST_BYTES:
            self._keep()
        return free - missing

    def _sentence(self, free: int) -> str:
        return (
            f"the disk of {self._folder} is full: {max(0, free) >> 10} KiB are left beside the "
            f"reserve, and {LEAST_BYTES >> 10} are needed; delete sessions, or free some space"
        )

    def _bound(self, db: sqlite3.Connection, free: int) -> None:
        """Let the database grow by half of this: a new page is in the log before it is there."""
        if self.is_tight:
            (pages,) = db.execute("PRAGMA page_count").fetchone()
            db.execute(f"PRAGMA max_page_count = {pages + free // 2 // PAGE_SIZE}")
        elif self._is_bounded:
            db.execute(f"PRAGMA max_page_count = {MAX_PAGES}")
        self._is_bounded = self.is_tight

    # --- The reserve ---

    def _keep(self) -> None:
        """Keep the reserve. Where that cannot be, it is only left free."""
        try:
            with self._reserve.open("wb") as file:
                os.fchmod(file.fileno(), 0o600)
                os.posix_fallocate(file.fileno(), 0, RESERVE_BYTES)
        except OSError:
            with contextlib.suppress(OSError):
                self._reserve.unlink()  # a part of it would only be missing elsewhere

    def _missing(self) -> int:
        return max(0, RESERVE_BYTES - _size_of(self._reserve))

    def _release(self) -> int:
        """Let go of the reserve; how much that gives. It is kept again when there is room."""
        size = _size_of(self._reserve)
        if size:
            self._reserve.unlink()
            log.warning("the disk of %s is full; the reserve is used", self._folder)
        return size


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
