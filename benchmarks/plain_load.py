"""`load.c` in Python, for machines without a compiler: the same words, the same answers.

Slower, so limits are lower, and a row may show what this client can do instead of the daemon.
"""

from __future__ import annotations

import json
import random
import re
import select
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

CHUNK = 1 << 18
SILENCE_S = 60.0
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n:\n\n"
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
FRAME = re.compile(rb"^id: (\d+)\ndata: ([^\n]*)\n\n", re.MULTILINE)
MARK = re.compile(rb'":"@(\d+) ')


def connect(port: int) -> socket.socket:
    """A connection that sends at once."""
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def ask(connection: socket.socket, port: int, token: str, target: str) -> None:
    """Send one GET."""
    connection.sendall(
        f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Authorization: Bearer {token}\r\n\r\n".encode()
    )


def listen() -> socket.socket:
    """Listen somewhere, and say where."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    print(listener.getsockname()[1], flush=True)
    return listener


def percentiles(times: list[float]) -> dict[str, float]:
    """The middle and the 99th percentile, in milliseconds."""
    times.sort()
    return {
        "p50_ms": 1000 * times[len(times) // 2] if times else 0.0,
        "p99_ms": 1000 * times[len(times) * 99 // 100] if times else 0.0,
    }


def pages(
    port: str, count: str, seconds: str, token: str, path: str, limit: str, low: str, high: str
) -> None:
    """GET pages, one request at a time on each connection."""
    first, last = int(low), max(int(low), int(high) - 1)

    def next_target() -> str:
        return f"{path}?offset={random.randint(first, last)}&limit={limit}"

    poll = select.epoll()
    getters = {(connection := connect(int(port))).fileno(): connection for _ in range(int(count))}
    came = dict.fromkeys(getters, b"")
    asked = dict.fromkeys(getters, time.monotonic())
    for fd, connection in getters.items():
        poll.register(fd, select.EPOLLIN)
        ask(connection, int(port), token, next_target())
    times: list[float] = []
    size, start = 0, time.monotonic()
    while time.monotonic() - start < float(seconds):
        for fd, _ in poll.poll(1):
            chunk = getters[fd].recv(CHUNK)
            size += len(chunk)
            came[fd] += chunk
            if _is_whole(came[fd]):
                times.append(time.monotonic() - asked[fd])
                came[fd], asked[fd] = b"", time.monotonic()
                ask(getters[fd], int(port), token, next_target())
    took = time.monotonic() - start
    answer = {"requests": len(times), "bytes": size, "seconds": took, **percentiles(times)}
    print(json.dumps(answer))


def _is_whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    if not end:
        return False
    length = LENGTH.search(head)
    if not head.startswith(b"HTTP/1.1 200") or length is None:
        raise SystemExit(f"not a good answer: {head[:300]!r}")
    return len(body) >= int(length[1])


class Reader:
    """One event stream; each sequence is checked."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.alive = False
        self.last = self.lost = self.events = 0
        self.delays: list[float] = []
        self._rest = b""

    def feed(self, chunk: bytes, skip: int) -> bool:
        """Take a chunk; whether it had an event after `skip`."""
        now = time.monotonic_ns()
        self._rest += chunk
        self.alive = self.alive or b"\n:" in self._rest
        end, before = 0, self.events
        for frame in FRAME.finditer(self._rest):
            sequence, end = int(frame[1]), frame.end()
            self.lost += abs(sequence - self.last - 1)
            self.last = sequence
            if sequence > skip:
                self.events += 1
                if mark := MARK.search(frame[2]):
                    self.delays.append((now - int(mark[1])) / 1e9)
        self._rest = self._rest[end:]
        return self.events > before


def follow(port: str, count: str, token: str, path: str, skip: str, until: str) -> None:
    """Read event streams until each has shown an event."""
    poll = select.epoll()
    readers = {
        (connection := connect(int(port))).fileno(): Reader(connection) for _ in range(int(count))
    }
    for fd, reader in readers.items():
        poll.register(fd, select.EPOLLIN)
        ask(reader.connection, int(port), token, path)
    waiting, told, size = set(readers), False, 0
    first_at = last_at = 0.0
    while waiting:
        ready = poll.poll(SILENCE_S)
        if not ready:
            raise SystemExit("silence")
        for fd, _ in ready:
            reader = readers[fd]
            chunk = reader.connection.recv(CHUNK)
            size += len(chunk)
            if not chunk:
                poll.unregister(fd)
                if fd in waiting:
                    raise SystemExit(f"a stream ended early, after {reader.last}")
            if reader.feed(chunk, int(skip)):
                last_at = time.monotonic()
                first_at = first_at or last_at
            if reader.last >= int(until):
                waiting.discard(fd)
        if not told and all(reader.alive for reader in readers.values()):
            told = True
            print("ready", flush=True)
    found = readers.values()
    answer = {
        "events": sum(reader.events for reader in found),
        "lost": sum(reader.lost for reader in found),
        "bytes": size,
        "seconds": last_at - first_at,
        **percentiles([delay for reader in found for delay in reader.delays]),
    }
    print(json.dumps(answer))


def static(file: str) -> None:
    """Answer everything with a file."""
    body = Path(file).read_bytes()
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    listener, poll = listen(), select.epoll()
    clients: dict[int, socket.socket] = {}
    poll.register(listener, select.EPOLLIN)
    while True:
        for fd, _ in poll.poll():
            if fd == listener.fileno():
                client, _ = listener.accept()
                clients[client.fileno()] = client
                poll.register(client, select.EPOLLIN)
            elif clients[fd].recv(4096):
                clients[fd].sendall(answer)
            else:
                poll.unregister(fd)
                clients.pop(fd).close()


def accept_readers(count: int) -> list[socket.socket]:
    """Readers of an event stream that are connected."""
    listener = listen()
    readers = [listener.accept()[0] for _ in range(count)]
    for reader in readers:
        reader.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        reader.recv(4096)
        reader.sendall(HEAD)
    return readers


def fanout(count: str, file: str) -> None:
    """Send a file to everybody who connects."""
    body = memoryview(Path(file).read_bytes())
    readers, poll = accept_readers(int(count)), select.epoll()
    left = {reader.fileno(): (reader, body) for reader in readers}
    for fd, (reader, _) in left.items():
        reader.setblocking(False)
        poll.register(fd, select.EPOLLOUT)
    while left:
        for fd, _ in poll.poll():
            reader, rest = left[fd]
            rest = rest[reader.send(rest[:CHUNK]) :]
            left[fd] = reader, rest
            if not rest:
                poll.unregister(fd)
                del left[fd]
    readers[-1].setblocking(True)
    readers[-1].recv(1)


def relay(count: str) -> None:
    """Send each line of stdin to everybody who connects."""
    readers = accept_readers(int(count))
    for sequence, line in enumerate(sys.stdin.buffer, 1):
        frame = b"id: %d\ndata: %b\n\n" % (sequence, line.rstrip(b"\n"))
        for reader in readers:
            reader.sendall(frame)


COMMANDS: dict[str, Callable[..., None]] = {
    "pages": pages, "follow": follow, "static": static, "fanout": fanout, "relay": relay,
}  # fmt: skip

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*sys.argv[2:])
