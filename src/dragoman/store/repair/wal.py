"""Reads SQLite's write-ahead log without SQLite, to find where it breaks.

SQLite believes a log up to the first frame that is not whole. At the end that is what a crash left
of the last write; in the middle it is damage, and all that was committed behind it would vanish
without a word. The format: https://sqlite.org/fileformat2.html#walformat.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import struct
from pathlib import Path
from typing import IO, NamedTuple

from msgspec import Struct

from dragoman.store.schema import PAGE_SIZE

_HEADER = struct.Struct(">IIII8sII")
_FRAME = struct.Struct(">II8sII")
_BIG_ENDIAN, _LITTLE_ENDIAN = 0x377F0683, 0x377F0682
_CHECKED_HEADER, _CHECKED_FRAME = 24, 8
_INDEX = struct.Struct("=12xB3xI12x8s")
"""Of the log's index: whether it is made, how many frames are whole, and their salts
(https://sqlite.org/walformat.html#the_wal_index_file_format)."""

Sums = tuple[int, int]


class Break(Struct, frozen=True):
    """Where a log is damaged: behind it, it goes on."""

    frame: int
    commits: int
    """So many are behind it."""


class _Frame(NamedTuple):
    page: int
    pages: int
    """How many the database has after this commit; 0: it is no commit."""
    salts: bytes
    sums: Sums


class _Log:
    """A log that is open; frames count from 0."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        head = file.read(_HEADER.size).ljust(_HEADER.size, b"\0")
        magic, _, page_size, _, salts, *sums = _HEADER.unpack(head)
        self._order = ">" if magic == _BIG_ENDIAN else "<"
        self._start: Sums = (sums[0], sums[1])
        self.has_head = (
            magic in (_BIG_ENDIAN, _LITTLE_ENDIAN)
            and self._sums(head[:_CHECKED_HEADER], (0, 0)) == self._start
        )
        self.page_size = page_size if self.has_head else PAGE_SIZE
        self.frames = self._frames()
        self.salts = salts if self.has_head or not self.frames else self.frames[0].salts
        self.last = max((at for at, _ in self._commits()), default=-1)
        """The last commit, whole or not; -1: there is none."""

    def _frames(self) -> list[_Frame]:
        found = []
        while len(head := self._file.read(_FRAME.size)) == _FRAME.size:
            page, pages, salts, *sums = _FRAME.unpack(head)
            found.append(_Frame(page, pages, salts, (sums[0], sums[1])))
            self._file.seek(self.page_size, 1)
        end = self._file.seek(0, 2)
        whole = (end - _HEADER.size) // (_FRAME.size + self.page_size)
        return found[: max(whole, 0)]

    def _commits(self) -> list[tuple[int, _Frame]]:
        return [
            (at, frame)
            for at, frame in enumerate(self.frames)
            if frame.pages and frame.salts == self.salts
        ]

    def _sums(self, data: bytes, sums: Sums) -> Sums:
        one, two = sums
        for left, right in struct.iter_unpack(f"{self._order}II", data):
            one = (one + left + two) & 0xFFFFFFFF
            two = (two + right + one) & 0xFFFFFFFF
        return one, two

    def _at(self, frame: int) -> int:
        return _HEADER.size + frame * (_FRAME.size + self.page_size)

    def content(self, frame: int) -> bytes:
        """The page that a frame holds."""
        self._file.seek(self._at(frame) + _FRAME.size)
        return self._file.read(self.page_size)

    def first_bad(self, whole: int) -> int:
        """The first frame that is not whole; so many are known to be."""
        if not self.has_head:
            return -1
        sums = self.frames[whole - 1].sums if whole else self._start
        for at in range(whole, self.last + 1):
            frame = self.frames[at]
            self._file.seek(self._at(at))
            sums = self._sums(self._file.read(_CHECKED_FRAME) + self.content(at), sums)
            if frame.salts != self.salts or sums != frame.sums:
                return at
        return self.last + 1

    def commits_after(self, frame: int) -> int:
        """How many commits are behind a frame."""
        return sum(at > frame for at, _ in self._commits())

    def to_replay(self) -> range:
        """The frames up to the last commit; where some never reached the disk, up to those."""
        if all(frame.salts == self.salts for frame in self.frames[: self.last + 1]):
            return range(self.last + 1)
        bad = self.first_bad(0)
        return range(max((at + 1 for at, _ in self._commits() if at < bad), default=0))


def find_break(database: Path) -> Break | None:
    """Where the log of a database is damaged; None: nowhere, or only torn at its end."""
    try:
        with _path_of(database).open("rb", buffering=0) as file:
            log = _Log(file)
            if log.last < 0:
                return None
            whole = _believed(database, log.salts)
            if whole > log.last:
                return None
            bad = log.first_bad(whole)
            commits = log.commits_after(bad)
    except FileNotFoundError:
        return None
    return Break(bad, commits) if commits else None


def _believed(database: Path, salts: bytes) -> int:
    """How many frames SQLite finds whole. It sums up a hundred times as fast as we could."""
    with contextlib.suppress(sqlite3.DatabaseError, OSError, struct.error):
        address = f"{database.absolute().as_uri()}?mode=ro"  # so that it changes nothing
        with contextlib.closing(sqlite3.connect(address, uri=True)) as db:
            with contextlib.suppress(sqlite3.DatabaseError):
                db.execute("SELECT count(*) FROM sqlite_master")
            index = database.with_name(f"{database.name}-shm").read_bytes()[: _INDEX.size]
        is_made, frames, their_salts = _INDEX.unpack(index)
        if is_made and their_salts == salts:
            return int(frames)
    return 0


def is_orphaned(database: Path) -> bool:
    """Whether there is a log with something in it, and no database: SQLite would remove it."""
    log = _path_of(database)
    there = database.exists() and database.stat().st_size > 0
    return not there and log.exists() and log.stat().st_size > _HEADER.size


def replay(database: Path, target: Path, damaged: int = -1) -> None:
    """Copy a database with what its log holds, also behind the frame that is damaged.

    That one is taken as it is: most often a later one replaces it, and where none does, a changed
    bit costs less than all that came later. But without its first page nothing could be read.
    """
    if database.exists():
        shutil.copyfile(database, target)
    else:
        target.touch()
    with _path_of(database).open("rb", buffering=0) as file, target.open("r+b") as out:
        log = _Log(file)
        size = out.seek(0, 2)
        # A page number may be what is damaged.
        most = size // log.page_size + len(log.frames)
        frames = log.to_replay()
        for at in frames:
            page = log.frames[at].page
            if 0 < page <= most and not (page == 1 and at == damaged):
                out.seek((page - 1) * log.page_size)
                out.write(log.content(at))
        if frames:
            out.truncate(min(log.frames[frames[-1]].pages, most) * log.page_size)


def _path_of(database: Path) -> Path:
    return database.with_name(f"{database.name}-wal")
