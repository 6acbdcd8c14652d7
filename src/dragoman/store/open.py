"""Opens a data folder: finishes swaps, checks, repairs, migrates."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from pathlib import Path

from dragoman.errors import StartRefused
from dragoman.store.after_restore import announce
from dragoman.store.checkpoint import move
from dragoman.store.disk_reserve import LEAST_BYTES, RESERVE
from dragoman.store.fsync import LEAST_FREE_BYTES, ensure_room, is_full, tidy
from dragoman.store.repair.salvage import ensure_sound
from dragoman.store.repair.swap import finish
from dragoman.store.schema import connect, migrate

log = logging.getLogger(__name__)


def open_database(path: Path, *, synchronous: str) -> sqlite3.Connection:
    """Open, or make, the database, for who holds the lock of its folder. Raise StartRefused."""
    try:
        ensure_room(path.parent, LEAST_FREE_BYTES)
        tidy(path.parent)
        _finish_swap(path.parent)
        ensure_sound(path)
        return _connect(path, synchronous)
    except (sqlite3.Error, OSError) as error:
        if is_full(error, path.parent):
            raise StartRefused(_full(path.parent, error)) from None
        raise StartRefused(
            f"cannot open {path}: {error}; make the folder writable, or choose another one "
            "with --data-dir"
        ) from None


def _full(folder: Path, error: Exception) -> str:
    reserve = folder / RESERVE
    way_out = f", or remove {reserve} and delete sessions" if reserve.exists() else ""
    return (
        f"the disk of {folder} is full ({error}); free some space{way_out}, then start again: "
        "nothing is lost"
    )


def _finish_swap(data_dir: Path) -> None:
    try:
        if finish(data_dir):
            log.warning("a database that waited for the start is in place; the old one is kept")
    except OSError as error:
        if is_full(error, data_dir):
            raise
        raise StartRefused(
            f"cannot put in place the database that waits in {data_dir}: {error}; nothing was moved"
        ) from None


def _connect(path: Path, synchronous: str) -> sqlite3.Connection:
    with contextlib.ExitStack() as undo:
        db = connect(path, synchronous=synchronous)
        undo.callback(db.close)
        path.chmod(0o600)
        migrate(db, path)
        try:
            ensure_room(path.parent, LEAST_BYTES)
        except OSError:
            move(db, "TRUNCATE")  # what a killed daemon left in the log may be what is missing
            ensure_room(path.parent, LEAST_BYTES)
        announce(db)
        undo.pop_all()
    return db
