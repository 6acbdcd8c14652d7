"""The connection that a request came by: uvicorn's where it is ours, a plain one anywhere else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from starlette.types import Receive, Scope, Send

CONNECTION = "dragoman.connection"
"""Scope key: the `Connection` of a request."""
TARGET = "dragoman.target"
"""Scope key: the raw request target, only where it is more than a path."""


class Connection(Protocol):
    """What handlers may do to a connection, beyond what ASGI has."""

    on_lost: Callable[[], object] | None
    """Called when the other side has gone."""

    def is_closing(self) -> bool:
        """Nothing more can be sent."""

    def write_chunk(self, body: bytes) -> bool:
        """Send a piece of the body at once; False: send it by `send_chunk`."""

    async def send_chunk(self, body: bytes, send: Send, timeout_s: float) -> None:
        """Send a piece of the body. Raise TimeoutError where not a byte is taken for so long."""

    def stand_aside(self) -> None:
        """Let others go first: this one is only kept waiting."""

    def stalled_s(self, now: float) -> float:
        """For how long the reader has taken nothing of what waits for it."""

    def drop(self) -> None:
        """End it at once, so that nobody takes what was sent for a whole answer."""

    # What `ConnectionLimits` asks of it.

    def look(self, now: float) -> None:
        """End what has taken too long."""

    def make_room(self) -> None:
        """Go, since others have something to ask."""


class Dropped(Exception):
    """Ends a request in a way that any server understands as a broken answer."""


class PlainConnection:
    """One request under any ASGI server, which looks after bytes and deadlines itself."""

    def __init__(self, receive: Receive) -> None:
        self.is_dropped = False
        self._is_lost = False
        self._receive = receive
        self._task = asyncio.current_task()
        self._on_lost: Callable[[], object] | None = None
        self._watcher: asyncio.Task[None] | None = None

    @property
    def on_lost(self) -> Callable[[], object] | None:
        """Called when the other side has gone."""
        return self._on_lost

    @on_lost.setter
    def on_lost(self, callback: Callable[[], object] | None) -> None:
        self._on_lost = callback
        if callback is not None and self._watcher is None:
            self._watcher = asyncio.create_task(self._watch())
        elif callback is None and self._watcher is not None:
            self._watcher.cancel()
            self._watcher = None

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._is_lost = True
        if self._on_lost is not None:
            self._on_lost()

    def is_closing(self) -> bool:
        """Nothing more can be sent."""
        return self._is_lost or self.is_dropped

    def write_chunk(self, body: bytes) -> bool:
        """Only the server may write."""
        return False

    async def send_chunk(self, body: bytes, send: Send, timeout_s: float) -> None:
        """Send a piece of the body. Raise TimeoutError where it is not taken for so long."""
        async with asyncio.timeout(timeout_s):
            await send({"type": "http.response.body", "body": body, "more_body": True})

    def stand_aside(self) -> None:
        """Connections are the server's."""

    def stalled_s(self, now: float) -> float:
        """Nobody can tell."""
        return 0.0

    def drop(self) -> None:
        """End the request; the application tells the server by `Dropped`."""
        self.is_dropped = True
        if self._task is not None:
            self._task.cancel()

    def look(self, now: float) -> None:
        """Deadlines of connections are the server's."""

    def make_room(self) -> None:
        """Whoever is in the middle of a request stays."""


def connection_of(scope: Scope) -> Connection:
    """The connection of a request."""
    connection: Connection = scope[CONNECTION]
    return connection
