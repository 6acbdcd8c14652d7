"""`dragoman record --http` stands before an agent that speaks HTTP."""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from dragoman.testing.recordings.transcript import Line, Run, load

RECORD = (sys.executable, "-m", "dragoman.cli.main", "record")
DEADLINE_S = 30


class Upstream(ThreadingHTTPServer):
    """An agent that streams one event, and the next when it is allowed to."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.go_on = threading.Event()


class Handler(BaseHTTPRequestHandler):
    server: Upstream

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b'data: {"n":1}\n\n')
        self.server.go_on.wait(DEADLINE_S)
        self.wfile.write(b'data: {"n":2}\n\n')

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(201)
        self.send_header("X-Agent", self.headers["X-Client"])
        self.end_headers()
        self.wfile.write(body[::-1])


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@contextmanager
def recording(url: str, out: Path) -> Iterator[http.client.HTTPConnection]:
    """A recorder before the agent, and a connection to it; then it is stopped."""
    process = subprocess.Popen(
        [*RECORD, f"--http={url}", "--listen=0", f"--out={out}"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    port = int(process.stdout.readline().strip().rpartition(":")[2])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)
    try:
        yield connection
    finally:
        connection.close()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=DEADLINE_S)


def shown(run: Run) -> list[tuple[str, dict[str, Any], bytes]]:
    return [(line.dir, line.http or {}, line.data) for line in run.entries
            if isinstance(line, Line)]  # fmt: skip


def test_requests_and_responses_pass_and_are_recorded(upstream: Upstream, tmp_path: Path) -> None:
    out = tmp_path / "x.jsonl"
    with recording(f"http://127.0.0.1:{upstream.server_port}", out) as agent:
        agent.request("POST", "/session?x=1", b'{"a":1}\nsecond', {"X-Client": "me"})
        answer = agent.getresponse()
        assert (answer.status, answer.getheader("X-Agent")) == (201, "me")
        assert answer.read() == b'dnoces\n}1:"a"{'
    (run,) = load(out.read_bytes())
    assert shown(run) == [
        ("in", {"id": 1, "method": "POST", "path": "/session?x=1"}, b'{"a":1}'),
        ("in", {"id": 1, "end": True}, b"second"),
        ("out", {"id": 1, "status": 201}, b""),
        ("out", {"id": 1}, b"dnoces"),
        ("out", {"id": 1, "end": True}, b'}1:"a"{'),
    ]


def test_a_stream_passes_piece_by_piece(upstream: Upstream, tmp_path: Path) -> None:
    out = tmp_path / "x.jsonl"
    with recording(f"http://127.0.0.1:{upstream.server_port}", out) as agent:
        agent.request("GET", "/event")
        stream = agent.getresponse()
        assert stream.readline() == b'data: {"n":1}\n'
        upstream.go_on.set()
        assert stream.read() == b'\ndata: {"n":2}\n\n'
    (run,) = load(out.read_bytes())
    assert [data for dir, _, data in shown(run) if dir == "out"] == [
        b"", b'data: {"n":1}', b"", b'data: {"n":2}', b"", b""
    ]  # fmt: skip
    assert shown(run)[1][1] == {"id": 1, "status": 200, "content_type": "text/event-stream"}


def test_an_agent_that_is_not_there_is_a_bad_gateway(tmp_path: Path) -> None:
    out = tmp_path / "x.jsonl"
    with recording("http://127.0.0.1:1", out) as agent:
        agent.request("GET", "/")
        assert agent.getresponse().status == 502
    (run,) = load(out.read_bytes())
    assert (run.lines("out")[0].http or {})["status"] == 502
