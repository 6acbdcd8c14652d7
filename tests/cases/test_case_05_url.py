"""Case 5: no token in a URL; a ticket that is good once, for a cookie that no script can read."""

from __future__ import annotations

import os
from http.client import IncompleteRead
from pathlib import Path

import pytest

from dragoman.http.auth.tickets import TICKET_S, Logins
from tests.daemon import Daemon, running

from .wire import assert_refused, bearer, host, log_in, login, raw, swap

NOBODY = 65534


def printed_ticket(daemon: Daemon) -> str:
    """The ticket in what the daemon printed."""
    assert daemon.process is not None
    assert daemon.process.stdout is not None
    line = daemon.process.stdout.readline()
    address = f"http://127.0.0.1:{daemon.port}/ui/?ticket="
    assert line.startswith(f"Open {address}")
    return line.removeprefix(f"Open {address}").partition(" ")[0]


@pytest.mark.parametrize("target", ["/v1/sessions", "/v1/sessions/s/events/sse", "/ui/"])
def test_case_05_a_token_in_the_url_is_400(daemon: Daemon, target: str) -> None:
    for name in ("token", "access_token"):
        for lines in ((), (bearer(daemon),)):
            answer = raw(daemon, f"{target}?{name}={daemon.token}", host(daemon), *lines)
            assert_refused(answer, 400)
            assert daemon.token not in answer.body.decode()


def test_case_05_a_ticket_is_no_token(daemon: Daemon) -> None:
    ticket = daemon.request("POST", "/tickets").json["ticket"]
    for lines in (
        (f"Authorization: Bearer {ticket}",),
        (f"Cookie: dragoman-{daemon.port}={ticket}",),
    ):
        assert raw(daemon, "/v1/sessions", host(daemon), *lines).status == 401
    assert raw(daemon, f"/v1/sessions?ticket={ticket}", host(daemon)).status == 401
    assert login(daemon, ticket).status == 204


def test_case_05_the_printed_ticket_opens_the_page_once(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        ticket = printed_ticket(daemon)
        page = raw(daemon, f"/ui/?ticket={ticket}", host(daemon))
        assert page.status == 200
        assert ticket not in page.body.decode()
        # To look at the page uses nothing up: only the page itself swaps the ticket.
        answer = login(daemon, ticket)
        assert answer.status == 204
        words = (answer.header("set-cookie") or "").split("; ")
        assert words[0].startswith(f"dragoman-{daemon.port}=")
        assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(words)
        cookie = f"Cookie: {words[0]}"
        assert raw(daemon, "/v1/sessions", host(daemon), cookie).status == 200
        again = login(daemon, ticket)
        assert (again.status, again.problem["title"]) == (401, "Token Invalid")
        assert again.header("set-cookie") is None


def test_case_05_a_ticket_is_good_for_a_minute() -> None:
    now = 0.0
    logins = Logins(clock=lambda: now)
    early, late = logins.ticket(b"t"), logins.ticket(b"t")
    now = TICKET_S - 1
    assert logins.redeem(early) is not None
    now = TICKET_S
    assert logins.redeem(late) is None


def test_case_05_the_page_tells_nobody_its_address(daemon: Daemon) -> None:
    page = raw(daemon, "/ui/?ticket=x", host(daemon))
    policy = page.header("content-security-policy") or ""
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert page.header("referrer-policy") == "no-referrer"
    assert b"<script>" not in page.body


def test_case_05_logging_out_ends_the_cookie_and_what_it_opened(daemon: Daemon) -> None:
    cookie = log_in(daemon)
    daemon.create("watched")
    own = {"Origin": f"http://127.0.0.1:{daemon.port}", "Cookie": cookie}
    connection = daemon.connect()
    connection.request("GET", "/v1/sessions/watched/events/sse", headers=own)
    stream = connection.getresponse()
    assert stream.status == 200
    other = daemon.connect()
    other.request("POST", "/v1/logout", headers=own)
    left = other.getresponse()
    assert (left.status, left.read()) == (204, b"")
    assert "Max-Age=0" in (left.getheader("set-cookie") or "")
    with pytest.raises((IncompleteRead, ConnectionError)):
        stream.read()
    other.request("GET", "/v1/sessions", headers=own)
    assert other.getresponse().status == 401
    connection.close()
    other.close()


def test_case_05_a_cookie_ends_with_its_token(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        cookie = f"Cookie: {log_in(daemon)}"
        assert raw(daemon, "/v1/sessions", host(daemon), cookie).status == 200
        daemon.stop()
        (data_dir / "token").unlink()
        daemon.start()
        assert raw(daemon, "/v1/sessions", host(daemon), cookie).status == 401


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can pose as somebody else")
def test_case_05_another_user_who_saw_the_ticket_gets_nothing(daemon: Daemon) -> None:
    ticket = daemon.request("POST", "/tickets").json["ticket"]
    os.seteuid(NOBODY)
    try:
        answer = login(daemon, ticket)
    finally:
        os.seteuid(0)
    assert (answer.status, answer.problem["title"]) == (403, "Permission Denied")
    assert answer.header("set-cookie") is None
    assert login(daemon, ticket).status == 401


@pytest.mark.parametrize("level", ["info", "debug"])
def test_case_05_nothing_secret_is_logged(data_dir: Path, level: str) -> None:
    env = {"DRAGOMAN_ACCESS_LOG": "all"}
    with running(data_dir, "--log-level", level, env=env) as daemon:
        token = daemon.token
        made = daemon.request("POST", "/tokens", {"name": "n", "scopes": ["read"]}).json["token"]
        ticket = printed_ticket(daemon)
        cookie = swap(daemon, ticket)
        raw(daemon, f"/ui/?ticket={ticket}", host(daemon), f"Cookie: {cookie}")
        raw(daemon, f"/v1/sessions?token={token}", host(daemon))
        raw(daemon, "/v1/sessions", host(daemon), f"Authorization: Bearer {made}")
        raw(daemon, f"/{token}?x=%00", host(daemon), f"Authorization: {made}")
        daemon.stop()
    logged = "".join(path.read_text() for path in (data_dir / "logs").iterdir())
    assert "listening" in logged
    for secret in (token, made, ticket, cookie.partition("=")[2]):
        assert secret not in logged
