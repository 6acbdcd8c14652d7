"""What the door and the streams must know of a connection, and uvicorn does not tell."""

from __future__ import annotations

import fcntl
import struct
import termios
from collections.abc import Callable
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from dragoman.errors import InvalidRequest
from dragoman.http.problems import MEDIA_TYPE, problem
from dragoman.schema.http import to_json

CONNECTION = "dragoman.connection"
"""Scope key: the `Protocol` that a request came by."""
TARGET = "dragoman.target"
"""Scope key: the raw request target, only where it is more than a path."""


class Protocol(HttpToolsProtocol):
    """Uvicorn's protocol, with raw targets, a way to drop a reader, and problem documents."""

    on_lost: Callable[[], object] | None = None
    """Called when the other side has gone; cheaper than a task that waits for it."""

    def connection_lost(self, exc: Exception | None) -> None:
        """The other side has gone."""
        super().connection_lost(exc)
        if self.on_lost is not None:
            self.on_lost()

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._annotate(CONNECTION, self)

    def on_headers_complete(self) -> None:
        """Start to answer a request."""
        if not self.url.startswith(b"/"):
            # Parsing would hide the authority of an absolute target, and fail on a bare one.
            self._annotate(TARGET, self.url)
            self.url = b"/"
        super().on_headers_complete()
        if self.parser.should_upgrade():
            # We never upgrade, but the parser reads nothing after being asked to.
            self.cycle.keep_alive = False

    def write_chunk(self, body: bytes) -> bool:
        """Write a chunk without copying it; False: the reader is slow, or gone."""
        # A hundred readers of one session share one bytes object this way.
        if self.flow.write_paused or self.transport.is_closing():
            return False
        self.transport.writelines((b"%x\r\n" % len(body), body, b"\r\n"))
        return True

    def untaken(self) -> int:
        """How many bytes the reader has yet to take."""
        if self.transport.is_closing():
            return 0
        # The kernel holds megabytes, and tells of room only when a third of them is taken.
        fd = self.transport.get_extra_info("socket").fileno()
        (in_kernel,) = struct.unpack("i", fcntl.ioctl(fd, termios.TIOCOUTQ, bytes(4)))
        return int(in_kernel) + self.transport.get_write_buffer_size()

    def drop(self) -> None:
        """Drop the connection, with whatever its reader never took."""
        self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, unless an answer to something else is under way."""
        if not self._is_answering():
            body = to_json(problem(InvalidRequest("this is not a valid HTTP/1.1 request"), None))
            self.transport.write(
                STATUS_LINE[400]
                + f"content-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\n".encode()
                + b"x-content-type-options: nosniff\r\ncache-control: no-store\r\n"
                + b"connection: close\r\n\r\n"
                + body
            )
        self.transport.close()

    def _unsupported_upgrade_warning(self) -> None:
        # Uvicorn would advise to install a WebSocket library, for every such request.
        self.logger.debug("an upgrade was asked for and ignored")

    def _is_answering(self) -> bool:
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            return False
        return cycle.response_started or not cycle.more_body

    def _annotate(self, key: str, value: object) -> None:
        # A cast, because uvicorn's type of a scope has no room for keys of others.
        cast("dict[str, Any]", self.scope)[key] = value
