"""Case 3: a page of another origin reads no stream, whatever the browser sends along."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.daemon import Daemon, running

from .wire import assert_refused, bearer, host, log_in, raw

PAGE = "https://app.example"
WEBSOCKET = (
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("daemon"), "--cors-allow-origin", PAGE) as started:
        started.create("s")
        yield started


@pytest.fixture(scope="module")
def cookie(daemon: Daemon) -> str:
    return f"Cookie: {log_in(daemon)}"


@pytest.mark.parametrize("more", [(), WEBSOCKET], ids=["eventsource", "websocket"])
@pytest.mark.parametrize(
    "page",
    [
        "Origin: https://evil.com",
        "Origin: null",
        "Origin: file://",
        "Origin: http://127.0.0.1:1",
        "Origin: https://127.0.0.1:{port}",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
    ],
)
def test_case_03_a_stream_of_another_origin_is_403_with_a_good_cookie(
    daemon: Daemon, cookie: str, page: str, more: tuple[str, ...]
) -> None:
    lines = (host(daemon), cookie, page.format(port=daemon.port), *more)
    assert_refused(raw(daemon, "/v1/sessions/s/events/sse", *lines), 403)
    assert_refused(raw(daemon, "/v1/sessions", *lines), 403)


def test_case_03_our_own_page_reads_with_the_cookie(daemon: Daemon, cookie: str) -> None:
    for page in (f"Origin: http://127.0.0.1:{daemon.port}", "Sec-Fetch-Site: same-origin"):
        assert raw(daemon, "/v1/sessions", host(daemon), cookie, page).status == 200


def test_case_03_a_listed_page_needs_a_token_and_no_cookie_counts(
    daemon: Daemon, cookie: str
) -> None:
    page = f"Origin: {PAGE}"
    answer = raw(daemon, "/v1/sessions", host(daemon), page, bearer(daemon))
    assert (answer.status, answer.header("access-control-allow-origin")) == (200, PAGE)
    assert answer.header("access-control-allow-credentials") is None
    assert raw(daemon, "/v1/sessions", host(daemon), page, cookie).status == 401


def test_case_03_a_cookie_alone_changes_nothing(daemon: Daemon, cookie: str) -> None:
    """An old browser that tells no origin: what it sends by itself must not be enough."""
    lines = (host(daemon), cookie, "Content-Type: application/json")
    answer = raw(daemon, "/v1/sessions", *lines, method="POST", body=b'{"agent":"mock"}')
    assert_refused(answer, 401)
    own = f"Origin: http://127.0.0.1:{daemon.port}"
    answer = raw(daemon, "/v1/sessions", *lines, own, method="POST", body=b'{"agent":"mock"}')
    assert answer.status == 201


def test_case_03_no_answer_is_for_everybody(daemon: Daemon) -> None:
    for target in ("/v1/health", "/v1/sessions", "/ui/", "/nowhere"):
        for page in ((), (f"Origin: {PAGE}",)):
            answer = raw(daemon, target, host(daemon), bearer(daemon), *page)
            assert answer.header("access-control-allow-origin") in (None, PAGE)
