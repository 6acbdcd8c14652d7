"""Moves what is committed from the write-ahead log into the database, beside the writer.

SQLite would do it inside a commit, and that commit would wait for the disk: a tenth of a second
in which nobody sees anything.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from pathlib import Path

EVERY_S = 1.0


class Checkpointer:
    """A thread with a connection of its own; idle while nothing is written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stopped = threading.Event()
        self._written = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dragoman-checkpoint", daemon=True)
        self._thread.start()

    def written(self) -> None:
        """Something was committed."""
        self._written.set()

    def close(self) -> None:
        """Stop, and let go of the database."""
        self._stopped.set()
        self._written.set()
        self._thread.join()

    def _run(self) -> None:
        db = sqlite3.connect(self._path, isolation_level=None)
        db.execute("SELECT count(*) FROM sqlite_master")  # its files are open from now on
        while self._written.wait() and not self._stopped.wait(EVERY_S):
            self._written.clear()
            # A full disk is the writer's to tell; here it only means: later.
            with contextlib.suppress(sqlite3.Error):
                db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        db.close()
