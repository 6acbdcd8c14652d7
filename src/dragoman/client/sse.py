"""The blocks of an event stream, as the daemon writes them: LF only, ids, data and links. No IO."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct


class Frame(Struct, frozen=True, kw_only=True):
    """An event, a place in the stream (an id alone), or what a comment tells of the chain."""

    id: str | None = None
    data: bytes | None = None
    chain: tuple[int, str] | None = None
    """A sequence and its link."""


class Blocks:
    """Cuts a stream into blocks; a block may come in many chunks."""

    def __init__(self) -> None:
        self._waiting: list[bytes] = []
        """Joined only once it is whole: a block may be very long."""

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        """Take a chunk, give the blocks that it completes; a comment that tells nothing is none."""
        seam = self._waiting[-1][-1:] if self._waiting else b""
        self._waiting.append(chunk)
        if b"\n\n" not in seam + chunk:
            return
        *blocks, rest = b"".join(self._waiting).split(b"\n\n")
        self._waiting = [rest] if rest else []
        for block in blocks:
            if (found := _block(block)) != Frame():
                yield found


def _block(text: bytes) -> Frame:
    id: str | None = None
    data: list[bytes] = []
    chain: tuple[int, str] | None = None
    for line in text.split(b"\n"):
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            data.append(value)
        elif name == b"id":
            id = value.decode(errors="replace")
        elif not name:
            chain = _chain(value) or chain
    return Frame(id=id, data=b"\n".join(data) if data else None, chain=chain)


def _chain(comment: bytes) -> tuple[int, str] | None:
    match comment.split(b" "):
        case [b"chain", sequence, link] if sequence.isdigit():
            return int(sequence), link.decode(errors="replace")
    return None
