"""Runs a program to its end, with a deadline and nothing left behind."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import IO

from msgspec import Struct

from dragoman.errors import Unavailable
from dragoman.runtime.processes.process_tree import Child, process_tree

TICK_S = 0.1
MAX_OUTPUT_BYTES = 4 * 1024 * 1024


class Ended(Struct, frozen=True):
    """How a program ended, and what it said."""

    code: int
    stdout: str
    stderr: str


def run(
    argv: Sequence[str],
    *,
    environ: Mapping[str, str],
    cwd: Path,
    mark: str,
    deadline_s: float,
    stop: Event,
    tick: Callable[[], None] = lambda: None,
) -> Ended:
    """Run it; `tick` is called while it runs. For a thread, never for the event loop.

    Raise OSError where it cannot be run, TimeoutError after the deadline, Unavailable once
    `stop` is set. Whatever carries the mark is gone afterwards.
    """
    # Files, not pipes: a grandchild that keeps a pipe open would hold us up.
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        child = process_tree.start(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            cwd=cwd,
            environ=environ,
            mark=mark,
        )
        try:
            code = _wait(child, time.monotonic() + deadline_s, stop, tick, (stdout, stderr))
        finally:
            process_tree.sweep(mark, child.family)
            child.reap(TICK_S)
        return Ended(code, _text(stdout), _text(stderr))


def _wait(
    child: Child,
    deadline: float,
    stop: Event,
    tick: Callable[[], None],
    outputs: Sequence[IO[bytes]],
) -> int:
    while True:
        code = child.reap(TICK_S)
        if code is not None:
            return code
        if stop.is_set():
            raise Unavailable("the daemon is stopping")
        if time.monotonic() > deadline:
            raise TimeoutError
        if any(os.fstat(output.fileno()).st_size > MAX_OUTPUT_BYTES for output in outputs):
            raise OSError("it does not stop to write")
        tick()


def _text(output: IO[bytes]) -> str:
    output.seek(0)
    return output.read(MAX_OUTPUT_BYTES).decode(errors="replace")
