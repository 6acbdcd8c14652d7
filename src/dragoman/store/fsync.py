"""Durable files: fsync, atomic replace, removal of partial files."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dragoman.errors import StartRefused
from dragoman.store.lock import FolderLock

PARTIAL = ".dragoman-partial-"
"""How a folder is named in which something is being made."""
LEAST_FREE_BYTES = 256 << 10
"""With less, SQLite cannot even open a database, and says only that the disk fails."""


def sync(path: Path) -> None:
    """Return when a file's content, or a folder's names, would survive a power cut."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_tree(folder: Path) -> None:
    """The same for everything in a folder."""
    for path, _, names in os.walk(folder):
        for name in names:
            sync(Path(path) / name)
        sync(Path(path))


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    draft = path.with_name(f".{path.name}.partial")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def is_full(error: Exception, folder: Path) -> bool:
    """Whether something failed because there is no room."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    code = error.sqlite_errorcode & 0xFF if isinstance(error, sqlite3.Error) else None
    if code == sqlite3.SQLITE_IOERR:
        return shutil.disk_usage(folder).free < LEAST_FREE_BYTES
    return code == sqlite3.SQLITE_FULL


def ensure_room(folder: Path, size_bytes: int) -> None:
    """Raise OSError where the disk has less. SQLite would open what is there, and fail later."""
    free = shutil.disk_usage(folder).free
    if free < size_bytes:
        raise OSError(errno.ENOSPC, f"{free >> 10} KiB are left, {size_bytes >> 10} are needed")


@contextlib.contextmanager
def workshop(parent: Path) -> Iterator[Path]:
    """A folder to make something in, on the same disk; what is left in it is removed."""
    tidy(parent)
    folder = Path(tempfile.mkdtemp(prefix=PARTIAL, dir=parent))
    try:
        lock = FolderLock(folder)
        try:
            yield folder
        finally:
            lock.release()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def tidy(parent: Path) -> None:
    """Remove what somebody who was killed was making here; who lives holds its lock."""
    for folder in parent.glob(f"{PARTIAL}*"):
        with contextlib.suppress(OSError, StartRefused):
            # Where others may write too, a name alone proves nothing.
            found = folder.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
                continue
            lock = FolderLock(folder)
            shutil.rmtree(folder, ignore_errors=True)
            lock.release()
