"""A receiver of webhooks on loopback that answers as a test tells it to, and can be killed."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

import msgspec
from msgspec import Struct

DEADLINE_S = 30.0
Behaviour = int | Literal["drop", "hang", "endless"]
"""A status; no answer; none until the receiver is killed; a body without end."""


class Arrival(Struct, frozen=True):
    """A request, and what became of it."""

    headers: dict[str, str]
    body: bytes
    answer: Behaviour

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def event(self) -> dict[str, Any]:
        decoded: dict[str, Any] = msgspec.json.decode(self.body)
        return decoded

    @property
    def is_success(self) -> bool:
        return self.answer == "endless" or (isinstance(self.answer, int) and self.answer < 300)


class Receiver:
    """Listens on a port of its own, also after it was killed and started again."""

    def __init__(self) -> None:
        self.port = 0
        self.answers: list[Behaviour] = []
        """What the next requests get; then 204."""
        self.answer_headers: dict[str, str] = {}
        self.arrivals: list[Arrival] = []
        self.tls: ssl.SSLContext | None = None
        """What it shows to whoever connects; None: it speaks plain HTTP."""
        self._news = threading.Condition()
        self._killed = threading.Event()
        self._sockets: set[socket.socket] = set()
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}/hook"

    def start(self) -> None:
        """Listen."""
        receiver, self._killed = self, threading.Event()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                receiver._sockets.add(self.request)
                super().setup()

            def do_POST(self) -> None:
                receiver._receive(self)

            def log_message(self, *words: object) -> None:
                """Say nothing."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                """A connection that is reset is what is tested."""

        self._server = Server(("127.0.0.1", self.port), Handler)
        self.port = self._server.server_port
        if self.tls is not None:
            self._server.socket = self.tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def kill(self) -> None:
        """Be gone, and reset every connection."""
        if self._server is None or self._thread is None:
            return
        self._killed.set()
        self._server.shutdown()
        self._thread.join()
        for each in self._sockets:
            with suppress(OSError):  # it was closed before
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                each.shutdown(socket.SHUT_RDWR)
        self._server.server_close()
        self._sockets.clear()
        self._server = None

    def _receive(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers["content-length"]))
        headers = {name.lower(): value for name, value in handler.headers.items()}
        with self._news:
            answer = self.answers.pop(0) if self.answers else 204
        arrival = Arrival(headers, body, answer)
        handler.close_connection = not isinstance(answer, int)
        if answer == "hang":
            self._note(arrival)
            self._killed.wait(DEADLINE_S)
            return
        if answer != "drop":
            handler.send_response(200 if answer == "endless" else answer)
            for name, value in self.answer_headers.items():
                handler.send_header(name, value)
            handler.send_header("content-length", "999999999" if answer == "endless" else "0")
            handler.end_headers()
        self._note(arrival)
        if answer == "endless":
            self._killed.wait(DEADLINE_S)

    def _note(self, arrival: Arrival) -> None:
        with self._news:
            self.arrivals.append(arrival)
            self._news.notify_all()

    # --- What has come ---

    def wait_for(self, count: int) -> list[Arrival]:
        """The requests so far, once there are so many."""
        with self._news:
            there = self._news.wait_for(lambda: len(self.arrivals) >= count, DEADLINE_S)
            assert there, f"{len(self.arrivals)} requests came, not {count}"
            return list(self.arrivals)

    def wait_until_taken(self, ids: Sequence[str]) -> list[Arrival]:
        """The requests that succeeded, once all of these are among them."""

        def missing() -> set[str]:
            return {*ids} - {each.id for each in self.arrivals if each.is_success}

        with self._news:
            assert self._news.wait_for(lambda: not missing(), DEADLINE_S), missing()
            return [each for each in self.arrivals if each.is_success]


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver for a test; killed in the end."""
    receiver = Receiver()
    receiver.start()
    try:
        yield receiver
    finally:
        receiver.kill()
