"""Runs git on a repository of our own: no configuration but ours, a deadline, bounded output.

An agent can write to the repository that it works in. Whatever is configured there (filters,
hooks, monitors, drivers for diffs) would be run by us, outside of any sandbox, so git never reads
it: its directory is ours, and of the other one it sees only objects.
"""

from __future__ import annotations

import contextlib
import functools
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Protocol

from dragoman.settings import child_environ

MOST_BYTES = 64 << 20
"""The most that git may print where nothing else is said: a list of very many files."""
_CONFIG = (
    "core.autocrlf=false",
    "core.bare=false",
    "core.fsmonitor=false",
    "core.fsync=none",
    "core.hooksPath=/dev/null",
    "core.looseCompression=1",
    "core.quotePath=false",
    "gc.auto=0",
    "safe.directory=*",
    "submodule.recurse=false",
)
_PIECE_BYTES = 1 << 16
_REAP_S = 5.0


class GitError(Exception):
    """Git could not do it; the message says why."""


class GitTimeout(GitError):
    """Git took too long."""


class Started(Protocol):
    """A program that runs, in a process group of its own."""

    pid: int

    def reap(self, timeout_s: float = 0) -> int | None:
        """Its exit code; None while it runs."""


class StartProgram(Protocol):
    """Starts a program in a session of its own. Raise OSError where it cannot be started."""

    def __call__(
        self,
        argv: Sequence[str],
        *,
        environ: Mapping[str, str],
        cwd: Path,
        stdin: IO[bytes],
        stdout: int,
        stderr: IO[bytes],
    ) -> Started:
        """Start it with these three files and no other."""


class _Plain:
    """A program of a process that keeps no account of its children."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.pid = process.pid
        self._process = process

    def reap(self, timeout_s: float = 0) -> int | None:
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None


def start_plainly(
    argv: Sequence[str],
    *,
    environ: Mapping[str, str],
    cwd: Path,
    stdin: IO[bytes],
    stdout: int,
    stderr: IO[bytes],
) -> Started:
    """Start a program as any child of this process."""
    return _Plain(
        subprocess.Popen(
            argv,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=environ,
            cwd=cwd,
            start_new_session=True,
        )
    )


class Git:
    """Git in one repository of ours, on somebody's working tree. For a thread."""

    def __init__(
        self,
        repository: Path,
        work_tree: Path,
        start: StartProgram = start_plainly,
        index: str = "index",
    ) -> None:
        self._work_tree = work_tree
        self._start = start
        self._environ = {
            **clean_environ(),
            "GIT_DIR": str(repository),
            "GIT_WORK_TREE": str(work_tree),
            "GIT_INDEX_FILE": str(repository / index),
        }

    def run(
        self,
        *words: str,
        deadline: float,
        stdin: bytes = b"",
        most_bytes: int | None = None,
    ) -> bytes:
        """What git prints. With `most_bytes` at most one more than that, and git is ended then.

        Raise GitError; GitTimeout where it is not done at `deadline`, of the monotonic clock.
        """
        options = [word for option in _CONFIG for word in ("-c", option)]
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as stderr:
            given.write(stdin)
            given.seek(0)
            code, output = self._run(["git", *options, *words], given, stderr, deadline, most_bytes)
            if code and (most_bytes is None or len(output) <= most_bytes):
                stderr.seek(0)
                why = stderr.read(4096).decode(errors="replace").strip()
                raise GitError(why or f"git {words[0]} ended with the code {code}")
        return output

    def _run(
        self,
        argv: Sequence[str],
        stdin: IO[bytes],
        stderr: IO[bytes],
        deadline: float,
        most_bytes: int | None,
    ) -> tuple[int, bytes]:
        reader, writer = os.pipe()
        with open(reader, "rb", buffering=0) as stdout:
            try:
                child = self._start(
                    argv,
                    environ=self._environ,
                    cwd=self._work_tree,
                    stdin=stdin,
                    stdout=writer,
                    stderr=stderr,
                )
            except OSError as error:
                raise GitError(f"git cannot be run: {error.strerror or error}") from None
            finally:
                os.close(writer)
            try:
                output = _read(stdout, deadline, MOST_BYTES if most_bytes is None else most_bytes)
                code = child.reap(max(deadline - time.monotonic(), 0.1)) if output.ended else None
            finally:
                _end(child)
        return (code or 0) if output.ended else -signal.SIGPIPE, output.data


class _Output:
    def __init__(self) -> None:
        self.data = b""
        self.ended = False


def _read(stdout: IO[bytes], deadline: float, most_bytes: int) -> _Output:
    """Read until the end, or until there is more than that. Raise GitTimeout."""
    output, pieces, size = _Output(), [], 0
    poll = select.poll()
    poll.register(stdout, select.POLLIN)
    while size <= most_bytes:
        left_s = deadline - time.monotonic()
        if left_s <= 0 or not poll.poll(left_s * 1000):
            raise GitTimeout("git was not done in time")
        piece = os.read(stdout.fileno(), _PIECE_BYTES)
        if not piece:
            output.ended = True
            break
        pieces.append(piece)
        size += len(piece)
    output.data = b"".join(pieces)
    return output


def _end(child: Started) -> None:
    if child.reap() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.reap(_REAP_S)


@functools.cache
def has_git() -> bool:
    """Whether there is a git at all."""
    return shutil.which("git") is not None


def clean_environ() -> dict[str, str]:
    """What git inherits: nothing of a repository, and no configuration of anybody's."""
    inherited = {k: v for k, v in child_environ().items() if not k.startswith("GIT_")}
    return {
        **inherited,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }
