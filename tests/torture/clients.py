"""People around a daemon that keeps dying: readers that resume, and senders that try again."""

from __future__ import annotations

import hashlib
import http.client
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

import msgspec

from dragoman.runtime.processes import linux
from dragoman.wire.sse import SseParser
from tests.daemon import Daemon

GONE = (OSError, http.client.HTTPException)
PATIENCE_S = 60.0


class Up:
    """Whether the daemon is up, so that nobody has to try in vain."""

    def __init__(self) -> None:
        self._up = threading.Event()
        self.over = False

    @contextmanager
    def down(self) -> Iterator[None]:
        """The daemon is down meanwhile."""
        self._up.clear()
        yield
        self._up.set()

    def end(self) -> None:
        """It is gone for good; nobody has to try any more."""
        self.over = True
        self._up.set()

    def wait(self) -> None:
        """Wait until it is up."""
        if not self._up.wait(PATIENCE_S):
            raise TimeoutError("the daemon did not come back")


class Reader(threading.Thread):
    """Follows a session through every cut, and keeps the exact bytes of what it saw."""

    def __init__(self, daemon: Daemon, up: Up, session_id: str) -> None:
        super().__init__(daemon=True)
        self.session_id = session_id
        self.seen: list[tuple[int, bytes]] = []
        self.refused: bytes | None = None
        self.cuts = 0
        self.news = threading.Condition()
        self._daemon = daemon
        self._up = up

    def run(self) -> None:
        """Read until the session has ended; after every cut go on after what was seen."""
        while self.refused is None and not self._ended() and not self._up.over:
            self._up.wait()
            try:
                self._follow()
            except GONE:
                self.cuts += 1

    def wait_for(self, count: int, seconds: float) -> bool:
        """Wait until so many events were seen."""
        with self.news:
            return self.news.wait_for(lambda: len(self.seen) >= count, seconds)

    def _ended(self) -> bool:
        return bool(self.seen) and b'"type":"session.ended"' in self.seen[-1][1]

    def _follow(self) -> None:
        connection = self._daemon.connect(PATIENCE_S)
        headers = self._daemon.headers()
        if self.seen:
            headers["Last-Event-ID"] = str(self.seen[-1][0])
        try:
            path = f"/v1/sessions/{self.session_id}/events/sse"
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            if answer.status == 400:
                # A position that was shown and is not there any more: the promise is broken.
                self.refused = answer.read()
            elif answer.status == 200:
                self._take(answer)
        finally:
            connection.close()

    def _take(self, answer: http.client.HTTPResponse) -> None:
        parser = SseParser()
        while chunk := answer.read1(1 << 16):
            fresh = [(int(id or 0), data) for id, data in parser.feed(chunk)]
            if fresh:
                with self.news:
                    self.seen += fresh
                    self.news.notify_all()


class Sender(threading.Thread):
    """Sends what it is given to one session, each again with its key until it is accepted."""

    def __init__(self, daemon: Daemon, up: Up, session_id: str) -> None:
        super().__init__(daemon=True)
        self.session_id = session_id
        self.orders: SimpleQueue[tuple[str, str] | None] = SimpleQueue()
        self.accepted: dict[str, str] = {}
        self.tries = 0
        self.failed: bytes | None = None
        self._daemon = daemon
        self._up = up

    def run(self) -> None:
        """Work off the orders; None is the last."""
        while (order := self.orders.get()) is not None and self.failed is None:
            key, prompt = order
            while key not in self.accepted and self.failed is None and not self._up.over:
                self._up.wait()
                self._try(key, prompt)

    def _try(self, key: str, prompt: str) -> None:
        self.tries += 1
        try:
            reply = self._daemon.request(
                "POST", f"/sessions/{self.session_id}/messages", {"message": prompt},
                {"Idempotency-Key": key},
            )  # fmt: skip
        except GONE:
            return
        if reply.status == 204:
            self.accepted[key] = reply.headers["dragoman-message-id"]
        elif reply.status != 503:
            self.failed = reply.body


def free_port(dice: random.Random) -> int:
    """A port that no outgoing connection takes while the daemon is down."""
    while True:
        port = dice.randrange(20_000, 32_000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


def stored(daemon: Daemon, session_id: str) -> list[bytes]:
    """The exact JSON text of every stored event."""
    lines: list[bytes] = []
    while True:
        path = f"/sessions/{session_id}/events?offset={len(lines)}&limit=10000"
        page = msgspec.json.decode(daemon.request("GET", path).body, type=_Page)
        lines += [bytes(event) for event in page.events]
        if not page.has_more:
            return lines


class _Page(msgspec.Struct, rename="camel"):
    events: list[msgspec.Raw]
    has_more: bool


def agents_of(data_dir: Path) -> list[int]:
    """Processes that agents of this folder's daemon left; a zombie is none."""
    mark = hashlib.sha256(str(data_dir.resolve()).encode()).hexdigest()[:16]
    living = []
    for pid, started in linux.marked(f"{mark}:"):
        try:
            if linux.start_time(pid) == started and linux.state(pid) != "Z":
                living.append(pid)
        except OSError:
            continue
    return living
