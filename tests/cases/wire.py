"""Bytes to a real daemon, exactly as given, and what comes back."""

from __future__ import annotations

from typing import Any

from tests.daemon import Daemon
from tests.http import Answer, ask, request


def raw(daemon: Daemon, target: str, *lines: str, method: str = "GET", body: bytes = b"") -> Answer:
    """Send one request with these headers and no others."""
    return ask(daemon.port, request(target, *lines, method=method, body=body))


def host(daemon: Daemon) -> str:
    """The Host header that is right."""
    return f"Host: 127.0.0.1:{daemon.port}"


def bearer(daemon: Daemon) -> str:
    """The Authorization header that is right."""
    return f"Authorization: Bearer {daemon.token}"


def state(daemon: Daemon) -> Any:
    """Everything that a request could have changed."""
    sessions = daemon.get("/sessions")
    return sessions, {s["sessionId"]: daemon.events(s["sessionId"]) for s in sessions["sessions"]}


def assert_refused(answer: Answer, status: int) -> None:
    """A problem document, a closed connection, and nothing for a page to read."""
    assert answer.status == status, answer
    assert answer.problem["type"].startswith("urn:dragoman:error:")
    assert answer.header("connection") == "close"
    assert not [name for name, _ in answer.headers if name.startswith("access-control-")]


def log_in(daemon: Daemon, token: str | None = None) -> str:
    """Swap a ticket for a cookie, as the page does; the cookie."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    made = daemon.request("POST", "/tickets", headers=headers)
    assert made.status == 201, made.body
    return swap(daemon, made.json["ticket"])


def swap(daemon: Daemon, ticket: str) -> str:
    """The cookie for a ticket."""
    answer = login(daemon, ticket)
    assert answer.status == 204, answer
    cookie = answer.header("set-cookie")
    assert cookie is not None
    return cookie.partition(";")[0]


def login(daemon: Daemon, ticket: str) -> Answer:
    """What a page gets for a ticket."""
    own = f"Origin: http://127.0.0.1:{daemon.port}"
    body = b'{"ticket":"%b"}' % ticket.encode()
    lines = (host(daemon), own, "Content-Type: application/json")
    return raw(daemon, "/v1/login", *lines, method="POST", body=body)
