from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
from collections.abc import Iterator
from http.client import IncompleteRead

import pytest
from starlette.types import Receive, Scope, Send

from dragoman.http.connection import CONNECTION, TARGET
from tests.http import Answer, ask, connected, listening, read_answer, request, serving

CHUNK = b"x" * 65536


class Mirror:
    """Tells what it sees of a request; `/stall` is dropped once its reader stops reading."""

    def __init__(self) -> None:
        self.dropped = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the path and the raw target."""
        if scope["path"] == "/stall":
            await self._stall(scope, send)
            return
        if scope["path"] == "/body":
            told = b""
            while (message := await receive()).get("more_body"):
                told += message["body"]
            told += message.get("body", b"")
        elif scope["path"] == "/nodelay":
            connection = scope[CONNECTION].transport.get_extra_info("socket")
            told = str(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)).encode()
        else:
            told = scope["path"].encode() + b" " + scope.get(TARGET, b"-")
        headers = [(b"content-length", str(len(told)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": told})

    async def _stall(self, scope: Scope, send: Send) -> None:
        transport = scope[CONNECTION].transport
        await send({"type": "http.response.start", "status": 200})
        while not transport.is_closing():
            if transport.get_write_buffer_size():
                asyncio.get_running_loop().call_soon(scope[CONNECTION].drop)
            await send({"type": "http.response.body", "body": CHUNK, "more_body": True})
        self.dropped.set()


@pytest.fixture(scope="module")
def mirror() -> Mirror:
    return Mirror()


@pytest.fixture(scope="module")
def port(mirror: Mirror) -> Iterator[int]:
    with listening() as (listener, port), serving(mirror, listener):
        yield port


def assert_not_http(answer: Answer) -> None:
    assert answer.status == 400
    assert answer.problem["type"] == "urn:dragoman:error:invalid_request"
    assert answer.header("connection") == "close"
    assert answer.header("x-content-type-options") == "nosniff"
    assert answer.header("cache-control") == "no-store"


@pytest.mark.parametrize(
    ("method", "target", "told"),
    [
        ("GET", "/a?b=c", b"/a -"),
        ("GET", "//evil.com/a", b"//evil.com/a -"),
        ("GET", "http://evil.com/a", b"/ http://evil.com/a"),
        ("GET", "http://evil.com", b"/ http://evil.com"),
        ("OPTIONS", "*", b"/ *"),
        ("CONNECT", "evil.com:443", b"/ evil.com:443"),
    ],
)
def test_a_target_that_is_no_path_is_told(port: int, method: str, target: str, told: bytes) -> None:
    with connected(port) as connection:
        connection.sendall(request(target, "Host: x", method=method))
        assert read_answer(connection, "GET").body == told


@pytest.mark.parametrize(
    "garbage",
    [
        b"hello\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost x\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: many\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
)
def test_what_is_not_http_gets_a_problem_document(port: int, garbage: bytes) -> None:
    assert_not_http(ask(port, garbage))


def test_a_broken_body_gets_a_problem_document(port: int) -> None:
    with connected(port) as connection:
        connection.sendall(request("/body", "Transfer-Encoding: chunked", method="POST"))
        connection.sendall(b"not a size\r\n")
        assert_not_http(read_answer(connection, "POST"))


def test_garbage_after_an_answer_gets_a_problem_document(port: int) -> None:
    with connected(port) as connection:
        connection.sendall(request("/a", "Host: x"))
        assert read_answer(connection).status == 200
        connection.sendall(b"garbage\r\n\r\n")
        assert_not_http(read_answer(connection))


def test_garbage_does_not_answer_the_request_before_it(port: int) -> None:
    with connected(port) as connection:
        connection.sendall(request("/a", "Host: x") + b"garbage\r\n\r\n")
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    assert b"400" not in received


def test_an_upgrade_is_ignored_and_ends_the_connection(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO), connected(port) as connection:
        connection.sendall(request("/a", "Host: x", "Connection: Upgrade", "Upgrade: h2c"))
        answer = read_answer(connection)
        assert (answer.status, answer.body) == (200, b"/a -")
        assert answer.header("connection") == "close"
        assert connection.recv(1) == b""
    assert [record for record in caplog.records if record.name != "uvicorn.access"] == []


UPGRADE = ("Host: x", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAM")


@pytest.mark.parametrize(
    ("framing", "body"),
    [
        ("Content-Length: 11", b"hello world"),
        ("Transfer-Encoding: chunked", b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"),
    ],
)
@pytest.mark.parametrize("pieces", ["whole", "cut", "bytes"])
@pytest.mark.parametrize("after", [b"", b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n", b"\0\0"])
def test_the_body_of_who_asks_for_an_upgrade_is_heard(
    port: int, framing: str, body: bytes, pieces: str, after: bytes
) -> None:
    head = request("/body", *UPGRADE, framing, method="PUT")
    with connected(port) as connection:
        if pieces == "whole":
            connection.sendall(head + body + after)
        elif pieces == "cut":
            connection.sendall(head)
            connection.sendall(body + after)
        else:
            for byte in head + body:
                connection.sendall(bytes([byte]))
            with contextlib.suppress(ConnectionError):  # it may be answered, and closed, by now
                connection.sendall(after)
        answer = read_answer(connection)
    assert (answer.status, answer.body) == (200, b"hello world")
    assert answer.header("connection") == "close"


def test_a_reader_that_takes_nothing_can_be_dropped(mirror: Mirror, port: int) -> None:
    with connected(port) as connection:
        connection.sendall(request("/stall", "Host: x"))
        # The stream ends while its reader still takes nothing; later it finds a stump.
        assert mirror.dropped.wait(10)
        with pytest.raises(IncompleteRead):
            read_answer(connection)


def test_small_frames_are_not_held_back(port: int) -> None:
    assert ask(port, request("/nodelay", "Host: x")).body == b"1"
