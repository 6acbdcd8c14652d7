"""Tickets and cookies: for whom they stand, how many there are, when they end; and the page."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path

import pytest

from dragoman.http.auth.authenticator import Authenticator, Caller
from dragoman.http.auth.tickets import LOGIN_S, MAX_LOGINS, MAX_TICKETS, Logins
from dragoman.http.auth.tokens import digest_of
from tests.cases.wire import host, log_in, raw
from tests.daemon import Daemon
from tests.http import TOKEN, standing

TOKEN_DIGEST = digest_of(TOKEN.encode())


def signed_in(authenticator: Authenticator) -> str:
    ticket = authenticator.ticket()
    assert ticket is not None
    cookie = authenticator.logins.redeem(ticket)
    assert cookie is not None
    return cookie


def test_a_cookie_stands_for_its_token() -> None:
    authenticator = Authenticator(TOKEN)
    entry = authenticator.check_cookie(signed_in(authenticator).encode())
    assert entry is not None
    assert (entry.caller, entry.token) == (Caller(), TOKEN_DIGEST)
    assert authenticator.is_good(entry)
    assert entry.login is not None
    authenticator.logins.end(entry.login)
    assert not authenticator.is_good(entry)


def test_a_cookie_is_no_token_and_a_token_no_cookie() -> None:
    authenticator = Authenticator(TOKEN)
    assert authenticator.check(b"Bearer " + signed_in(authenticator).encode()) is None
    assert authenticator.check_cookie(TOKEN.encode()) is None


def test_a_cookie_that_is_not_used_is_forgotten() -> None:
    now = 0.0
    logins = Logins(clock=lambda: now)
    cookie = logins.redeem(logins.ticket(b"t"))
    assert cookie is not None
    for _ in range(3):
        now += LOGIN_S - 1
        assert logins.find(digest_of(cookie.encode())) == b"t"
    now += LOGIN_S
    assert logins.find(digest_of(cookie.encode())) is None


def test_there_are_only_so_many_and_the_oldest_goes() -> None:
    logins = Logins()
    tickets = [logins.ticket(b"t") for _ in range(MAX_TICKETS + 1)]
    assert logins.redeem(tickets[0]) is None
    first = logins.redeem(tickets[1])
    second = logins.redeem(tickets[2])
    assert first is not None
    assert second is not None
    assert logins.find(digest_of(first.encode())) is not None
    for _ in range(MAX_LOGINS - 1):
        assert logins.redeem(logins.ticket(b"t")) is not None
    assert logins.find(digest_of(second.encode())) is None
    assert logins.find(digest_of(first.encode())) is not None


def test_nobody_pushes_out_who_holds_another_token() -> None:
    logins = Logins()
    waits, signed_in = logins.ticket(b"owner"), logins.redeem(logins.ticket(b"owner"))
    assert signed_in is not None
    for _ in range(MAX_LOGINS + MAX_TICKETS + 1):
        logins.redeem(logins.ticket(b"other"))
        logins.ticket(b"other")
    assert logins.find(digest_of(signed_in.encode())) == b"owner"
    assert logins.redeem(waits) is not None


def test_a_cookie_outlives_the_daemon(tmp_path: Path) -> None:
    path = tmp_path / "logins.json"
    logins = Logins(path)
    kept, ended = (logins.redeem(logins.ticket(b"t")) for _ in range(2))
    assert kept is not None
    assert ended is not None
    logins.end(digest_of(ended.encode()))
    asyncio.run(logins.keep())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert kept not in path.read_text()

    again = Logins(path)
    assert again.find(digest_of(kept.encode())) == b"t"
    assert again.find(digest_of(ended.encode())) is None


def test_a_kept_cookie_ends_by_the_clock_on_the_wall(tmp_path: Path) -> None:
    path = tmp_path / "logins.json"
    logins = Logins(path, wall=lambda: 1000.0)
    cookie = logins.redeem(logins.ticket(b"t"))
    assert cookie is not None
    asyncio.run(logins.keep())
    login = digest_of(cookie.encode())
    assert Logins(path, wall=lambda: 1000.0 + LOGIN_S - 1).find(login) == b"t"
    assert Logins(path, wall=lambda: 1000.0 + LOGIN_S).find(login) is None


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[{", b"\xff", b'[{"cookie":"?","token":"","ends_at":1}]']
)
def test_a_damaged_list_of_cookies_locks_nobody_out(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "logins.json"
    path.write_bytes(content)
    logins = Logins(path)
    assert logins.redeem(logins.ticket(b"t")) is not None


def test_without_a_token_there_is_no_ticket() -> None:
    assert Authenticator(None).ticket() is None


# --- At the door ---


def test_beyond_loopback_a_cookie_counts_under_an_allowed_host_only() -> None:
    with standing(host="0.0.0.0", allow_hosts=("named.example",)) as house:
        cookie = f"Cookie: dragoman-{house.port}={signed_in(house.authenticator)}"
        assert house.ask("/v1/x", "Host: named.example", cookie).status == 200
        assert house.ask("/v1/x", "Host: other.example", cookie).status == 403


def test_a_cookie_for_another_port_is_not_ours() -> None:
    with standing() as house:
        cookie = signed_in(house.authenticator)
        assert house.ask("/v1/x", house.host, f"Cookie: dragoman-1={cookie}").status == 401
        twice = f"Cookie: dragoman-{house.port}={cookie}; dragoman-{house.port}={cookie}"
        assert house.ask("/v1/x", house.host, twice).status == 401
        among = f"Cookie: a=b; dragoman-{house.port}={cookie}; c"
        assert house.ask("/v1/x", house.host, among).status == 200


def test_a_header_wins_over_a_cookie() -> None:
    with standing() as house:
        cookie = f"Cookie: dragoman-{house.port}={signed_in(house.authenticator)}"
        wrong = "Authorization: Bearer wrong"
        assert house.ask("/v1/x", house.host, cookie, wrong).status == 401


def test_a_page_behind_tls_under_a_listed_host_is_our_own() -> None:
    with standing(allow_hosts=("named.example",)) as house:
        cookie = f"Cookie: dragoman-{house.port}={signed_in(house.authenticator)}"
        own = ("Host: named.example", "Origin: https://named.example", cookie)
        assert house.ask("/v1/x", *own, method="POST").status == 200
        plain = (house.host, f"Origin: https://127.0.0.1:{house.port}", cookie)
        assert house.ask("/v1/x", *plain, method="POST").status == 403


def test_without_a_token_an_old_cookie_does_no_harm() -> None:
    with standing(token=None) as house:
        cookie = f"Cookie: dragoman-{house.port}=old"
        assert house.ask("/v1/x", house.host, cookie).status == 200


# --- The page ---

VISIT = ("Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document")


def test_a_link_from_anywhere_leads_to_the_page_and_to_nothing_else(daemon: Daemon) -> None:
    assert raw(daemon, "/ui/", host(daemon), *VISIT).status == 200
    cookie = f"Cookie: {log_in(daemon)}"
    for target in ("/v1/sessions", "/v1/agents", "/ui"):
        assert raw(daemon, target, host(daemon), cookie, *VISIT).status == 403
    framed = (*VISIT[:2], "Sec-Fetch-Dest: iframe")
    assert raw(daemon, "/ui/", host(daemon), *framed).status == 403
    assert raw(daemon, "/ui/", host(daemon), *VISIT, method="POST").status in (403, 405)


def test_a_ticket_has_the_rights_of_its_token(daemon: Daemon) -> None:
    wanted = {"name": "looker", "scopes": ["read"]}
    token = daemon.request("POST", "/tokens", wanted).json["token"]
    cookie = f"Cookie: {log_in(daemon, token)}"
    own = f"Origin: http://127.0.0.1:{daemon.port}"
    assert raw(daemon, "/v1/sessions", host(daemon), cookie).status == 200
    lines = (host(daemon), cookie, own, "Content-Type: application/json")
    refused = raw(daemon, "/v1/sessions", *lines, method="POST", body=b'{"agent":"mock"}')
    assert (refused.status, refused.problem["details"]) == (403, {"scope": "write"})
    assert daemon.request("DELETE", "/tokens/looker").status == 204
    assert raw(daemon, "/v1/sessions", host(daemon), cookie).status == 401


def test_a_page_stays_signed_in_when_the_daemon_is_killed(daemon: Daemon) -> None:
    cookie = f"Cookie: {log_in(daemon)}"
    daemon.kill()
    daemon.start()
    assert raw(daemon, "/v1/sessions", host(daemon), cookie).status == 200


def test_a_form_gets_no_cookie(daemon: Daemon) -> None:
    ticket = daemon.request("POST", "/tickets").json["ticket"]
    body = b'{"ticket":"%b"}' % ticket.encode()
    lines = (host(daemon), "Content-Type: text/plain")
    assert raw(daemon, "/v1/login", *lines, method="POST", body=body).status == 415
    evil = (host(daemon), "Content-Type: application/json", "Origin: https://evil.example")
    assert raw(daemon, "/v1/login", *evil, method="POST", body=body).status == 403
