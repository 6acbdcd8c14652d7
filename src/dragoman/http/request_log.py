"""Gives each request an id, counts it, and writes its log line."""

from __future__ import annotations

import logging
import re
import time
from collections import Counter
from collections.abc import Awaitable
from typing import Any, Literal

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman import logs
from dragoman.http.auth.middleware import CALLER
from dragoman.http.problems import LIMIT
from dragoman.store.ids import new_id, now_ms

log = logging.getLogger(__name__)

ROUTE = "dragoman.route"
"""Scope key: the path of the route that a request came to, with its parameters as names."""
HEADER = b"x-request-id"

_SANE = re.compile(rb"[A-Za-z0-9._:+/=@-]{1,128}")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


class Traffic:
    """What was asked and refused since the start."""

    def __init__(self) -> None:
        self.started_at_ms = now_ms()
        self._started = time.monotonic()
        self.requests: Counter[tuple[str, str, int]] = Counter()
        """Method, route and status."""
        self.refused: Counter[str] = Counter()
        """By the setting that is the limit."""

    @property
    def uptime_s(self) -> float:
        """How long ago the daemon started, whatever the clock says by now."""
        return time.monotonic() - self._started


class RequestLog:
    """Stands before authentication: nobody comes in or is turned away without leaving a line."""

    def __init__(
        self, app: ASGIApp, traffic: Traffic, wanted: Literal["none", "changes", "all"]
    ) -> None:
        self._app = app
        self._traffic = traffic
        self._is_logged = wanted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on under its id, and take note of how it ended."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        request_id = _id_of(scope)
        request = logs.answering(request_id)
        began, status = time.monotonic(), 500
        header = (HEADER, request_id.encode())

        # A plain function: streams send often, and another coroutine for each would cost.
        def send_on(message: Message) -> Awaitable[None]:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message.get("headers", ()), header]}
            return send(message)

        answered = False
        try:
            await self._app(scope, receive, send_on)
            answered = True
        finally:
            self._note(scope, status, time.monotonic() - began)
            # The server logs what went wrong after this, under the same id.
            request.over = answered
        return None

    def _note(self, scope: Scope, status: int, took_s: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = scope.get(ROUTE, "none")
        self._traffic.requests[method, route, status] += 1
        if LIMIT in scope:
            self._traffic.refused[scope[LIMIT]] += 1
        quiet = self._is_logged == "changes" and method in _READING and status < 400
        if self._is_logged == "none" or quiet:
            return
        told: dict[str, Any] = {
            "method": method,
            "path": scope["path"],
            "route": route,
            "status": status,
            "took_ms": round(took_s * 1000, 1),
            "peer": scope["client"][0] if scope.get("client") else None,
            "caller": scope[CALLER].token if CALLER in scope else None,
        }
        log.info("request", extra=told)


def _id_of(scope: Scope) -> str:
    """The id that the caller gave, if it is one; else one of ours."""
    given = [value for name, value in scope["headers"] if name == HEADER]
    if len(given) == 1 and _SANE.fullmatch(given[0]):
        return str(given[0].decode())
    return new_id("req")
