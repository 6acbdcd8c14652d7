"""Splits chunks of bytes into lines; an oversize line is hashed, not kept."""

from __future__ import annotations

import hashlib

from msgspec import Struct

HEAD_BYTES = 1024

# A line of only these says nothing; an agent on another system may end its lines with CRLF.
_BLANK = b" \r"


class Oversize(Struct, frozen=True, kw_only=True):
    """A line over the limit: what is known of it, without its bytes."""

    size: int
    sha256: str
    head: bytes
    """The first KiB."""

    @classmethod
    def of(cls, data: bytes) -> Oversize:
        """What is known of bytes that are dropped."""
        flood = _Flood()
        flood.add(data)
        return flood.end()


class _Flood:
    """An oversize line while it streams past: counted and hashed, never kept."""

    def __init__(self) -> None:
        self._size = 0
        self._hash = hashlib.sha256()
        self._head = b""

    def add(self, piece: bytes | bytearray) -> None:
        if len(self._head) < HEAD_BYTES:
            self._head += piece[: HEAD_BYTES - len(self._head)]
        self._size += len(piece)
        self._hash.update(piece)

    def end(self) -> Oversize:
        return Oversize(size=self._size, sha256=self._hash.hexdigest(), head=self._head)


class Lines:
    """Splits a stream into lines. Holds at most one unfinished line of `max_bytes`."""

    def __init__(self, max_bytes: int, *, keep_blank: bool = False) -> None:
        self._max_bytes = max_bytes
        self._keep_blank = keep_blank
        """Lines that say nothing count, as where an empty one ends an event."""
        self._rest = bytearray()
        self._flood: _Flood | None = None

    def feed(self, chunk: bytes) -> list[bytes | Oversize]:
        """Take a chunk, give the lines that it completes, without their LF."""
        first, *others = chunk.split(b"\n")
        self._hold(first)
        if not others:
            return []
        unfinished = others.pop()
        lines = self._release()
        if len(chunk) <= self._max_bytes:
            lines += [line for line in others if self._keep_blank or line.strip(_BLANK)]
        else:
            for line in others:
                self._hold(line)
                lines += self._release()
        self._hold(unfinished)
        return lines

    def close(self) -> list[bytes | Oversize]:
        """Give the unterminated rest, if there is one."""
        return self._release()

    def _hold(self, piece: bytes) -> None:
        if self._flood is None and len(self._rest) + len(piece) > self._max_bytes:
            self._flood = _Flood()
            self._flood.add(self._rest)
            self._rest.clear()
        if self._flood is None:
            self._rest += piece
        else:
            self._flood.add(piece)

    def _release(self) -> list[bytes | Oversize]:
        if self._flood is not None:
            oversize = self._flood.end()
            self._flood = None
            return [oversize]
        line = bytes(self._rest)
        self._rest.clear()
        return [line] if self._keep_blank or line.strip(_BLANK) else []
