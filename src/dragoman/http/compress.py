"""Compresses JSON answers with gzip."""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import Awaitable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.http.connection import connection_of
from dragoman.http.context import limits_of
from dragoman.http.send_buffer import LARGE_BYTES

MIN_BYTES = 1024
"""Below this, a packet is a packet."""
LEVEL = 1
"""The next levels take more than twice the time, for a tenth less."""

_VARY = (b"vary", b"Accept-Encoding")
_ENCODED = (b"content-encoding", b"gzip")


class Compress:
    """Stands between the routes and authentication."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; what it is answered with may come out smaller."""
        if scope["type"] == "http" and scope["method"] != "HEAD":
            taken = takes_gzip(Headers(scope=scope).get("accept-encoding", ""))
            send = _Answer(send, scope, taken).send
        await self._app(scope, receive, send)


class _Answer:
    """One answer on its way: held back until it is whole, if it is to be compressed."""

    def __init__(self, send: Send, scope: Scope, takes_gzip: bool) -> None:
        self._send = send
        self._scope = scope
        self._takes_gzip = takes_gzip
        self._start: Message | None = None
        self._pieces: list[bytes] = []

    def send(self, message: Message) -> Awaitable[None]:
        """Send a part of the answer on, or keep it for now."""
        # A plain function: streams send often, and another coroutine for each would cost.
        if message["type"] == "http.response.start" and _is_large_json(message):
            message = {**message, "headers": [*message["headers"], _VARY]}
            if self._takes_gzip:
                self._start = message
                return asyncio.sleep(0)
        if self._start is None:
            return self._send(message)
        self._pieces.append(message.get("body", b""))
        if message.get("more_body"):
            return asyncio.sleep(0)
        return self._send_compressed(self._start)

    async def _send_compressed(self, start: Message) -> None:
        size = sum(map(len, self._pieces))
        if size < LARGE_BYTES:
            body = _gzipped(self._pieces)
        else:
            backlog = limits_of(self._scope).backlog
            with backlog.holding(connection_of(self._scope), size):
                body = await asyncio.to_thread(_gzipped, self._pieces)
        self._pieces = []
        others = [each for each in start["headers"] if each[0].lower() != b"content-length"]
        length = (b"content-length", b"%d" % len(body))
        await self._send({**start, "headers": [*others, _ENCODED, length]})
        await self._send({"type": "http.response.body", "body": body})


def _is_large_json(start: Message) -> bool:
    """Whether it is JSON of ours, and long enough. A file is sent as it is, for its parts."""
    headers = {name.lower(): value for name, value in start.get("headers", ())}
    return (
        headers.get(b"content-type", b"").endswith(b"json")
        and int(headers.get(b"content-length", 0)) >= MIN_BYTES
        and not headers.keys() & {b"content-encoding", b"accept-ranges", b"vary"}
    )


def _gzipped(pieces: list[bytes]) -> bytes:
    return gzip.compress(b"".join(pieces), LEVEL, mtime=0)


def takes_gzip(accepted: str) -> bool:
    """Whether `Accept-Encoding` names gzip, and not with a weight of nothing."""
    for choice in accepted.lower().split(","):
        coding, _, weight = choice.replace(" ", "").partition(";")
        if coding == "gzip":
            return not re.fullmatch(r"q=0(\.0*)?", weight)
    return False
