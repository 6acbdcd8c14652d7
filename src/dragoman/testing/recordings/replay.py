"""Replays a recording in an agent's place.

What comes is compared with what was recorded, and where only names differ (ids, paths, words),
the rest is played with today's names. Something else altogether ends it: exit code 1, and
stderr says what was expected and what came.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from dragoman.testing.recordings.framing import Framer
from dragoman.testing.recordings.replay_http import is_http, replay_http, write_all
from dragoman.testing.recordings.substitutions import Mismatch, Substitutions
from dragoman.testing.recordings.transcript import (
    Ending,
    Eof,
    Line,
    PassedSignal,
    Run,
    Transcript,
    load,
)

READ_BYTES = 1 << 16


class ReplayError(Exception):
    """The recording cannot be played as asked."""


def replay(run: Run, argv: Sequence[str], *, timing: bool = False) -> Ending:
    """Play one process on our own pipes, or as a server. Raise Mismatch."""
    if is_http(run):
        return replay_http(run, argv, timing=timing)
    player = _Replay(run, argv, timing=timing)
    # Blocked from the start, so that one that comes early still waits to be taken.
    signals = {entry.number for entry in run.entries if isinstance(entry, PassedSignal)}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    for entry in run.entries:
        player.play(entry)
    return run.ending or Ending(t=0.0, code=0, signal=None)


class _Replay:
    def __init__(self, run: Run, argv: Sequence[str], *, timing: bool) -> None:
        self._names = Substitutions()
        self._names.learn_argv(run.meta.argv, argv)
        if run.meta.cwd is not None:
            self._names.learn_word(run.meta.cwd, os.getcwd())
        self._timing = timing
        self._began = time.monotonic()
        self._framer = Framer()
        self._received: list[bytes] = []
        self._over = False

    def play(self, entry: Line | Eof | PassedSignal) -> None:
        """Wait for what went in; say what came out."""
        if self._timing:
            time.sleep(max(0.0, self._began + entry.t - time.monotonic()))
        match entry:
            case Line(dir="in", data=recorded):
                self._names.learn(recorded, self._await(recorded))
            case Line(dir=dir, data=data, open=open):
                told = self._names.apply(data) + (b"" if open else b"\n")
                write_all(1 if dir == "out" else 2, told)
            case Eof():
                if (line := self._next()) is not None:
                    raise Mismatch(b"the end of the input", line, "more was said than recorded")
            case PassedSignal(number=number):
                signal.sigwait({number})

    def _await(self, recorded: bytes) -> bytes:
        line = self._next()
        if line is None:
            raise Mismatch(recorded, b"the end of the input", "less was said than recorded")
        return line

    def _next(self) -> bytes | None:
        while not self._received and not self._over:
            chunk = os.read(0, READ_BYTES)
            self._received += self._framer.feed(chunk)
            if not chunk:
                self._over = True
                self._received += [rest] if (rest := self._framer.close()) else []
        return self._received.pop(0) if self._received else None


def choose(transcript: Transcript, state: Path | None) -> Run:
    """Which of its processes to play: with `state`, a file that counts the starts, the next."""
    if not transcript:
        raise ReplayError("the recording is empty")
    if state is None:
        if len(transcript) > 1:
            raise ReplayError(
                f"the recording holds {len(transcript)} processes: give --state FILE, which "
                "counts the starts, so that each start plays the next one"
            )
        return transcript[0]
    number = _count(state)
    if number > len(transcript):
        raise ReplayError(f"start {number} of a recording that holds {len(transcript)} processes")
    return transcript[number - 1]


def _count(state: Path) -> int:
    """Count this start; which one it is."""
    fd = os.open(state, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        counted = os.read(fd, 32) or b"0"
        if not counted.isdigit():
            raise ReplayError(f"{state} is no count of starts")
        number = int(counted) + 1
        os.pwrite(fd, b"%d" % number, 0)
        return number
    finally:
        os.close(fd)


def main(file: Path, argv: Sequence[str], *, state: Path | None, timing: bool) -> Ending:
    """Play a file. Whatever is wrong is said on stderr, and is exit code 1."""
    try:
        return replay(choose(load(file.read_bytes()), state), argv, timing=timing)
    except (Mismatch, ReplayError, OSError, msgspec.DecodeError) as error:
        print(f"dragoman replay: {file}: {error}", file=sys.stderr, flush=True)
        return Ending(t=0.0, code=1, signal=None)
