"""Sends the content of a file, whole or a range of it."""

from __future__ import annotations

import asyncio
import logging

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from dragoman.errors import RangeNotSatisfiable
from dragoman.files.content import Reading
from dragoman.http.connection import connection_of
from dragoman.http.context import daemon_of
from dragoman.http.problems import instance_of, send_problem
from dragoman.http.ranges import http_date, is_known, part

log = logging.getLogger(__name__)

PIECE_BYTES = 256 * 1024
_SAFE = {
    # Opened in a tab of its own, a file is still nobody's page.
    "content-security-policy": "default-src 'none'; sandbox",
}


class Download:
    """An answer that is the content of a file."""

    def __init__(self, reading: Reading, headers: dict[str, str]) -> None:
        self._reading = reading
        self._etag = f'"{reading.version}"'
        self._headers = {**headers, **_SAFE}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what is wanted of the file."""
        connection = connection_of(scope)
        try:
            if self._reading.is_sized:
                await self._answer(scope, send)
            else:
                await self._answer_unsized(scope, send)
        except asyncio.CancelledError:
            # The server stops. An early end must not look like a whole file.
            connection.drop()
        finally:
            self._reading.close()

    async def _answer(self, scope: Scope, send: Send) -> None:
        asked, size = Headers(scope=scope), self._reading.size
        self._headers |= {"accept-ranges": "bytes", "etag": self._etag}
        if (modified := http_date(self._reading.modified_s)) is not None:
            self._headers["last-modified"] = modified
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

    async def _answer_unsized(self, scope: Scope, send: Send) -> None:
        """Send a file that ends elsewhere than it says, and may be another one the next time."""
        await self._start(send, 200, {"accept-ranges": "none"})
        if scope["method"] == "HEAD":
            return await send({"type": "http.response.body"})
        return await self._send_part(scope, send, 0, None)

    async def _start(self, send: Send, status: int, more: dict[str, str] | None = None) -> None:
        headers = {**self._headers, **(more or {})}
        raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": raw})

    async def _send_part(self, scope: Scope, send: Send, begin: int, end: int | None) -> None:
        """Send the bytes up to an end; without one, up to the file's."""
        daemon = daemon_of(scope)
        connection = connection_of(scope)
        while begin != end and not connection.is_closing():
            count = PIECE_BYTES if end is None else min(PIECE_BYTES, end - begin)
            piece = await daemon.files.run(self._reading.read, begin, count)
            if not piece and end is None:
                return await send({"type": "http.response.body"})
            if not piece:
                # What was promised cannot be kept; an early end must not look like a whole file.
                log.warning("a file shrank while it was sent")
                return connection.drop()
            begin += len(piece)
            await send({"type": "http.response.body", "body": piece, "more_body": begin != end})
        return None
