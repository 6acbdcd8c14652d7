"""Splits chunks into lines and keeps every byte."""

from __future__ import annotations


class Framer:
    """Splits a stream on the byte LF. Holds one unfinished line."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take a chunk, give the lines that it completes, without their LF."""
        first, *others = chunk.split(b"\n")
        self._rest += first
        if not others:
            return []
        lines = [bytes(self._rest), *others[:-1]]
        self._rest = bytearray(others[-1])
        return lines

    def close(self) -> bytes:
        """Give what had no LF."""
        rest = bytes(self._rest)
        self._rest.clear()
        return rest
