"""A reader that stalls: it costs nobody else anything, is let go, and misses nothing."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from dragoman.wire.sse import SseParser
from tests.cases.common import eventually, memory_bytes, open_files
from tests.daemon import Daemon, running

STALLED, PATIENCE_S, BRIEF_S = 30, 5.0, 3.0
TURNS = 6
SLOW_S = 6.0
MOST_BYTES = 120 << 20
"""Far below what one copy of the session for each stalled reader would take."""


@contextmanager
def stalled(daemon: Daemon, session_id: str, window: int = 4096) -> Iterator[socket.socket]:
    """A reader that asks, and then takes nothing by itself."""
    with closing(socket.socket()) as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        reader.settimeout(30)
        reader.connect(("127.0.0.1", daemon.port))
        request = (
            f"GET /v1/sessions/{session_id}/events/sse HTTP/1.1",
            f"Host: localhost:{daemon.port}",
            f"Authorization: Bearer {daemon.token}",
        )
        reader.sendall("\r\n".join((*request, "", "")).encode())
        yield reader


def taken(reader: socket.socket) -> list[tuple[str | None, bytes]]:
    """What a stalled reader finds when it wakes up: some events, then the end of the line."""
    content = b""
    try:
        while chunk := reader.recv(1 << 16):
            content += chunk
    except ConnectionResetError:
        content += b""
    _, _, body = content.partition(b"\r\n\r\n")
    stream = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size or b"0", 16)
        if len(rest) < length + 2:
            break
        stream, body = stream + rest[:length], rest[length + 2 :]
    return SseParser().feed(stream)


@pytest.mark.slow
def test_case_26_stalled_readers_cost_no_memory_delay_nobody_and_miss_nothing(
    data_dir: Path,
) -> None:
    with running(data_dir, env={"DRAGOMAN_STALLED_READER_S": str(PATIENCE_S)}) as daemon:
        daemon.create("s")
        daemon.turn("s", "burst 2000 1000")
        files, memory = open_files(daemon), memory_bytes(daemon)
        with ExitStack() as stack:
            readers = [stack.enter_context(stalled(daemon, "s")) for _ in range(STALLED)]
            eventually(lambda: readers_of(daemon) == STALLED, "all readers are connected")
            begun = time.monotonic()
            most = 0
            for _ in range(TURNS):
                turn = daemon.turn("s", "burst 2000 1000")
                assert turn[-1]["data"]["outcome"] == "completed"
                most = max(most, memory_bytes(daemon))
            assert most - memory < MOST_BYTES
            eventually(lambda: open_files(daemon) <= files + 1, "stalled readers are let go")
            assert time.monotonic() - begun >= PATIENCE_S / 2
            events = daemon.events("s")
            for reader in readers[:3]:
                seen = taken(reader)
                assert 0 < len(seen) < len(events)
                assert [id for id, _ in seen] == [str(n) for n in range(1, len(seen) + 1)]
                assert resumed(daemon, seen[-1][0], len(events)) == list(
                    range(len(seen) + 1, len(events) + 1)
                )


def readers_of(daemon: Daemon) -> int:
    return int(daemon.get("/status")["readers"])


def resumed(daemon: Daemon, last: str | None, until: int) -> list[int]:
    assert last is not None
    seen: list[int] = []
    with daemon.stream("/sessions/s/events/sse", Last_Event_ID=last) as stream:
        for id, _ in stream.frames():
            seen.append(int(id or 0))
            if seen[-1] == until:
                return seen
    raise AssertionError("the stream ended too early")


def test_case_26_a_reader_that_takes_nothing_is_let_go_when_its_time_is_over(
    data_dir: Path,
) -> None:
    with running(data_dir, env={"DRAGOMAN_STALLED_READER_S": str(BRIEF_S)}) as daemon:
        daemon.create("s")
        daemon.turn("s", "burst 4000 3000")
        with stalled(daemon, "s"):
            eventually(lambda: readers_of(daemon) == 1, "it is connected")
            begun = time.monotonic()
            eventually(lambda: readers_of(daemon) == 0, "it is let go")
            # What the kernel takes at first does not count as taken by the reader later on.
            assert time.monotonic() - begun < 2 * BRIEF_S


def test_case_26_a_slow_reader_that_takes_something_now_and_then_is_not_let_go(
    data_dir: Path,
) -> None:
    with running(data_dir, env={"DRAGOMAN_STALLED_READER_S": "2"}) as daemon:
        daemon.create("s")
        for _ in range(5):
            daemon.turn("s", "burst 2000 1000")
        last = f"id: {len(daemon.events('s'))}\n".encode()
        with stalled(daemon, "s", 1 << 18) as reader:
            tail, begun = b"", time.monotonic()
            while last not in tail:
                chunk = reader.recv(1 << 15)
                assert chunk, "the reader was let go"
                tail = tail[-100:] + chunk
                if time.monotonic() - begun < SLOW_S:
                    time.sleep(0.1)  # far slower than the daemon, but never silent


PAGE_READERS, PAGES_AHEAD = 60, 8


@contextmanager
def stalled_at_pages(daemon: Daemon, count: int) -> Iterator[socket.socket]:
    """A reader that asks for so many large pages at once, and takes none."""
    with closing(socket.socket()) as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.connect(("127.0.0.1", daemon.port))
        request = (
            "GET /v1/sessions/s/events?limit=10000 HTTP/1.1",
            f"Host: localhost:{daemon.port}",
            f"Authorization: Bearer {daemon.token}",
        )
        reader.sendall("\r\n".join((*request, "", "")).encode() * count)
        yield reader


@pytest.mark.slow
def test_case_26_stalled_readers_of_pages_cost_little_memory(data_dir: Path) -> None:
    """Before, 60 connections that never read took 800 MB, and 250 MB after they had gone."""
    with running(data_dir) as daemon:
        daemon.create("s")
        for _ in range(4):
            daemon.turn("s", "burst 2000 1000")
        before = memory_bytes(daemon)
        with ExitStack() as stack:
            for _ in range(PAGE_READERS):
                stack.enter_context(stalled_at_pages(daemon, PAGES_AHEAD))
            most = 0
            for _ in range(20):  # others go on meanwhile, with pages that may be shorter
                assert daemon.events("s")[-1]["type"] == "turn.ended"
                most = max(most, memory_bytes(daemon))
        eventually(lambda: connections(daemon) == 1, "those who stalled are gone")
        assert most - before < 200 << 20
        assert memory_bytes(daemon) - before < 120 << 20


def connections(daemon: Daemon) -> int:
    return int(daemon.get("/status")["limits"]["maxConnections"]["used"])
