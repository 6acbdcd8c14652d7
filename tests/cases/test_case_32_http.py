"""Case 32: HTTP that is slow, huge, malformed or ambiguous costs its sender the connection."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from dragoman.wire.sse import SseParser
from tests.daemon import Daemon, running
from tests.http import ask, connected, read_answer, request

from .common import eventually, memory_bytes, open_files
from .wire import assert_refused, bearer, host, raw, state

QUICK = {
    "DRAGOMAN_HEADER_TIMEOUT_S": "0.5",
    "DRAGOMAN_BODY_TIMEOUT_S": "0.5",
    "DRAGOMAN_MAX_BODY_BYTES": "65536",
}
SMUGGLED = b"GET /v1/smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
CREATE = b'{"agent":"mock"}'


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("daemon"), env=QUICK) as started:
        started.create("mine")
        yield started


def post(daemon: Daemon, *lines: str, body: bytes, version: str = "1.1") -> bytes:
    """A create with these headers and this body, exactly."""
    head = [f"POST /v1/sessions HTTP/{version}", host(daemon), bearer(daemon)]
    return "\r\n".join([*head, "Content-Type: application/json", *lines, "", ""]).encode() + body


# --- Ambiguous ---

CHUNKED = "Transfer-Encoding: chunked"
ONE_CHUNK = b"%x\r\n%b\r\n0\r\n\r\n" % (len(CREATE), CREATE)
AMBIGUOUS = {
    "both": (["Content-Length: 5", CHUNKED], b"0\r\n\r\n"),
    "both, the other way round": ([CHUNKED, "Content-Length: 5"], b"0\r\n\r\n"),
    "two lengths": (["Content-Length: 2", "Content-Length: 2"], b"{}"),
    "two other lengths": (["Content-Length: 2", "Content-Length: 50"], b"{}"),
    "a list of lengths": (["Content-Length: 2, 2"], b"{}"),
    "a length with a sign": (["Content-Length: +2"], b"{}"),
    "a length below zero": (["Content-Length: -1"], b"{}"),
    "a length beyond numbers": (["Content-Length: 99999999999999999999999"], b"{}"),
    "an unknown coding": (["Transfer-Encoding: xchunked"], ONE_CHUNK),
    "two codings": (["Transfer-Encoding: gzip, chunked"], ONE_CHUNK),
    "a coding after chunked": (["Transfer-Encoding: chunked, identity"], ONE_CHUNK),
    "chunked twice": ([CHUNKED, CHUNKED], ONE_CHUNK),
    "no coding": (["Transfer-Encoding: identity"], CREATE),
    "a space before the colon": (["Transfer-Encoding : chunked"], ONE_CHUNK),
    "a control character": (["Transfer-Encoding: \x0bchunked"], ONE_CHUNK),
    "a folded line": (["X: a", " b", f"Content-Length: {len(CREATE)}"], CREATE),
    "a header without a colon": (["X", f"Content-Length: {len(CREATE)}"], CREATE),
    "a NUL": (["X: a\0b", f"Content-Length: {len(CREATE)}"], CREATE),
    "a size in hex with its prefix": ([CHUNKED], b"0x10\r\n" + CREATE + b"\r\n0\r\n\r\n"),
    "a size beyond numbers": ([CHUNKED], b"fffffffffffffffff\r\n" + CREATE),
    "a size below zero": ([CHUNKED], b"-10\r\n" + CREATE + b"\r\n0\r\n\r\n"),
    "no size": ([CHUNKED], b"\r\n" + CREATE + b"\r\n0\r\n\r\n"),
    "a chunk longer than its size": ([CHUNKED], b"10\r\n" + CREATE + b"xx\r\n0\r\n\r\n"),
    "chunks ended by LF alone": ([CHUNKED], b"10\n" + CREATE + b"\n0\n\n"),
}


@pytest.mark.parametrize("kind", AMBIGUOUS)
def test_case_32_what_could_be_read_in_two_ways_is_400_and_not_carried_out(
    daemon: Daemon, kind: str
) -> None:
    before = state(daemon)
    lines, body = AMBIGUOUS[kind]
    with connected(daemon.port) as connection:
        connection.sendall(post(daemon, *lines, body=body) + SMUGGLED)
        received = _all(connection)
    assert received.startswith(b"HTTP/1.1 400 ")
    assert b"application/problem+json" in received
    assert received.count(b"HTTP/1.1 ") == 1 + received.count(b"valid HTTP/1.1 request")
    assert b"smuggled" not in received
    assert state(daemon) == before


def test_case_32_an_old_version_has_no_chunks(daemon: Daemon) -> None:
    before = state(daemon)
    assert ask(daemon.port, post(daemon, CHUNKED, body=ONE_CHUNK, version="1.0")).status == 400
    assert state(daemon) == before


def test_case_32_good_chunks_are_read(daemon: Daemon) -> None:
    pieces = b"".join(b"%x;note=1\r\n%c\r\n" % (1, byte) for byte in CREATE) + b"0\r\nX: y\r\n\r\n"
    assert ask(daemon.port, post(daemon, CHUNKED, body=pieces)).status == 201


def test_case_32_a_header_after_the_body_opens_nothing(daemon: Daemon) -> None:
    body = ONE_CHUNK[:-2] + bearer(daemon).encode() + b"\r\n\r\n"
    lines = (host(daemon), CHUNKED, "Content-Type: application/json")
    head = request("/v1/sessions", *lines, method="POST")
    assert ask(daemon.port, head + body).status == 401


# --- Huge ---


@pytest.mark.parametrize(
    "lines",
    [["a: b"] * 200, ["a: " + "b" * 100_000], ["a" * 100_000 + ": b"]],
    ids=["many", "a large value", "a large name"],
)
def test_case_32_huge_headers_are_431(daemon: Daemon, lines: list[str]) -> None:
    assert_refused(raw(daemon, "/v1/health", host(daemon), *lines), 431)
    assert_refused(raw(daemon, "/v1/health?" + "q" * 100_000, host(daemon)), 431)


def test_case_32_a_huge_body_is_413_and_not_read(daemon: Daemon) -> None:
    lines = (host(daemon), bearer(daemon), "Content-Type: application/json")
    huge = f"Content-Length: {1 << 40}"
    answer = raw(daemon, "/v1/sessions", *lines, huge, method="POST")
    assert_refused(answer, 413)
    # And who waits to be asked for it is not asked.
    with connected(daemon.port) as connection:
        head = request("/v1/sessions", *lines, huge, "Expect: 100-continue", method="POST")
        connection.sendall(head)
        assert_refused(read_answer(connection, "POST"), 413)


@pytest.mark.parametrize("target", ["/v1/sessions", "/v1/sessions/mine/terminate", "/v1/login"])
def test_case_32_chunks_without_end_are_413_and_never_in_memory(
    daemon: Daemon, target: str
) -> None:
    before = memory_bytes(daemon)
    lines = (host(daemon), bearer(daemon), "Content-Type: application/json", CHUNKED)
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    with connected(daemon.port) as connection:
        connection.sendall(request(target, *lines, method="POST"))
        for _ in range(100):
            connection.sendall(chunk)
        assert_refused(read_answer(connection, "POST"), 413)
        with pytest.raises(OSError, match=r"Broken pipe|reset"):
            connection.sendall(chunk * 2000)
    assert memory_bytes(daemon) < before + (16 << 20)


def test_case_32_headers_without_end_are_never_in_memory(daemon: Daemon) -> None:
    before = memory_bytes(daemon)
    with connected(daemon.port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\na: ")
        with pytest.raises(OSError, match=r"Broken pipe|reset"):
            connection.sendall(b"b" * (200 << 20))
    assert memory_bytes(daemon) < before + (16 << 20)


# --- Slow ---


@pytest.mark.parametrize("piece", [b"G", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: x\r\na"])
def test_case_32_half_a_request_is_408_in_time(daemon: Daemon, piece: bytes) -> None:
    with connected(daemon.port) as connection:
        connection.sendall(piece)
        assert_refused(read_answer(connection), 408)
        assert connection.recv(1) == b""


def test_case_32_half_a_body_is_408_in_time(daemon: Daemon) -> None:
    before = state(daemon)
    with connected(daemon.port) as connection:
        connection.sendall(post(daemon, "Content-Length: 100", body=CREATE))
        assert_refused(read_answer(connection, "POST"), 408)
    assert state(daemon) == before


def test_case_32_a_crowd_of_slow_ones_is_gone_in_time_and_holds_up_nobody(
    data_dir: Path,
) -> None:
    with running(data_dir, env=QUICK) as daemon, ExitStack() as stack:
        daemon.create("s")
        baseline = open_files(daemon)
        slow = [stack.enter_context(connected(daemon.port)) for _ in range(200)]
        for connection in slow:
            connection.sendall(b"GET /v1/sessions HTTP/1.1\r\nHost: x\r\n")
        began = time.monotonic()
        while time.monotonic() < began + 1.0:
            for connection in slow[::10]:
                _say(connection, b"a: b\r\n")
            assert daemon.turn("s", "echo hi")[-1]["data"]["outcome"] == "completed"
        eventually(lambda: open_files(daemon) <= baseline + 10, "the slow ones are gone")


# --- Sent ahead ---


def test_case_32_requests_sent_ahead_are_answered_in_order(daemon: Daemon) -> None:
    targets = ["/v1/health", "/v1/sessions/mine", "/v1/sessions/none", "/v1/health"]
    sent = b"".join(request(target, host(daemon), bearer(daemon)) for target in targets)
    with connected(daemon.port) as connection:
        connection.sendall(sent[:-1])
        connection.settimeout(10)
        connection.sendall(sent[-1:])
        received = b""
        while received.count(b'{"status":"ok"}') < 2:
            received += connection.recv(65536)
    statuses = [part[:3] for part in received.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200", b"200", b"404", b"200"]


def test_case_32_thousands_sent_ahead_end_the_connection(daemon: Daemon) -> None:
    with connected(daemon.port) as connection:
        _say(connection, request("/v1/agents", host(daemon), bearer(daemon)) * 5000)
        received = _all(connection)
    assert received.count(b"HTTP/1.1 ") < 100
    assert daemon.get("/health") == {"status": "ok"}
    # Those that were being answered then are no defect of ours.
    assert "Exception in ASGI" not in (daemon.data_dir / "logs" / "daemon.log").read_text()


def _say(connection: socket.socket, words: bytes) -> bool:
    try:
        connection.sendall(words)
    except OSError:
        return False
    return True


def _all(connection: socket.socket) -> bytes:
    """Everything until the other side closes, or resets, the connection."""
    received = b""
    try:
        while chunk := connection.recv(65536):
            received += chunk
    except ConnectionResetError:
        return received
    return received


# --- Old ---


def old(target: str, *lines: str, method: str = "GET", body: bytes = b"") -> bytes:
    head = [f"{method} {target} HTTP/1.0", *lines, f"Content-Length: {len(body)}"]
    return "\r\n".join([*head, "Content-Type: application/json", "", ""]).encode() + body


def whole(daemon: Daemon, sent: bytes) -> tuple[str, bytes]:
    """Head and body of an answer that ends with its connection."""
    with connected(daemon.port) as connection:
        connection.sendall(sent)
        received = b""
        while chunk := connection.recv(1 << 16):
            received += chunk
    head, _, body = received.partition(b"\r\n\r\n")
    return head.decode().lower(), body


@pytest.mark.parametrize("alive", ["close", "keep-alive"])
def test_case_32_a_stream_for_an_old_client_has_no_chunks(daemon: Daemon, alive: str) -> None:
    """Before, HTTP/1.0 got chunks, whose sizes it took for lines: it lost events in silence."""
    session_id = f"old-{alive}"
    daemon.create(session_id)
    message = b'{"message":"echo %b"}' % (b"x" * 50_000)
    for target, method, body in (
        (f"/v1/sessions/{session_id}/messages/stream", "POST", message),
        (f"/v1/sessions/{session_id}/events/sse", "GET", b""),
    ):
        lines = (host(daemon), bearer(daemon), f"Connection: {alive}")
        if method == "GET":
            daemon.request("POST", f"/sessions/{session_id}/terminate")
        head, content = whole(daemon, old(target, *lines, method=method, body=body))
        assert "transfer-encoding" not in head
        assert "connection: close" in head
        stored = daemon.events(session_id)
        frames = [json.loads(data) for _, data in SseParser().feed(content)]
        assert frames == stored[-len(frames) :]
        assert len(frames) == len(stored) - (method == "POST")


def test_case_32_a_page_for_an_old_client_is_whole(daemon: Daemon) -> None:
    daemon.create("old-page")
    daemon.turn("old-page", "burst 2000 100")
    target = "/v1/sessions/old-page/events?limit=10000"
    head, content = whole(daemon, old(target, host(daemon), bearer(daemon)))
    assert "transfer-encoding" not in head
    assert json.loads(content)["events"] == daemon.events("old-page")
