"""Case 1: a web page whose name suddenly means this machine is told nothing and does nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.daemon import Daemon, running
from tests.http import connected, read_answer, request

from .wire import assert_refused, bearer, host, log_in, raw, state

NAMES = (
    "evil.com",
    "evil.com:{port}",
    "localhost.evil.com:{port}",
    "127.0.0.1.nip.io:{port}",
    "localhost:1",
    "localhost",
    "",
)
BODY = b'{"agent":"mock"}'


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    flags = ("--allow-host", "Listed.Example", "--cors-allow-origin", "https://app.example")
    with running(tmp_path_factory.mktemp("daemon"), *flags) as started:
        started.create("mine")
        yield started


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/v1/sessions"),
        ("GET", "/v1/sessions/mine/events/sse"),
        ("POST", "/v1/sessions"),
        ("DELETE", "/v1/sessions/mine"),
        ("GET", "/ui/"),
        ("GET", "/nowhere"),
    ],
)
def test_case_01_a_foreign_host_is_403_with_a_good_token_and_a_good_cookie(
    daemon: Daemon, name: str, method: str, target: str
) -> None:
    before = state(daemon)
    page = ("Origin: https://app.example", f"Cookie: {log_in(daemon)}", bearer(daemon))
    lines = (f"Host: {name.format(port=daemon.port)}", "Content-Type: application/json", *page)
    assert_refused(raw(daemon, target, *lines, method=method, body=BODY), 403)
    assert state(daemon) == before


def test_case_01_two_hosts_or_none_are_403(daemon: Daemon) -> None:
    right = host(daemon)
    for hosts in ((right, right), (right, "Host: evil.com"), ("Host: evil.com", right), ()):
        assert_refused(raw(daemon, "/v1/sessions", *hosts, bearer(daemon)), 403)


@pytest.mark.parametrize("target", ["http://evil.com/v1/sessions", "http://{own}/v1/sessions", "*"])
def test_case_01_a_target_that_is_no_path_is_403(daemon: Daemon, target: str) -> None:
    target = target.format(own=f"127.0.0.1:{daemon.port}")
    method = "OPTIONS" if target == "*" else "GET"
    assert_refused(raw(daemon, target, host(daemon), bearer(daemon), method=method), 403)


def test_case_01_the_body_of_a_refused_request_is_not_read(daemon: Daemon) -> None:
    with connected(daemon.port) as connection:
        lines = ("Host: evil.com", bearer(daemon), "Content-Length: 1000000000000")
        connection.sendall(request("/v1/sessions", *lines, method="POST"))
        assert_refused(read_answer(connection, "POST"), 403)


@pytest.mark.parametrize(
    "name",
    [
        "localhost:{port}",
        "LOCALHOST:{port}",
        "127.0.0.1:{port}",
        "[::1]:{port}",
        "listed.EXAMPLE",
        "localhost:{port} \t",
    ],
)
def test_case_01_own_names_and_listed_ones_come_in(daemon: Daemon, name: str) -> None:
    own = f"Host: {name.format(port=daemon.port)}"
    assert raw(daemon, "/v1/sessions", own, bearer(daemon)).status == 200
