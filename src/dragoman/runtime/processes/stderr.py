"""The stderr of an agent: first and last lines in memory, all of it in a file."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections import deque
from collections.abc import Callable
from pathlib import Path

from msgspec import UNSET

from dragoman.schema.events import Stderr
from dragoman.wire.jsonl import Lines, Oversize
from dragoman.wire.key_patterns import key_opens_at, without_keys
from dragoman.wire.redactor import Redactor

log = logging.getLogger(__name__)
FOLDER = "stderr"
HEAD_LINES, TAIL_LINES = 20, 50
HELD_BYTES = 1 << 20
"""So much may wait to be written; of what a slow disk does not take, the latest is kept."""
CLOSE_DEADLINE_S = 2.0
MAX_LINE_BYTES = 1 << 16
"""A line is looked at when it is whole, or when there is so much of it."""
MAX_KEY = 512
_WORD = re.compile(r"(?:(?:Bearer|Basic) )?[A-Za-z0-9._~+/=-]+\Z")
"""What may be a key, or a part of one."""
_NAMES = ("{}.log", "{}+tail.log", "{}+tail.1.log")
"""The beginning, the latest, and what was before it. No session's id has a plus sign."""


class StderrFilter:
    """Takes secrets out of stderr before it is kept: known values, and what looks like a key."""

    def __init__(self, redactor: Callable[[], Redactor | None]) -> None:
        self._redactor = redactor
        self._rest = b""

    def feed(self, chunk: bytes) -> bytes:
        """What was written, up to the last whole line of it."""
        redactor = self._redactor()
        data, self._rest = self._rest + chunk, b""
        if redactor is None:
            return data
        end = data.rfind(b"\n") + 1
        if len(data) - end > MAX_LINE_BYTES:
            end = len(data)
        text = data[:end].decode(errors="surrogateescape")
        # A value, or a private key, may go on in the next line.
        kept = min(redactor.begins_at(text), key_opens_at(text))
        if kept < len(text):
            kept = _safe_cut(text, kept, redactor)
        if len(text) - kept > MAX_LINE_BYTES:
            kept = len(text)
        self._rest = text[kept:].encode(errors="surrogateescape") + data[end:]
        return _cleaned(text[:kept], redactor)

    def close(self) -> bytes:
        """What is left at the end."""
        data, self._rest = self._rest, b""
        return without_secrets(data, self._redactor())


def _safe_cut(text: str, at: int, redactor: Redactor) -> int:
    """The last place up to `at` that is neither in a known value nor in what may be a key."""
    matches = [(match.start, match.end) for match in redactor.matches(text)]
    earliest = max(0, at - MAX_KEY)
    while True:
        word = _WORD.search(text, min(earliest, at), at)
        start = word.start() if word else at
        start = next((first for first, last in matches if first < start < last), start)
        if start == at:
            return at
        at = start


def without_secrets(data: bytes, redactor: Redactor | None) -> bytes:
    """What may be kept in a file of ours."""
    if redactor is None:
        return data
    return _cleaned(data.decode(errors="surrogateescape"), redactor)


def _cleaned(text: str, redactor: Redactor) -> bytes:
    return without_keys(redactor.text(text)).encode(errors="surrogateescape")


class StderrTail:
    """The first and last lines of stderr, however much there is."""

    def __init__(self) -> None:
        self._lines = Lines(max_bytes=1 << 16)
        self._head: list[str] = []
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._total = 0

    def feed(self, chunk: bytes) -> None:
        """Take in what was written."""
        self._keep(self._lines.feed(chunk))

    def result(self) -> Stderr:
        """What is kept: all of it up to 70 lines."""
        self._keep(self._lines.close())
        if self._total <= HEAD_LINES + TAIL_LINES:
            head = "\n".join([*self._head, *self._tail])
            return Stderr(head=head, truncated=False, total_lines=self._total)
        return Stderr(
            head="\n".join(self._head),
            tail="\n".join(self._tail) if self._tail else UNSET,
            truncated=True,
            total_lines=self._total,
        )

    def _keep(self, lines: list[bytes | Oversize]) -> None:
        for line in lines:
            text = (line.head if isinstance(line, Oversize) else line).decode(errors="replace")
            self._total += 1
            if len(self._head) < HEAD_LINES:
                self._head.append(text)
            else:
                self._tail.append(text)


class StderrFile:
    """All that a session's agents write to stderr, up to a size: then the middle is given up."""

    def __init__(self, data_dir: Path, name: str, max_bytes: int) -> None:
        self._head, self._tail, self._before = _files(data_dir, name)
        self._max_bytes = max_bytes
        self._buffered: deque[bytes] = deque()
        self._held_bytes = 0
        self._lost_bytes = 0
        self._writing: asyncio.Task[None] | None = None
        self._failed = False

    def feed(self, chunk: bytes) -> None:
        """Take in what was written; a thread writes it down."""
        self._buffered.append(chunk)
        self._held_bytes += len(chunk)
        while self._held_bytes > HELD_BYTES:
            self._held_bytes -= len(self._buffered[0])
            self._lost_bytes += len(self._buffered.popleft())
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())

    async def close(self) -> None:
        """Write the rest down, if the disk takes it soon."""
        if self._writing is not None:
            await asyncio.wait([self._writing], timeout=CLOSE_DEADLINE_S)

    async def _write(self) -> None:
        while self._buffered or self._lost_bytes:
            if self._lost_bytes:
                note = b"\n[%d bytes came too fast to be kept]\n" % self._lost_bytes
                self._buffered.appendleft(note)
            data = b"".join(self._buffered)
            self._buffered.clear()
            self._held_bytes = self._lost_bytes = 0
            try:
                await asyncio.to_thread(self._append, data)
            except OSError as error:
                if not self._failed:
                    log.warning("stderr is not kept in %s: %s", self._head, error)
                self._failed = True

    def _append(self, data: bytes) -> None:
        self._head.parent.mkdir(exist_ok=True, mode=0o700)
        room = max(0, self._max_bytes // 2 - _size(self._head))
        if room:
            _add(self._head, data[:room])
        quarter = self._max_bytes // 4
        rest = data[room:][-quarter:]
        if rest:
            if _size(self._tail) + len(rest) > quarter:
                self._tail.replace(self._before)
            _add(self._tail, rest)


def remove(data_dir: Path, name: str) -> None:
    """Forget what was written."""
    for path in _files(data_dir, name):
        path.unlink(missing_ok=True)


def _files(data_dir: Path, name: str) -> list[Path]:
    return [data_dir / FOLDER / each.format(name) for each in _NAMES]


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _add(path: Path, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as file:
        file.write(data)
