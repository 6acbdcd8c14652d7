"""A file on its way out: piece by piece, all of it or a part."""

from __future__ import annotations

import logging

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from dragoman.errors import RangeNotSatisfiable
from dragoman.http.daemon import daemon_of
from dragoman.http.problems import instance_of, send_problem
from dragoman.http.protocol import CONNECTION, Protocol
from dragoman.http.ranges import http_date, is_known, part
from dragoman.runtime.files.content import Reading

log = logging.getLogger(__name__)

PIECE_BYTES = 256 * 1024
_SAFE = {
    # Opened in a tab of its own, a file is still nobody's page.
    "content-security-policy": "default-src 'none'; sandbox",
    "accept-ranges": "bytes",
}


class Download:
    """An answer that is the content of a file."""

    def __init__(self, reading: Reading, headers: dict[str, str]) -> None:
        self._reading = reading
        self._etag = f'"{reading.version}"'
        self._headers = {
            **headers,
            **_SAFE,
            "etag": self._etag,
            "last-modified": http_date(reading.modified_s),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what is wanted of the file."""
        try:
            await self._answer(scope, send)
        finally:
            self._reading.close()

    async def _answer(self, scope: Scope, send: Send) -> None:
        asked, size = Headers(scope=scope), self._reading.size
        if is_known(asked, self._etag, self._reading.modified_s):
            await self._start(send, 304)
            return await send({"type": "http.response.body"})
        try:
            wanted = part(asked, size, self._etag, self._reading.modified_s)
        except RangeNotSatisfiable as error:
            return await send_problem(send, error, instance_of(scope))
        begin, end = wanted or (0, size)
        headers = {"content-length": str(end - begin)}
        if wanted:
            headers["content-range"] = f"bytes {begin}-{end - 1}/{size}"
        await self._start(send, 206 if wanted else 200, headers)
        if scope["method"] == "HEAD" or begin == end:
            return await send({"type": "http.response.body"})
        return await self._send_part(scope, send, begin, end)

    async def _start(self, send: Send, status: int, more: dict[str, str] | None = None) -> None:
        headers = {**self._headers, **(more or {})}
        raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": raw})

    async def _send_part(self, scope: Scope, send: Send, begin: int, end: int) -> None:
        daemon = daemon_of(scope)
        connection: Protocol = scope[CONNECTION]
        while begin < end and not connection.transport.is_closing():
            count = min(PIECE_BYTES, end - begin)
            piece = await daemon.files.run(self._reading.read, begin, count)
            if not piece:
                # What was promised cannot be kept; an early end must not look like a whole file.
                log.warning("a file shrank while it was sent")
                return connection.drop()
            begin += len(piece)
            await send({"type": "http.response.body", "body": piece, "more_body": begin < end})
        return None
