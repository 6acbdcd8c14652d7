"""What one connection may take: bytes, time and places, seen from a raw socket."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from starlette.types import Receive, Scope, Send

from dragoman.http.connection_limits import UNAUTHENTICATED, ConnectionLimits, ConnectionSettings
from dragoman.http.uvicorn_protocol import MAX_PIPELINED
from tests.http import Answer, connected, listening, read_answer, request, serving

HOST = "Host: x"
SOON_S = 0.4
"""A limit that is reached while one waits."""
PATIENCE_S = 10.0


class Listener:
    """Reads the body, notes what came of it, and answers with its size and its headers."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self.headers: list[tuple[bytes, bytes]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer; `/large` with more than anybody's buffers hold, `/early` before the body."""
        size = 0
        while scope["path"] != "/early":
            message = await receive()
            if message["type"] == "http.disconnect":
                self.ended.set()
                return
            size += len(message["body"])
            if not message["more_body"]:
                break
        self.headers = list(scope["headers"])
        body = b"x" * (64 << 20) if scope["path"] == "/large" else str(size).encode()
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


class Place:
    """A server with limits."""

    def __init__(self, port: int, app: Listener, connection_limits: ConnectionLimits) -> None:
        self.port = port
        self.app = app
        self.connection_limits = connection_limits


@contextmanager
def place(limits: ConnectionSettings | None = None, idle_s: int = 60) -> Iterator[Place]:
    app = Listener()
    with (
        listening() as (listener, port),
        serving(app, listener, limits, idle_s) as connection_limits,
    ):
        yield Place(port, app, connection_limits)


@pytest.fixture(scope="module")
def plain() -> Iterator[Place]:
    with place() as it:
        yield it


def ask(port: int, content: bytes) -> Answer:
    with connected(port) as connection:
        connection.sendall(content)
        return read_answer(connection)


def is_over(connection: socket.socket) -> bool:
    """Whether the other side ends the connection, with a word or without."""
    connection.settimeout(PATIENCE_S)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def was_cut(connection: socket.socket) -> bool:
    """Whether somebody who never stops is stopped."""
    try:
        for _ in range(4096):
            connection.sendall(b"x" * 65536)
    except OSError:
        return True
    return False


def assert_refused(answer: Answer, status: int, kind: str) -> None:
    assert answer.status == status
    assert answer.problem["type"] == f"urn:dragoman:error:{kind}"
    assert answer.header("connection") == "close"
    assert answer.header("x-content-type-options") == "nosniff"
    assert answer.header("cache-control") == "no-store"


# --- How much ---

LIMITS = ConnectionSettings()


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (request("/", HOST, *["a: b"] * (LIMITS.header_count - 1)), 200),
        (request("/", HOST, *["a: b"] * LIMITS.header_count), 431),
        (request("/", HOST, "a: " + "b" * (LIMITS.header_bytes - 20)), 200),
        (request("/", HOST, "a: " + "b" * LIMITS.header_bytes), 431),
        (request("/", HOST, "a" * LIMITS.header_bytes + ": b"), 431),
        (request("/?" + "b" * (LIMITS.header_bytes - 30), HOST), 200),
        (request("/?" + "b" * LIMITS.header_bytes, HOST), 431),
        (request("/", HOST, *[f"a{n}: " + "b" * 1000 for n in range(40)]), 431),
    ],
    ids=["count", "counted", "value", "large value", "large name", "target", "long", "sum"],
)
def test_a_head_may_be_so_large(plain: Place, head: bytes, status: int) -> None:
    answer = ask(plain.port, head)
    assert answer.status == status
    if status != 200:
        assert_refused(answer, 431, "headers_too_large")


@pytest.mark.parametrize(
    "begin", [b"GET /", b"GET / HTTP/1.1\r\nHost: x\r\na: ", b"GET / HTTP/1.1\r\na"]
)
def test_a_head_without_end_is_refused_while_it_comes(plain: Place, begin: bytes) -> None:
    with connected(plain.port) as connection:
        connection.sendall(begin)
        assert was_cut(connection)


def test_a_large_head_in_small_pieces_is_refused(plain: Place) -> None:
    with connected(plain.port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\na: ")
        for _ in range(40):
            connection.sendall(b"b" * 1024)
        assert_refused(read_answer(connection), 431, "headers_too_large")
        assert is_over(connection)


def test_a_head_of_a_good_size_may_come_in_pieces(plain: Place) -> None:
    with connected(plain.port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
        for n in range(30):
            connection.sendall(f"a{n}: {'b' * 1000}\r\n".encode())
        connection.sendall(b"\r\n")
        assert read_answer(connection).status == 200


def test_a_body_before_a_head_is_not_counted_as_head(plain: Place) -> None:
    body = b"x" * 200_000
    with connected(plain.port) as connection:
        connection.sendall(request("/", HOST, method="POST", body=body) + b"GET / HT")
        assert read_answer(connection, "POST").body == b"200000"
        connection.sendall(b"TP/1.1\r\nHost: x\r\n\r\n")
        assert read_answer(connection).status == 200


def test_what_comes_after_a_body_is_no_header(plain: Place) -> None:
    head = request("/", HOST, "Transfer-Encoding: chunked", method="POST")
    answer = ask(plain.port, head + b"2\r\n{}\r\n0\r\nAuthorization: Bearer x\r\n\r\n")
    assert answer.body == b"2"
    assert [name for name, _ in plain.app.headers] == [b"host", b"transfer-encoding"]


def test_what_comes_after_a_body_is_counted(plain: Place) -> None:
    head = request("/", HOST, "Transfer-Encoding: chunked", method="POST")
    answer = ask(plain.port, head + b"2\r\n{}\r\n0\r\n" + b"a: b\r\n" * 200 + b"\r\n")
    assert_refused(answer, 431, "headers_too_large")


def test_the_rest_of_a_body_that_was_answered_is_not_read_for_ever(plain: Place) -> None:
    head = request("/early", HOST, f"Content-Length: {1 << 40}", method="POST")
    with connected(plain.port) as connection:
        connection.sendall(head)
        assert read_answer(connection, "POST").status == 200
        assert was_cut(connection)


# --- How long ---


def test_half_a_head_is_given_up() -> None:
    with place(ConnectionSettings(header_s=SOON_S)) as it, connected(it.port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\na: b")
        assert_refused(read_answer(connection), 408, "request_timeout")
        assert is_over(connection)


def test_a_head_that_comes_a_byte_at_a_time_is_given_up() -> None:
    """Slow-loris: something always comes, but never enough."""
    with place(ConnectionSettings(header_s=SOON_S)) as it, connected(it.port) as connection:
        connection.settimeout(0.05)
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                connection.sendall(b"a: b\r\n")
                received = connection.recv(65536)
            except TimeoutError:
                continue
            break
        assert received.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("dribble", [b"", b"\r\n"])
def test_who_asks_for_nothing_is_let_go(dribble: bytes) -> None:
    with place(ConnectionSettings(header_s=SOON_S)) as it, connected(it.port) as connection:
        connection.sendall(dribble)
        assert is_over(connection)


def test_empty_lines_do_not_keep_an_answered_connection_open() -> None:
    with place(ConnectionSettings(header_s=SOON_S)) as it, connected(it.port) as connection:
        connection.sendall(request("/", HOST))
        assert read_answer(connection).status == 200
        connection.settimeout(0.05)
        deadline = time.monotonic() + PATIENCE_S
        ended = False
        while not ended and time.monotonic() < deadline:
            try:
                connection.sendall(b"\r\n")
                ended = connection.recv(1) == b""
            except TimeoutError:
                continue
            except OSError:
                ended = True
        assert ended


def test_an_answered_connection_that_is_idle_is_closed() -> None:
    with place(idle_s=1) as it, connected(it.port) as connection:
        connection.sendall(request("/", HOST))
        assert read_answer(connection).status == 200
        assert is_over(connection)


def test_a_body_that_stalls_is_given_up_and_its_reader_is_told() -> None:
    with place(ConnectionSettings(body_s=SOON_S)) as it, connected(it.port) as connection:
        connection.sendall(request("/", HOST, "Content-Length: 10", method="POST") + b"12345")
        assert_refused(read_answer(connection, "POST"), 408, "request_timeout")
        assert it.app.ended.wait(PATIENCE_S)
        assert is_over(connection)


def test_a_slow_body_that_goes_on_is_read() -> None:
    with place(ConnectionSettings(body_s=SOON_S)) as it, connected(it.port) as connection:
        connection.sendall(request("/", HOST, "Content-Length: 8", method="POST"))
        began = time.monotonic()
        connection.settimeout(SOON_S / 4)
        for _ in range(7):
            connection.sendall(b"x")
            with pytest.raises(TimeoutError):
                connection.recv(1)
        connection.settimeout(PATIENCE_S)
        connection.sendall(b"x")
        assert read_answer(connection, "POST").body == b"8"
        assert time.monotonic() - began > SOON_S


def test_an_answer_that_nobody_takes_is_given_up() -> None:
    with place(ConnectionSettings(stalled_s=SOON_S)) as it, connected(it.port) as connection:
        connection.sendall(request("/large", HOST))
        deadline = time.monotonic() + PATIENCE_S
        # It takes nothing, and looks at what became of the connection from outside.
        while it.connection_limits.connections or not _had_one(it):
            assert time.monotonic() < deadline, "the connection is still there"
            time.sleep(0.02)


def _had_one(it: Place) -> bool:
    return bool(it.app.headers)


# --- Parting ---


def test_who_is_refused_while_sending_can_read_why(plain: Place) -> None:
    with connected(plain.port) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nno header\r\n\r\n")
        for _ in range(64):
            connection.sendall(b"x" * 65536)
        assert_refused(read_answer(connection, "POST"), 400, "invalid_request")
        assert is_over(connection)


# --- Pipelining ---


def test_requests_sent_ahead_are_answered_in_order(plain: Place) -> None:
    bodies = [b"x" * n for n in (1, 0, 30)]
    with connected(plain.port) as connection:
        connection.sendall(b"".join(request("/", HOST, method="POST", body=b) for b in bodies))
        received = b""
        while received.count(b"HTTP/1.1 200 OK") < 3 or not received.endswith(b"30"):
            received += connection.recv(65536)
    answers = received.split(b"HTTP/1.1 200 OK")[1:]
    assert [answer.rpartition(b"\r\n\r\n")[2] for answer in answers] == [b"1", b"0", b"30"]


def test_too_many_requests_sent_ahead_end_the_connection(plain: Place) -> None:
    with connected(plain.port) as connection:
        connection.sendall(request("/", HOST) * (MAX_PIPELINED + 10))
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    assert received.count(b"HTTP/1.1 ") < MAX_PIPELINED


# --- Places ---


@contextmanager
def at_work(port: int, count: int) -> Iterator[list[socket.socket]]:
    """Connections whose requests are being worked on."""
    with ExitStack() as stack:
        found = [stack.enter_context(connected(port)) for _ in range(count)]
        for connection in found:
            lines = (HOST, "Content-Length: 1", "Expect: 100-continue")
            connection.sendall(request("/", *lines, method="POST"))
            assert connection.recv(100).startswith(b"HTTP/1.1 100 ")
        yield found


def test_who_has_been_quiet_for_longest_makes_room() -> None:
    with place(ConnectionSettings(connections=3)) as it, ExitStack() as stack:
        first, second, third = (stack.enter_context(connected(it.port)) for _ in range(3))
        for connection in (second, third, first):
            connection.sendall(request("/", HOST))
            assert read_answer(connection).status == 200
        fourth = stack.enter_context(connected(it.port))
        fourth.sendall(request("/", HOST))
        assert read_answer(fourth).status == 200
        assert is_over(second)
        for connection in (third, first):
            connection.sendall(request("/", HOST))
            assert read_answer(connection).status == 200
        assert it.connection_limits.refused == 0


def test_half_heads_keep_nobody_out() -> None:
    with place(ConnectionSettings(connections=10)) as it, ExitStack() as stack:
        for _ in range(50):
            stack.enter_context(connected(it.port)).sendall(b"GET / HTTP/1.1\r\na: ")
        assert ask(it.port, request("/", HOST)).status == 200


def test_where_all_are_at_work_a_newcomer_gets_503_and_a_time() -> None:
    with place(ConnectionSettings(connections=3)) as it, at_work(it.port, 3) as working:
        for _ in range(UNAUTHENTICATED + 3):
            answer = ask(it.port, request("/", HOST))
            assert_refused(answer, 503, "service_unavailable")
            assert answer.header("retry-after") == "1"
        assert it.connection_limits.refused == UNAUTHENTICATED + 3
        working[1].sendall(b"x")
        assert read_answer(working[1], "POST").body == b"1"
        assert ask(it.port, request("/", HOST)).status == 200
        for connection in (working[0], working[2]):
            connection.sendall(b"x")
            assert read_answer(connection, "POST").body == b"1"


def test_everybody_who_left_is_forgotten() -> None:
    with place(ConnectionSettings(connections=20)) as it:
        for _ in range(3):
            with at_work(it.port, 20):
                assert it.connection_limits.connections == 20
        deadline = time.monotonic() + PATIENCE_S
        while it.connection_limits.connections:
            assert time.monotonic() < deadline
            time.sleep(0.01)
