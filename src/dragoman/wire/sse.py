"""Server-sent events: frames, and a parser."""

from __future__ import annotations

from dragoman.wire.jsonl import Lines, Oversize

HEARTBEAT = b":\n\n"

_BOM = b"\xef\xbb\xbf"


def frame(sequence: int, line: bytes) -> bytes:
    """Frame one line of JSON. LF only: shipped clients split on two of them."""
    return b"id: %d\ndata: %b\n\n" % (sequence, line)


def mark(position: int) -> bytes:
    """Tell where a reader stands, without an event: a block of an id alone changes only that."""
    return b"id: %d\n\n" % position


def chain(sequence: int, link: bytes) -> bytes:
    """Tell the link of an event in its log's hash chain, as a comment."""
    return b": chain %d %b\n\n" % (sequence, link.hex().encode())


class SseParser:
    """Parses an event stream, in any chunks, as the HTML standard says."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._ends_with_cr = False
        self._at_start = True
        self._id: str | None = None
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[tuple[str | None, bytes]]:
        """Take a chunk, give the last id and the data of each event that it completes."""
        events: list[tuple[str | None, bytes]] = []
        for line in self._lines(chunk):
            if line:
                self._field(line)
            elif self._data:
                events.append((self._id, b"\n".join(self._data)))
                self._data = []
        return events

    def _lines(self, chunk: bytes) -> list[bytes]:
        if not chunk:
            return []
        if self._ends_with_cr:
            # The CR ended its line already; its LF is no second one.
            chunk = chunk.removeprefix(b"\n")
        self._ends_with_cr = chunk.endswith(b"\r")
        chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = chunk.split(b"\n")
        if lines:
            lines[0] = bytes(self._rest) + lines[0]
            self._rest.clear()
            if self._at_start:
                lines[0] = lines[0].removeprefix(_BOM)
                self._at_start = False
        self._rest += rest
        return lines

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode(errors="replace")


class BoundedSseParser:
    """Parses an event stream of which no event may be larger than `max_bytes`: data only.

    One that is larger is hashed and not kept, as a line of an agent is; the stream goes on.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._lines = Lines(max_bytes=max_bytes, keep_blank=True)
        self._data: list[bytes] = []
        self._size = 0
        self._oversize: Oversize | None = None

    def feed(self, chunk: bytes) -> list[bytes | Oversize]:
        """Take a chunk, give the data of each event that it completes."""
        events: list[bytes | Oversize] = []
        for line in self._lines.feed(chunk):
            if isinstance(line, Oversize):
                self._oversize = line
            elif field := line.removesuffix(b"\r"):
                self._add(field)
            else:
                events += self._complete()
        return events

    def _add(self, field: bytes) -> None:
        name, _, value = field.removeprefix(_BOM).partition(b":")
        if name != b"data" or self._oversize is not None:
            return
        self._data.append(value.removeprefix(b" "))
        self._size += len(value) + 1
        if self._size > self._max_bytes:
            self._oversize = Oversize.of(b"\n".join(self._data))
            self._data = []

    def _complete(self) -> list[bytes | Oversize]:
        data, oversize = self._data, self._oversize
        self._data, self._oversize, self._size = [], None, 0
        if oversize is not None:
            return [oversize]
        return [b" ".join(data)] if data else []
