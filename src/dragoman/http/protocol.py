"""What the door and the streams must know of a connection, and uvicorn does not tell."""

from __future__ import annotations

from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from dragoman.errors import InvalidRequest
from dragoman.http.problems import MEDIA_TYPE, problem
from dragoman.schema.http import to_json

ABORT = "dragoman.abort"
"""Scope key: a callable that drops the connection, with whatever its reader never took."""
WRITE = "dragoman.write"
"""Scope key: `Protocol.write_chunk`, for a streamed response that is under way."""
TARGET = "dragoman.target"
"""Scope key: the raw request target, only where it is more than a path."""


class Protocol(HttpToolsProtocol):
    """Uvicorn's protocol, with raw targets, a way to drop a reader, and problem documents."""

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._annotate(ABORT, self.transport.abort)
        self._annotate(WRITE, self.write_chunk)

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
