"""Case 27: there are so many places, and whoever finds none is told when to come again."""

from __future__ import annotations

import resource
import sys
from contextlib import ExitStack
from pathlib import Path

from tests.daemon import Daemon, running
from tests.http import Answer, ask, connected, read_answer, request

from .common import eventually, open_files
from .wire import bearer, host, raw


def assert_full(answer: Answer) -> None:
    assert (answer.status, answer.problem["title"]) == (503, "Service Unavailable")
    assert answer.header("retry-after") == "1"


def stream(daemon: Daemon, session: str = "s") -> bytes:
    return request(f"/v1/sessions/{session}/events/sse", host(daemon), bearer(daemon))


def test_case_27_a_stream_too_many_is_503_until_one_ends(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_MAX_STREAMS": "3"}) as daemon, ExitStack() as stack:
        daemon.create("s")
        following = [stack.enter_context(connected(daemon.port)) for _ in range(3)]
        for connection in following:
            connection.sendall(stream(daemon))
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        assert_full(ask(daemon.port, stream(daemon)))
        # A message that cannot be followed is not accepted either, so it can be sent again.
        path = "/v1/sessions/s/messages/stream"
        lines = (host(daemon), bearer(daemon), "Content-Type: application/json")
        body = b'{"message":"hi"}'
        assert_full(raw(daemon, path, *lines, method="POST", body=body))
        assert [event["type"] for event in daemon.events("s")] == ["session.started"]
        following.pop().close()
        eventually(lambda: _is_followed(daemon), "the place of a stream that ended is free")


def _is_followed(daemon: Daemon) -> bool:
    with connected(daemon.port) as connection:
        connection.sendall(stream(daemon))
        return connection.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_case_27_streams_leave_a_place_for_requests(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_MAX_CONNECTIONS": "20"}) as daemon, ExitStack() as stack:
        daemon.create("s")
        statuses = []
        for _ in range(20):
            connection = stack.enter_context(connected(daemon.port))
            connection.sendall(stream(daemon))
            statuses.append(connection.recv(12)[-3:])
        assert statuses == [b"200"] * 18 + [b"503"] * 2
        assert daemon.request("GET", "/sessions").status == 200


def test_case_27_a_connection_too_many_is_503_and_those_inside_go_on(data_dir: Path) -> None:
    env = {"DRAGOMAN_MAX_CONNECTIONS": "10", "DRAGOMAN_MAX_STREAMS": "10"}
    with running(data_dir, env=env) as daemon, ExitStack() as stack:
        daemon.create("s")
        daemon.turn("s", "echo hi")
        baseline = open_files(daemon)
        following = [stack.enter_context(connected(daemon.port)) for _ in range(10)]
        for connection in following:
            connection.sendall(stream(daemon))
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        for _ in range(100):
            assert_full(ask(daemon.port, request("/v1/health", host(daemon))))
        following[0].close()
        eventually(
            lambda: raw(daemon, "/v1/health", host(daemon)).status == 200, "there is room again"
        )
        daemon.send("s", "echo later")
        for connection in following[1:]:
            received = b""
            while b"later" not in received:
                received += connection.recv(65536)
        stack.close()
        eventually(lambda: open_files(daemon) <= baseline, "their descriptors are free again")


def test_case_27_connections_that_ask_for_nothing_make_room(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_MAX_CONNECTIONS": "10"}) as daemon, ExitStack() as stack:
        for number in range(200):
            idle = stack.enter_context(connected(daemon.port))
            idle.sendall(b"GET /v1/health HTTP/1.1\r\n" if number % 2 else b"")
        assert daemon.get("/health") == {"status": "ok"}
        assert daemon.get("/sessions") == {"sessions": []}
        late = stack.enter_context(connected(daemon.port))
        late.sendall(request("/v1/health", host(daemon)))
        assert read_answer(late).status == 200


def test_case_27_however_few_files_there_are_who_comes_too_late_is_told(data_dir: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    daemon = Daemon(data_dir)
    daemon.python = (sys.executable,)
    resource.setrlimit(resource.RLIMIT_NOFILE, (80, hard))
    try:
        daemon.start()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    told = set()
    with ExitStack() as opened:
        for _ in range(60):
            connection = opened.enter_context(connected(daemon.port))
            connection.sendall(request("/v1/events/sse", host(daemon), bearer(daemon)))
            told.add(connection.recv(200).split()[1])
    daemon.stop()
    assert told == {b"200", b"503"}
