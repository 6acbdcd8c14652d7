"""Copies, moves and removes directories as a whole. For a thread, not for the loop."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

MAX_ENTRIES = 10_000
MAX_BYTES = 100 * 1024 * 1024


class Copier:
    """Copies folders, all together up to a bound. Links become what they lead to."""

    def __init__(self) -> None:
        self._entries_left = MAX_ENTRIES
        self._bytes_left = MAX_BYTES

    def copy(self, source: Path, target: Path, within: Path | None) -> None:
        """Copy a folder; what leads back, or out of `within`, is left out.

        Raise OSError.
        """
        target.mkdir(parents=True)
        for entry in self._entries(source, within):
            if entry.is_dir():
                self.copy(entry, target / entry.name, within)
            elif entry.is_file():  # neither a pipe nor a socket
                self._spend(size_bytes=entry.stat().st_size)
                shutil.copy(entry, target / entry.name)

    def _entries(self, folder: Path, within: Path | None) -> Iterator[Path]:
        for name in sorted(os.listdir(folder)):
            if name == ".git":
                continue
            self._spend(entries=1)
            entry = folder / name
            returns = entry.is_symlink() and leads_into(folder, entry)
            if not returns and (within is None or leads_into(entry, within)):
                yield entry

    def _spend(self, *, entries: int = 0, size_bytes: int = 0) -> None:
        self._entries_left -= entries
        self._bytes_left -= size_bytes
        if self._entries_left < 0 or self._bytes_left < 0:
            limit = f"more than {MAX_ENTRIES} files or {MAX_BYTES >> 20} MB"
            raise OSError(errno.EFBIG, f"there is too much in it, {limit}")


def leads_into(path: Path, folder: Path) -> bool:
    """Whether a path, with its links followed, is inside of a folder."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def move(source: Path, target: Path) -> None:
    """Put a folder where it belongs, in place of whatever is there."""
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    remove(target)
    source.rename(target)


def remove(folder: Path) -> None:
    """Remove a folder, if it is there."""
    shutil.rmtree(folder, ignore_errors=True)
