"""A real daemon, started as a user starts it, and a few words to talk to it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from dragoman.wire.sse import SseParser
from tests.fork_server import ForkedProcess, fork

DEADLINE_S = 30.0
AGENTS = Path(__file__).parent.parent / ".agents"
"""Where `make agents` has installed the real ones."""


class Reply(Struct, frozen=True):
    """An HTTP answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, decoded."""
        return msgspec.json.decode(self.body)


class Daemon:
    """A daemon on a data folder; may be killed and started again, on the same port."""

    MODULE = "dragoman.cli.main"

    def __init__(
        self,
        data_dir: Path,
        *flags: str,
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self.data_dir = data_dir
        self.port = 0
        self._flags = flags
        # A folder of its own: sessions tell what happens to files where they work.
        self.cwd = cwd or data_dir.with_name(f"{data_dir.name}-work")
        self._env = {k: v for k, v in os.environ.items() if not k.startswith("DRAGOMAN_")}
        self._env["DRAGOMAN_AGENTS_DIR"] = str(AGENTS)
        # Never the home of whoever runs the tests: files are served from it.
        self.files = data_dir.with_name(f"{data_dir.name}-files")
        self._env["HOME"] = str(self.files)
        self._env.update(env or {})
        self.python: tuple[str, ...] | None = None
        """Python, and what stands before it, for a daemon that is not forked."""
        self.process: subprocess.Popen[str] | ForkedProcess | None = None

    @property
    def token(self) -> str:
        return (self.data_dir / "token").read_text().strip()

    def start(self) -> None:
        """Start, and wait until it serves."""
        self.files.mkdir(parents=True, exist_ok=True)
        self.cwd.mkdir(parents=True, exist_ok=True)
        self.process = self._process()
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if "listens on" not in line:
            _, errors = self.process.communicate()
            raise AssertionError(f"the daemon did not start: {line}{errors}")
        self.port = int(line.strip().rpartition(":")[2])

    def _process(self) -> subprocess.Popen[str] | ForkedProcess:
        words = ["serve", "--data-dir", str(self.data_dir), "--port", str(self.port), *self._flags]
        if self.python is None:
            return fork(self.MODULE, words, self._env, self.cwd)
        return subprocess.Popen(
            [*self.python, "-m", self.MODULE, *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self._env,
            cwd=self.cwd,
        )  # fmt: skip

    def kill(self) -> None:
        """SIGKILL."""
        assert self.process is not None
        self.process.kill()
        self._reap()

    def stop(self) -> int:
        """SIGTERM, and wait; the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self._reap()

    def _reap(self) -> int:
        assert self.process is not None
        code = self.process.wait(DEADLINE_S)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        self.process = None
        return code

    # --- Talking ---

    def connect(self, timeout: float = DEADLINE_S) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def headers(self, **more: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", **more}

    def request(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Reply:
        """One request on a connection of its own."""
        sent = {**self.headers(), **(headers or {})}
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        connection = self.connect()
        try:
            connection.request(method, f"/v1{path}", data, sent)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, found, answer.read())
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        """GET something that must be there."""
        reply = self.request("GET", path)
        assert reply.status == 200, reply.body
        return reply.json

    def create(self, session_id: str, **more: Any) -> None:
        reply = self.request("POST", f"/sessions/{session_id}", {"agent": "mock", **more})
        assert reply.status == 200, reply.body

    def send(
        self, session_id: str, message: str, key: str | None = None, delivery: str | None = None
    ) -> str:
        """Send a message; its id."""
        headers = {} if key is None else {"Idempotency-Key": key}
        path = f"/sessions/{session_id}/messages"
        path += "" if delivery is None else f"?delivery={delivery}"
        reply = self.request("POST", path, {"message": message}, headers)
        assert reply.status == 204, reply.body
        return reply.headers["dragoman-message-id"]

    def events(self, session_id: str, *, raw: bool = False) -> list[dict[str, Any]]:
        """All events there are now, page by page."""
        found: list[dict[str, Any]] = []
        while True:
            after = found[-1]["sequence"] if found else 0
            path = f"/sessions/{session_id}/events?offset={after}&limit=10000"
            page = self.get(path + ("&include_raw=true" if raw else ""))
            found += page["events"]
            if not page["hasMore"]:
                return found

    @contextmanager
    def stream(
        self, path: str, *, method: str = "GET", body: Any = None, **headers: str
    ) -> Iterator[Stream]:
        """Follow a stream."""
        connection = self.connect()
        sent = self.headers(**{name.replace("_", "-"): value for name, value in headers.items()})
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        connection.request(method, f"/v1{path}", data, sent)
        try:
            yield Stream(connection.getresponse())
        finally:
            connection.close()

    def turn(self, session_id: str, message: str) -> list[dict[str, Any]]:
        """Send a message and wait for its turn to end; the turn's events."""
        path = f"/sessions/{session_id}/messages/stream"
        with self.stream(path, method="POST", body={"message": message}) as stream:
            assert stream.status == 200, stream.read()
            return list(stream)

    def wait_for(self, session_id: str, type: str, after: int = 0) -> dict[str, Any]:
        """The next event of a type."""
        with self.stream(f"/sessions/{session_id}/events/sse?offset={after}") as stream:
            for event in stream:
                if event["type"] == type:
                    return event
        raise AssertionError(f"the stream ended without {type}")


class Stream:
    """An SSE answer, event by event."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self.status = answer.status
        self._answer = answer
        self._parser = SseParser()

    def read(self) -> bytes:
        return self._answer.read()

    def blocks(self) -> Iterator[bytes]:
        """What stands between empty lines, as it comes: comments too."""
        rest = b""
        while chunk := self._answer.read1(1 << 16):
            *blocks, rest = (rest + chunk).split(b"\n\n")
            yield from blocks

    def frames(self) -> Iterator[tuple[str | None, bytes]]:
        """Id and data of each event, as they come."""
        while chunk := self._answer.read1(1 << 16):
            yield from self._parser.feed(chunk)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for _, data in self.frames():
            yield msgspec.json.decode(data)


@contextmanager
def running(
    data_dir: Path, *flags: str, env: dict[str, str] | None = None, cwd: Path | None = None
) -> Iterator[Daemon]:
    """A daemon for a test; whatever the test did to it, it is gone afterwards."""
    daemon = Daemon(data_dir, *flags, env=env, cwd=cwd)
    daemon.start()
    try:
        yield daemon
    finally:
        if daemon.process is not None:
            daemon.stop()
