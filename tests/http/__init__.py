"""A real server on loopback, the door in front of it, and raw sockets to talk to both."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.client import HTTPResponse
from typing import Any, NamedTuple, cast

import msgspec
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.http.auth.authenticator import Authenticator, Caller
from dragoman.http.auth.middleware import CALLER, AuthMiddleware
from dragoman.http.connection_limits import ConnectionLimits, ConnectionSettings
from dragoman.http.uvicorn_protocol import Protocol

TOKEN = "the-good-token"
BEARER = f"Authorization: Bearer {TOKEN}"


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        """Give the only value of a header."""
        values = [value for known, value in self.headers if known.lower() == name]
        assert len(values) <= 1, f"{name} came {len(values)} times"
        return values[0] if values else None

    @property
    def problem(self) -> dict[str, Any]:
        """Read the problem document."""
        assert self.header("content-type") == "application/problem+json"
        document: dict[str, Any] = msgspec.json.decode(self.body)
        assert document["status"] == self.status
        return document


@contextmanager
def listening() -> Iterator[tuple[socket.socket, int]]:
    """Hold a free port of loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener, listener.getsockname()[1]


@contextmanager
def serving(
    app: ASGIApp,
    listener: socket.socket,
    limits: ConnectionSettings | None = None,
    idle_s: int = 60,
) -> Iterator[ConnectionLimits]:
    """Run uvicorn as the daemon does."""
    connection_limits = ConnectionLimits(limits)
    config = uvicorn.Config(
        app,
        http=cast("type[asyncio.Protocol]", partial(Protocol, connection_limits=connection_limits)),
        loop="uvloop",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_keep_alive=idle_s,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        yield connection_limits
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    """Hold a connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        yield connection


def read_answer(connection: socket.socket, method: str = "GET") -> Answer:
    """Read one answer."""
    response = HTTPResponse(connection, method=method)
    try:
        response.begin()
        return Answer(response.status, response.getheaders(), response.read())
    finally:
        response.close()


def ask(port: int, request: bytes) -> Answer:
    """Send bytes over a connection of their own, and read one answer."""
    with connected(port) as connection:
        connection.sendall(request)
        return read_answer(connection, request.split(b" ")[0].decode("latin-1"))


def request(target: str, *headers: str, method: str = "GET", body: bytes = b"") -> bytes:
    """Write a request exactly as given."""
    lines = [f"{method} {target} HTTP/1.1", *headers]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


class Room:
    """What lies behind the door: it notes who came in, and reads the body."""

    def __init__(self) -> None:
        self.visits: list[tuple[str, str, Caller | None]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the size of the body."""
        self.visits.append((scope["method"], scope["path"], scope.get(CALLER)))
        size_bytes = 0
        while True:
            message = await receive()
            size_bytes += len(message.get("body", b""))
            if not message.get("more_body"):
                break
        body = str(size_bytes).encode()
        headers = [(b"content-length", str(len(body)).encode())]
        if scope["path"].startswith("/ui/"):
            headers.append((b"Cache-Control", b"max-age=60"))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


class House(msgspec.Struct):
    """A door with its room, and the port it listens on."""

    port: int
    room: Room
    authenticator: Authenticator

    @property
    def host(self) -> str:
        """The Host header that is right."""
        return f"Host: 127.0.0.1:{self.port}"

    def ask(self, target: str, *headers: str, method: str = "GET", body: bytes = b"") -> Answer:
        """Send one request."""
        return ask(self.port, request(target, *headers, method=method, body=body))


@contextmanager
def standing(
    *,
    token: str | None = TOKEN,
    host: str = "127.0.0.1",
    bound_port: int | None = None,
    allow_hosts: tuple[str, ...] = (),
    allow_origins: tuple[str, ...] = (),
) -> Iterator[House]:
    """Build a house, open for requests."""
    room, authenticator = Room(), Authenticator(token)
    with listening() as (listener, port):
        door = AuthMiddleware(
            room,
            authenticator=authenticator,
            host=host,
            port_of=lambda: bound_port or port,
            allow_hosts=allow_hosts,
            allow_origins=allow_origins,
            public=("/public", "/ui/"),
        )
        with serving(door, listener):
            yield House(port=port, room=room, authenticator=authenticator)


async def never() -> Message:
    """Receive nothing, and be surprised to be asked."""
    raise AssertionError("nothing should be received")


def assert_refused(house: House, answer: Answer, status: int = 403) -> None:
    """Check that a request was answered at the door, and only there."""
    assert answer.status == status, answer
    assert answer.problem["type"].startswith("urn:dragoman:error:")
    assert answer.header("connection") == "close"
    assert answer.header("x-content-type-options") == "nosniff"
    assert answer.header("cache-control") == "no-store"
    assert answer.header("access-control-allow-origin") is None
    assert house.room.visits == []
