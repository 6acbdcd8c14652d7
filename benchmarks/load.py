"""Load from processes of their own: `load.c` where there is a compiler, else the same in Python."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import IO

import msgspec
from msgspec import Struct

HERE = Path(__file__).parent
DEADLINE_S = 180.0
SHORTEST_S = 1e-6
"""A tiny stream comes as one piece, at one moment."""


class Pages(Struct, frozen=True):
    """What reading pages came to."""

    requests: int
    bytes: int
    seconds: float
    p50_ms: float
    p99_ms: float

    @property
    def rate(self) -> float:
        """Answers in a second."""
        return self.requests / self.seconds


class Followed(Struct, frozen=True):
    """What all readers of streams saw together."""

    events: int
    lost: int
    bytes: int
    seconds: float
    p50_ms: float
    p99_ms: float

    @property
    def rate(self) -> float:
        """Events in a second, of all readers."""
        return self.events / max(self.seconds, SHORTEST_S)

    @property
    def megabytes(self) -> float:
        """Megabytes in a second, of all readers."""
        return self.bytes / max(self.seconds, SHORTEST_S) / 1e6


class Load:
    """Starts the load generator, and the servers that show what is possible."""

    def __init__(self, folder: Path) -> None:
        compiler = shutil.which("cc") or shutil.which("gcc")
        self.compiled = compiler is not None
        self._command = [sys.executable, str(HERE / "plain_load.py")]
        if compiler is not None:
            binary = folder / "load"
            subprocess.run([compiler, "-O2", "-o", binary, HERE / "load.c"], check=True)
            self._command = [str(binary)]

    @property
    def language(self) -> str:
        """What the limits are written in."""
        return "C" if self.compiled else "Python"

    def pages(
        self, port: int, token: str, path: str, offsets: tuple[int, int], *,
        seconds: float, connections: int = 8, limit: int = 100, repeat: int = 3,
    ) -> Pages:  # fmt: skip
        """GET pages at offsets of a range, or at one; the median of some repetitions."""
        words = ("pages", port, connections, seconds / repeat, token, path, limit, *offsets)
        found = [msgspec.json.decode(self._run(words), type=Pages) for _ in range(repeat)]
        middle = median(pages.rate for pages in found)
        return min(found, key=lambda pages: abs(pages.rate - middle))

    @contextmanager
    def following(
        self, port: int, token: str, path: str, *, readers: int, skip: int, until: int
    ) -> Iterator[Following]:
        """Readers that are connected and go on until each has seen an event."""
        words = ("follow", port, readers, token, path, skip, until)
        with self._start(words) as process:
            assert process.stdout is not None
            if process.stdout.readline() != b"ready\n":
                raise RuntimeError("the readers could not connect")
            yield Following(process)

    @contextmanager
    def static(self, file: Path) -> Iterator[int]:
        """A server that answers everything with a file; its port."""
        with self._serving(("static", file)) as port:
            yield port

    @contextmanager
    def fanout(self, file: Path, readers: int) -> Iterator[int]:
        """A server that sends a file to each of so many readers; its port."""
        with self._serving(("fanout", readers, file)) as port:
            yield port

    def fanout_limit(self, file: Path, readers: int, skip: int, until: int) -> Followed:
        """How fast these bytes can be handed to so many readers, without any daemon."""
        with self.fanout(file, readers) as port:
            words = ("follow", port, readers, "none", "/", skip, until)
            return msgspec.json.decode(self._run(words).splitlines()[-1], type=Followed)

    def relay_limit(
        self, agent: Sequence[str], prompt: str, readers: int, skip: int, until: int
    ) -> Followed:
        """How soon readers see an agent's lines where nothing is decoded, stored or checked."""
        command = {"type": "prompt", "message_id": "m", "text": prompt}
        with subprocess.Popen(agent, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as source:
            assert source.stdin is not None
            with self._serving(("relay", readers), stdin=source.stdout) as port:
                target = (port, "none", "/")
                with self.following(*target, readers=readers, skip=skip, until=until) as reading:
                    source.stdin.write(msgspec.json.encode(command) + b"\n")
                    source.stdin.flush()
                    found = reading.result()
            source.kill()
        return found

    @contextmanager
    def _serving(self, words: Sequence[object], stdin: IO[bytes] | None = None) -> Iterator[int]:
        with self._start(words, stdin) as process:
            assert process.stdout is not None
            yield int(process.stdout.readline())

    @contextmanager
    def _start(
        self, words: Sequence[object], stdin: IO[bytes] | None = None
    ) -> Iterator[subprocess.Popen[bytes]]:
        command = [*self._command, *map(str, words)]
        process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE)
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def _run(self, words: Sequence[object]) -> bytes:
        command = [*self._command, *map(str, words)]
        return subprocess.run(
            command, stdout=subprocess.PIPE, check=True, timeout=DEADLINE_S
        ).stdout


class Following:
    """Readers at work."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def result(self) -> Followed:
        """Wait until all have seen everything."""
        assert self._process.stdout is not None
        # Not communicate(): what came right behind the first line is in this file's buffer.
        out = self._process.stdout.read()
        if self._process.wait(DEADLINE_S):
            raise RuntimeError("a reader did not see everything")
        return msgspec.json.decode(out, type=Followed)
