"""Writes a recording's file, complete up to any moment."""

from __future__ import annotations

import fcntl
import itertools
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from dragoman.testing.recordings.transcript import Ending, Entry, Line, Meta, encode
from dragoman.wire.redactor import Redactor, Secret

_SUFFIX = ".jsonl"


class Tape:
    """A recording while it is made. Its methods may be called from any thread."""

    def __init__(self, out: Path, secrets: Sequence[Secret] = ()) -> None:
        self.path, self._fd = _take(out)
        self.secrets = secrets
        """These values are not written down."""
        self._redactor = Redactor(secrets) if secrets else None
        self.failure: OSError | None = None
        """Why nothing more is written down: the recording fails before the agent does."""
        self._has_ended = False
        self._began = time.monotonic()
        # Reentrant, because a signal's handler may write while its thread does.
        self._lock = threading.RLock()

    def now(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._began

    def write(self, entry: Meta | Entry | Ending) -> None:
        """Write one line, at once: nothing waits in a buffer for a process that is killed.

        What comes after the process's end is about nothing that it could have noticed.
        """
        if self._redactor is not None and isinstance(entry, Line):
            entry = replace(entry, data=self._redactor.line(entry.data))
        rest = memoryview(encode(entry))
        with self._lock:
            if self._has_ended:
                return
            self._has_ended = isinstance(entry, Ending)
            try:
                while rest and self.failure is None:
                    rest = rest[os.write(self._fd, rest) :]
            except OSError as error:
                self.failure = error

    def replace(self, text: bytes) -> None:
        """Put something else in the place of the file, whole or not at all."""
        partial = self.path.with_name(f".{self.path.name}.partial")
        partial.write_bytes(text)
        partial.chmod(0o600)
        partial.replace(self.path)

    def close(self) -> None:
        """Let others write to the file."""
        os.close(self._fd)


def _take(out: Path) -> tuple[Path, int]:
    """Open the file, or a numbered one: in a folder the next, beside a file that is in use."""
    if out.is_dir():
        stem, first = f"{out}/", 1
    else:
        out.parent.mkdir(parents=True, exist_ok=True)
        fd = _lock(out, os.O_CREAT | os.O_APPEND)
        if fd is not None:
            return out, fd
        stem, first = f"{out.with_suffix('')}-", 2
    for number in itertools.count(first):
        path = Path(f"{stem}{number:03}{_SUFFIX}")
        fd = _lock(path, os.O_CREAT | os.O_EXCL | os.O_APPEND)
        if fd is not None:
            return path, fd
    raise AssertionError("numbers do not end")


def _lock(path: Path, flags: int) -> int | None:
    """Open and lock a file; None: another recorder has it."""
    while True:
        try:
            fd = os.open(path, os.O_WRONLY | flags, 0o600)
        except FileExistsError:
            return None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and path.stat().st_ino == os.fstat(fd).st_ino:
                return fd
        except BlockingIOError:
            os.close(fd)
            return None
        os.close(fd)  # it was replaced between the two
