"""Bounds what waits to be sent, over all connections; framing for HTTP/1.0."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.store.reader import MAX_PAGE_BYTES

LARGE_BYTES = 64 * 1024
"""A body of this size may not fit into what the kernel holds for a connection."""
MAX_UNTAKEN_BYTES = 64 << 20
"""So much may wait for readers to take it, over all connections."""
STALLED_S = 2.0
"""Where too much waits, a reader that has taken nothing for so long is let go."""
SHORT_PAGE_BYTES = 256 * 1024
"""A page while too much waits for readers."""


class Reader(Protocol):
    """Somebody for whom an answer waits."""

    def stalled_s(self, now: float) -> float:
        """For how long the reader has taken nothing of what waits for it."""

    def drop(self) -> None:
        """End it at once."""


class SendTarget(Reader, Protocol):
    """A connection, as far as framing an answer needs it."""

    def unframe(self) -> None:
        """Send this answer without framing: the end of the connection is its end."""

    def write(self, data: bytes) -> None:
        """Write without framing."""

    async def drain(self) -> None:
        """Wait until the reader has taken nearly everything, or is gone."""


class Backlog:
    """What was answered and not yet taken, over all connections."""

    def __init__(self, most_bytes: int = MAX_UNTAKEN_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._buffered: dict[Reader, int] = {}

    @contextmanager
    def page(self) -> Iterator[int]:
        """Keep room for a page that is being read; how many bytes it may have."""
        has_room = self._bytes + MAX_PAGE_BYTES <= self._most_bytes
        size = MAX_PAGE_BYTES if has_room else SHORT_PAGE_BYTES
        self._bytes += size
        try:
            yield size
        finally:
            self._bytes -= size

    @contextmanager
    def holding(self, connection: Reader, size: int) -> Iterator[None]:
        """So much waits for a reader. Others who take nothing make room where that is too much."""
        self._buffered[connection] = size
        self._bytes += size
        if self._bytes > self._most_bytes:
            self._make_room()
        try:
            yield
        finally:
            self._release(connection)

    def _release(self, connection: Reader) -> None:
        self._bytes -= self._buffered.pop(connection, 0)

    def _make_room(self) -> None:
        now = asyncio.get_running_loop().time()
        waits = {connection: connection.stalled_s(now) for connection in self._buffered}
        for connection in sorted(waits, key=waits.__getitem__, reverse=True):
            if self._bytes <= self._most_bytes or waits[connection] < STALLED_S:
                return
            self._release(connection)
            connection.drop()


class Outgoing:
    """Carries out one request, with a hold on what its answer takes."""

    def __init__(
        self, app: ASGIApp, connection: SendTarget, backlog: Backlog, *, is_old: bool
    ) -> None:
        self._app = app
        self._connection = connection
        self._backlog = backlog
        self._is_old = is_old
        """The client speaks HTTP/1.0, and knows no chunks."""
        self._is_framed = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        await self._app(scope, receive, self._sender(send))

    def _sender(self, send: Send) -> Send:
        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                if self._is_old and not _has_length(message):
                    self._is_framed = False
                    self._connection.unframe()
            elif len(message.get("body", b"")) >= LARGE_BYTES:
                return await self._send_large(send, message)
            elif not self._is_framed and message.get("body"):
                self._connection.write(message["body"])
                message = {**message, "body": b""}
            return await send(message)

        return send_on

    async def _send_large(self, send: Send, message: Message) -> None:
        """The next request on this connection waits until this body is taken."""
        body = message["body"]
        with self._backlog.holding(self._connection, len(body)):
            if self._is_framed:
                await send({**message, "more_body": True})
            else:
                self._connection.write(body)
            await self._connection.drain()
        if not message.get("more_body"):
            await send({"type": "http.response.body"})


def _has_length(message: Message) -> bool:
    return any(name.lower() == b"content-length" for name, _ in message.get("headers", ()))
