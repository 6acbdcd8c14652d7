"""The version of an executable, asked once and cached while the file is the same."""

from __future__ import annotations

import itertools
import os
import re
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event, Lock

from dragoman.errors import InvalidRequest, Unavailable
from dragoman.runtime.processes import program
from dragoman.settings import child_environ

DEADLINE_S = 10.0
_VERSION = re.compile(r"\d+\.\d+\.\d+[\w.+-]*", re.ASCII)


def ensure_version(version: str) -> None:
    """Raise InvalidRequest for what is no full version: it names a folder and a package."""
    if not _VERSION.fullmatch(version) or len(version) > 64:
        raise InvalidRequest(
            f"{version!r} is no version of an agent; give a full one, like 1.2.3",
            field="agentVersion",
        )


def version_in(text: str) -> str | None:
    """The first version that a text names."""
    found = _VERSION.search(text)
    return found[0].rstrip(".-+") if found else None


class Versions:
    """Asks executables, each in a thread, at most once for each state of a file."""

    def __init__(self, mark: str, stop: Event, deadline_s: float = DEADLINE_S) -> None:
        self._mark = mark
        self._stop = stop
        self._deadline_s = deadline_s
        self._count = itertools.count()
        self._lock = Lock()
        self._cache: dict[tuple[str, int, int], Future[str | None]] = {}
        self._pool = ThreadPoolExecutor(4, "version")

    def ask(self, path: str) -> Future[str | None]:
        """Its version; None where it does not tell, or not in time."""
        try:
            status = os.stat(path)
        except OSError:
            gone: Future[str | None] = Future()
            gone.set_result(None)
            return gone
        key = (path, status.st_mtime_ns, status.st_size)
        with self._lock:
            if key not in self._cache:
                self._cache[key] = self._pool.submit(self.read, path)
            return self._cache[key]

    def read(self, *command: str) -> str | None:
        """Run it now, perhaps behind an interpreter; None where it fails."""
        try:
            ended = program.run(
                [*command, "--version"],
                environ=child_environ(),
                cwd=Path("/"),
                mark=f"{self._mark}:version-{os.getpid()}-{next(self._count)}",
                deadline_s=self._deadline_s,
                stop=self._stop,
            )
        except (OSError, Unavailable):  # a TimeoutError is an OSError, too
            return None
        if ended.code != 0:
            return None  # its last words may name any version, e.g. its interpreter's
        return version_in(ended.stdout) or version_in(ended.stderr)
