"""Very many connections that come and go at once, and streams on which nothing happens."""

from __future__ import annotations

import resource
import selectors
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cases.common import eventually, open_files, pid_of
from tests.daemon import Daemon, running

CONNECTIONS, ROUNDS = 1000, 3
RESET = struct.pack("ii", 1, 0)


@contextmanager
def many_files(count: int) -> Iterator[None]:
    """This process may open so many files meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < count:
        pytest.skip(f"only {hard} files may be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Storm:
    """Connections that all follow one session, from one thread."""

    def __init__(self, daemon: Daemon, count: int) -> None:
        request = (
            f"GET /v1/sessions/s/events/sse HTTP/1.1\r\nHost: localhost:{daemon.port}\r\n"
            f"Authorization: Bearer {daemon.token}\r\n\r\n"
        ).encode()
        self._selector = selectors.DefaultSelector()
        self.received: dict[socket.socket, bytes] = {}
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", daemon.port), timeout=30)
            connection.sendall(request)
            connection.setblocking(False)
            self._selector.register(connection, selectors.EVENT_READ)
            self.received[connection] = b""

    def until_all_have(self, wanted: bytes, times: int = 1, seconds: float = 30.0) -> None:
        """Read until each connection has got something so many times."""
        deadline = time.monotonic() + seconds
        missing = {c for c, got in self.received.items() if got.count(wanted) < times}
        while missing:
            assert time.monotonic() < deadline, f"{len(missing)} readers never got {wanted!r}"
            for key, _ in self._selector.select(1.0):
                connection = key.fileobj
                assert isinstance(connection, socket.socket)
                chunk = connection.recv(1 << 16)
                assert chunk, self.received[connection][:200]
                self.received[connection] += chunk
                if self.received[connection].count(wanted) >= times:
                    missing.discard(connection)

    def leave(self) -> None:
        """Go: every other one without a word."""
        for at, connection in enumerate(self.received):
            if at % 2:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            connection.close()
        self._selector.close()


def at_rest(daemon: Daemon) -> int:
    """How many files are open when nobody is there any more."""
    counts = [open_files(daemon)]

    def settled() -> bool:
        counts.append(open_files(daemon))
        return len(counts) > 10 and len(set(counts[-10:])) == 1

    eventually(settled, "the number of open files settles")
    return counts[-1]


@pytest.mark.slow
def test_case_27_a_storm_of_connections_leaves_nothing_behind(data_dir: Path) -> None:
    with many_files(CONNECTIONS + 500), running(data_dir) as daemon:
        _, hard = resource.prlimit(pid_of(daemon), resource.RLIMIT_NOFILE)
        resource.prlimit(pid_of(daemon), resource.RLIMIT_NOFILE, (CONNECTIONS + 500, hard))
        daemon.create("s")
        daemon.turn("s", "echo hi")
        last = len(daemon.events("s"))
        baseline = at_rest(daemon)
        for _ in range(ROUNDS):
            storm = Storm(daemon, CONNECTIONS)
            storm.until_all_have(f"id: {last}\n".encode())
            assert open_files(daemon) >= baseline + CONNECTIONS
            # While all of them are there, the daemon works, and all of them hear of it.
            turn = daemon.turn("s", "echo again")
            last = turn[-1]["sequence"]
            storm.until_all_have(f"id: {last}\n".encode())
            storm.leave()
            eventually(lambda: open_files(daemon) <= baseline, "their descriptors are free again")
        assert daemon.turn("s", "echo after")[-1]["data"]["outcome"] == "completed"


def test_case_27_a_silent_stream_gets_heartbeats(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_HEARTBEAT_S": "0.2"}) as daemon:
        daemon.create("s")
        storm = Storm(daemon, 20)
        begun = time.monotonic()
        storm.until_all_have(b"\r\n: chain 1 ", times=4)
        assert time.monotonic() - begun > 0.4
        for content in storm.received.values():
            assert content.count(b"\nid: ") == 1
        storm.leave()


def test_case_27_connections_that_ask_for_nothing_do_not_keep_others_out(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        idle = [
            socket.create_connection(("127.0.0.1", daemon.port), timeout=30) for _ in range(200)
        ]
        assert daemon.get("/health") == {"status": "ok"}
        for connection in idle:
            connection.close()
        baseline = open_files(daemon)
        eventually(lambda: open_files(daemon) <= baseline, "idle connections are gone")


def test_case_27_who_leaves_before_the_first_byte_leaves_nothing(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        daemon.create("s")
        request = (
            f"GET /v1/sessions/s/events/sse HTTP/1.1\r\nHost: localhost:{daemon.port}\r\n"
            f"Authorization: Bearer {daemon.token}\r\n\r\n"
        ).encode()
        for _ in range(400):
            with socket.create_connection(("127.0.0.1", daemon.port), timeout=30) as connection:
                connection.sendall(request)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        eventually(lambda: daemon.get("/status")["limits"]["maxConnections"]["used"] == 1, "all go")
        eventually(lambda: daemon.get("/status")["readers"] == 0, "nobody reads any more")
