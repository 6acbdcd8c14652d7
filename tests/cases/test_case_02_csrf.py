"""Case 2: a page of another site cannot make the daemon do anything with a plain form."""

from __future__ import annotations

from typing import Any

import pytest

from tests.daemon import Daemon, Reply

FORMS = {
    "text/plain": b'{"agent":"mock"}',
    "application/x-www-form-urlencoded": b"agent=mock&message=hi",
    "multipart/form-data; boundary=b": b'--b\r\nContent-Disposition: form-data; name="agent"\r\n'
    b"\r\nmock\r\n--b--\r\n",
}
TARGETS = (
    "/sessions",
    "/sessions/new",
    "/sessions/mine/messages",
    "/sessions/mine/messages/stream",
    "/sessions/mine/terminate",
    "/sessions/mine/interrupt",
)
CROSS_SITE = (
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
)


@pytest.fixture(scope="module")
def mine(daemon: Daemon) -> str:
    daemon.create("mine")
    return "mine"


def post(daemon: Daemon, path: str, body: bytes | None, headers: dict[str, str]) -> Reply:
    connection = daemon.connect()
    try:
        connection.request("POST", f"/v1{path}", body, headers)
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return Reply(answer.status, found, answer.read())
    finally:
        connection.close()


def state(daemon: Daemon) -> Any:
    """Everything that a request could have changed."""
    sessions = daemon.get("/sessions")
    return sessions, {s["sessionId"]: daemon.events(s["sessionId"]) for s in sessions["sessions"]}


@pytest.mark.parametrize("content_type", FORMS)
@pytest.mark.parametrize("path", TARGETS)
def test_case_02_a_form_is_415_even_with_the_token(
    daemon: Daemon, mine: str, path: str, content_type: str
) -> None:
    before = state(daemon)
    reply = post(
        daemon, path, FORMS[content_type], daemon.headers(**{"Content-Type": content_type})
    )
    assert reply.status == 415, reply.body
    assert reply.headers["content-type"] == "application/problem+json"
    assert state(daemon) == before


@pytest.mark.parametrize("page", CROSS_SITE, ids=str)
@pytest.mark.parametrize("path", TARGETS)
def test_case_02_a_page_of_another_site_is_403_whatever_it_sends(
    daemon: Daemon, mine: str, path: str, page: dict[str, str]
) -> None:
    before = state(daemon)
    json = {"Content-Type": "application/json"}
    for body, headers in (
        *((form, {"Content-Type": name}) for name, form in FORMS.items()),
        (b'{"agent":"mock","message":"hi"}', json),
        (None, {}),
    ):
        reply = post(daemon, path, body, {**daemon.headers(**headers), **page})
        assert reply.status == 403, reply.body
        assert "access-control-allow-origin" not in reply.headers
    assert state(daemon) == before


@pytest.mark.parametrize("path", TARGETS)
def test_case_02_a_form_without_a_token_is_401(daemon: Daemon, mine: str, path: str) -> None:
    before = state(daemon)
    reply = post(daemon, path, b"{}", {"Content-Type": "text/plain"})
    assert reply.status == 401
    assert state(daemon) == before


def test_case_02_nothing_changes_on_get(daemon: Daemon, mine: str) -> None:
    before = state(daemon)
    last = len(daemon.events(mine))
    for path in (
        "/health", "/agents", "/agents/mock/modes", "/agents/mock/models", "/sessions",
        "/sessions/new", f"/sessions/{mine}", f"/sessions/{mine}/events",
        f"/sessions/{mine}/pending", "/openapi.json", "/schema.json",
        f"/sessions/{mine}/events?offset={last}",
    ):  # fmt: skip
        for method in ("GET", "HEAD"):
            assert daemon.request(method, path).status in (200, 404)
    for path in TARGETS[2:]:
        assert daemon.request("GET", path).status == 405
    for override in ("X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method"):
        daemon.request("GET", f"/sessions/{mine}", headers={override: "DELETE"})
    daemon.request("GET", f"/sessions/{mine}?_method=DELETE")
    with daemon.stream(f"/sessions/{mine}/events/sse") as stream:
        assert next(iter(stream))["sequence"] == 1
    assert state(daemon) == before
