from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

import pytest
from starlette.types import Message

from dragoman.errors import StartRefused
from dragoman.http.auth.authenticator import Authenticator, Caller
from dragoman.http.auth.middleware import AuthMiddleware
from tests.http import (
    BEARER,
    TOKEN,
    House,
    Room,
    ask,
    assert_refused,
    connected,
    never,
    read_answer,
    request,
    standing,
)

PAGE = "https://app.example"


@pytest.fixture(scope="module")
def shared_house() -> Iterator[House]:
    with standing(
        allow_hosts=("Proxy.Example", "tunnel.example:8443"), allow_origins=(PAGE,)
    ) as it:
        yield it


@pytest.fixture
def house(shared_house: House) -> House:
    shared_house.room.visits.clear()
    return shared_house


# --- Case 1: DNS rebinding ---


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    "host",
    [
        "evil.com",
        "evil.com:{port}",
        "localhost.evil.com:{port}",
        "127.0.0.1.nip.io:{port}",
        "localhost:1",
        "localhost",
        "localhost:",
        "localhost.:{port}",
        "127.0.0.2:{port}",
        "0.0.0.0:{port}",
        "[::]:{port}",
        "::1:{port}",
        "evil@localhost:{port}",
        "localhost:{port}, evil.com",
        "evil.com localhost:{port}",
        "tunnel.example:1",
        "tunnel.example",
        "proxy.example:",
        "proxy.example:evil",
        "sub.proxy.example",
        "*",
        "",
    ],
)
def test_case_01_dns_rebinding_is_refused(house: House, host: str, method: str) -> None:
    host_header = "Host: " + host.format(port=house.port)
    answer = house.ask("/v1/sessions", host_header, BEARER, method=method)
    assert_refused(house, answer)
    assert answer.problem["title"] == "Permission Denied"
    assert answer.problem["instance"] == "/v1/sessions"


def test_case_01_dns_rebinding_without_host_is_refused(house: House) -> None:
    assert_refused(house, house.ask("/v1/sessions", BEARER))
    assert_refused(house, ask(house.port, b"GET /v1/sessions HTTP/1.0\r\n\r\n"))


def test_case_01_dns_rebinding_with_two_hosts_is_refused(house: House) -> None:
    for hosts in ([house.host, "Host: evil.com"], ["host: evil.com", house.host], [house.host] * 2):
        assert_refused(house, house.ask("/v1/sessions", *hosts, BEARER))


@pytest.mark.parametrize(
    "target",
    [
        "http://evil.com/v1/sessions",
        "http://evil.com",
        "http://127.0.0.1:{port}/v1/sessions",
        "http://evil.com/v1/health",
        "HTTPS://evil.com/v1/sessions",
    ],
)
def test_case_01_dns_rebinding_by_absolute_target_is_refused(house: House, target: str) -> None:
    assert_refused(house, house.ask(target.format(port=house.port), house.host, BEARER))


def test_case_01_dns_rebinding_by_other_targets_is_refused(house: House) -> None:
    assert_refused(house, house.ask("evil.com:443", house.host, BEARER, method="CONNECT"))
    assert_refused(house, house.ask("*", house.host, BEARER, method="OPTIONS"))


def test_case_01_dns_rebinding_gets_no_cors_headers(house: House) -> None:
    answer = house.ask("/v1/sessions", "Host: evil.com", f"Origin: {PAGE}", BEARER)
    assert_refused(house, answer)
    assert answer.header("vary") is None


@pytest.mark.parametrize(
    "host",
    [
        "localhost:{port}",
        "LocalHost:{port}",
        "127.0.0.1:{port}",
        "[::1]:{port}",
        "proxy.example",
        "PROXY.example:9",
        "Tunnel.Example:8443",
    ],
)
def test_case_01_dns_rebinding_check_lets_own_names_in(house: House, host: str) -> None:
    assert house.ask("/v1/x", "Host: " + host.format(port=house.port), BEARER).status == 200
    assert house.room.visits == [("GET", "/v1/x", Caller())]


def test_the_port_may_be_omitted_only_if_it_is_80() -> None:
    with standing(bound_port=80) as house:
        for host in ("localhost", "127.0.0.1", "[::1]", "localhost:80"):
            assert house.ask("/v1/x", f"Host: {host}", BEARER).status == 200
        assert house.ask("/v1/x", f"Host: localhost:{house.port}", BEARER).status == 403


def test_a_star_allows_every_host_but_none_or_two() -> None:
    with standing(allow_hosts=("*",)) as house:
        assert house.ask("/v1/x", "Host: anything.example", BEARER).status == 200
        house.room.visits.clear()
        assert_refused(house, house.ask("/v1/x", "Host: ", BEARER))
        assert_refused(house, house.ask("/v1/x", "Host: a.example", "Host: a.example", BEARER))


def test_beyond_loopback_any_host_comes_in_with_a_token() -> None:
    with standing(host="0.0.0.0", allow_hosts=("named.example",)) as house:
        assert house.ask("/v1/x", "Host: any.example:1", BEARER).status == 200
        assert house.ask("/public", "Host: any.example:1", BEARER).status == 200
        assert house.ask("/public", "Host: named.example").status == 200
        house.room.visits.clear()
        assert_refused(house, house.ask("/v1/x", "Host: any.example:1"))
        assert_refused(house, house.ask("/v1/x", "Host: any.example:1", "Authorization: Bearer no"))
        assert_refused(house, house.ask("/public", "Host: any.example:1"))
        assert_refused(house, house.ask("/v1/x", "Host: named.example"), 401)
        assert_refused(house, house.ask("/v1/x", house.host), 401)
        assert_refused(house, house.ask("/v1/x", "Host: a", "Host: a", BEARER))


# --- Case 2: CSRF; the content type is the body parser's business ---


@pytest.mark.parametrize(
    "content_type", ["text/plain", "multipart/form-data; boundary=x", "application/json", None]
)
@pytest.mark.parametrize(
    "page", [("Origin: https://evil.com",), ("Sec-Fetch-Site: cross-site",), ("Origin: null",)]
)
def test_case_02_csrf_simple_request_is_refused(
    house: House, page: tuple[str, ...], content_type: str | None
) -> None:
    typed = [f"Content-Type: {content_type}"] if content_type else []
    body = b'{"agent":"x"}' if content_type else b""
    for credentials in ([BEARER], []):
        answer = house.ask(
            "/v1/sessions/a", house.host, *page, *typed, *credentials, method="POST", body=body
        )
        assert_refused(house, answer)


# --- Case 3: other origins ---


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.com",
        "null",
        "file://",
        "",
        "*",
        "http://localhost:1",
        "http://localhost:{port}",
        "https://127.0.0.1:{port}",
        "http://127.0.0.1",
        "http://127.0.0.1:{port}.evil.com",
        f"{PAGE}.evil.com",
        f"{PAGE}, {PAGE}",
    ],
)
@pytest.mark.parametrize(
    "more",
    [
        ("Accept: text/event-stream",),
        (
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ),
    ],
    ids=["sse", "websocket"],
)
def test_case_03_cross_origin_is_refused(house: House, origin: str, more: tuple[str, ...]) -> None:
    headers = (house.host, f"Origin: {origin.format(port=house.port)}", BEARER, *more)
    assert_refused(house, house.ask("/v1/sessions/a/events/sse", *headers))


@pytest.mark.parametrize("site", ["cross-site", "same-site", "", "something-new"])
def test_case_03_cross_origin_by_fetch_metadata_is_refused(house: House, site: str) -> None:
    assert_refused(house, house.ask("/v1/x", house.host, f"Sec-Fetch-Site: {site}", BEARER))


def test_case_03_cross_origin_said_twice_is_refused(house: House) -> None:
    own = f"Origin: http://127.0.0.1:{house.port}"
    assert_refused(house, house.ask("/v1/x", house.host, own, own, BEARER))
    assert_refused(house, house.ask("/v1/x", house.host, f"Origin: {PAGE}", own, BEARER))


def test_case_03_cross_origin_preflight_is_refused(house: House) -> None:
    preflight = ("Origin: https://evil.com", "Access-Control-Request-Method: POST")
    assert_refused(house, house.ask("/v1/x", house.host, *preflight, method="OPTIONS"))


def test_case_03_cross_origin_list_takes_no_wildcard() -> None:
    for origin in ("*", "null", "file://", "app.example", "https://*.example", "https://a/b", ""):
        with pytest.raises(StartRefused, match="--cors-allow-origin"):
            AuthMiddleware(
                Room(),
                authenticator=Authenticator(TOKEN),
                host="127.0.0.1",
                port_of=lambda: 1,
                allow_origins=(origin,),
            )


def test_case_03_cross_origin_websocket_scope_is_closed() -> None:
    room, sent = Room(), list[Message]()

    async def send(message: Message) -> None:
        sent.append(message)

    door = AuthMiddleware(
        room, authenticator=Authenticator(TOKEN), host="127.0.0.1", port_of=lambda: 1
    )
    asyncio.run(door({"type": "websocket", "path": "/v1/x", "headers": []}, never, send))
    assert [message["type"] for message in sent] == ["websocket.close"]
    assert room.visits == []


def test_own_pages_come_in(house: House) -> None:
    own = f"Origin: HTTP://127.0.0.1:{house.port}"
    assert house.ask("/v1/x", house.host, own, "Sec-Fetch-Site: same-origin", BEARER).status == 200
    assert house.ask("/v1/x", house.host, "Sec-Fetch-Site: none", BEARER).status == 200


def test_listed_pages_come_in_and_may_read(house: House) -> None:
    page = (f"Origin: {PAGE}", "Sec-Fetch-Site: cross-site")
    for answer, status in (
        (house.ask("/v1/x", house.host, *page, BEARER), 200),
        (house.ask("/v1/x", house.host, *page), 401),
        (house.ask("/v1/health", house.host, *page), 200),
    ):
        assert answer.status == status
        assert answer.header("access-control-allow-origin") == PAGE
        exposed = set((answer.header("access-control-expose-headers") or "").split(", "))
        assert exposed == {
            "Accept-Ranges", "Allow", "Content-Disposition", "Content-Range",
            "Dragoman-Message-Id", "ETag", "Location", "Retry-After", "X-Request-Id",
        }  # fmt: skip
        assert answer.header("vary") == "Origin"
        assert answer.header("access-control-allow-credentials") is None


def test_preflight_of_a_listed_page_needs_no_token(house: House) -> None:
    answer = house.ask(
        "/v1/sessions/a",
        house.host,
        f"Origin: {PAGE}",
        "Sec-Fetch-Site: cross-site",
        "Access-Control-Request-Method: POST",
        "Access-Control-Request-Headers: authorization",
        method="OPTIONS",
    )
    assert (answer.status, answer.body) == (204, b"")
    assert answer.header("access-control-allow-origin") == PAGE
    assert answer.header("vary") == "Origin"
    methods, headers = (
        set((answer.header(f"access-control-allow-{of}") or "").split(", "))
        for of in ("methods", "headers")
    )
    assert methods == {"GET", "POST", "PUT", "PATCH", "DELETE"}
    assert headers == {
        "Authorization", "Content-Type", "Dragoman-After-Chain", "Idempotency-Key",
        "If-None-Match", "If-Range", "Last-Event-ID", "Range", "X-Request-Id",
    }  # fmt: skip
    assert house.room.visits == []


# --- Public paths ---


def test_public_paths_need_no_token_but_the_right_host(house: House) -> None:
    for path in ("/public", "/ui/", "/ui/app.js"):
        assert house.ask(path, house.host).status == 200
        assert house.ask(path, "Host: evil.com").status == 403
        assert house.ask(path, house.host, "Origin: https://evil.com").status == 403
    house.room.visits.clear()
    for path in ("/public/", "/publicity", "/ui", "/uix"):
        answer = house.ask(path, house.host, "Authorization: Bearer wrong")
        assert_refused(house, answer, 401)


# --- Case 5: the token in the URL ---


@pytest.mark.parametrize(
    "query", [f"token={TOKEN}", f"a=b&token={TOKEN}", f"access_token={TOKEN}", "token=", "token"]
)
def test_case_05_token_in_url_is_refused(house: House, query: str) -> None:
    for credentials in ([BEARER], []):
        answer = house.ask(f"/v1/sessions?{query}", house.host, *credentials)
        assert_refused(house, answer, 400)
        assert "Authorization: Bearer" in answer.problem["detail"]
        assert TOKEN not in answer.body.decode()


def test_case_05_token_in_url_is_told_from_other_parameters(house: House) -> None:
    assert house.ask("/v1/x?tokens=1&q=token&my_token=2", house.host, BEARER).status == 200


# --- Bodies, connections, headers ---


@pytest.mark.parametrize(
    ("headers", "status"),
    [(("Host: evil.com", BEARER), 403), (("Host: 127.0.0.1:{port}",), 401)],
    ids=["host", "token"],
)
def test_a_huge_body_is_not_read_when_refused(
    house: House, headers: tuple[str, ...], status: int
) -> None:
    with connected(house.port) as connection:
        lines = [line.format(port=house.port) for line in headers]
        head = request("/v1/x", *lines, f"Content-Length: {1 << 40}", method="POST")
        connection.sendall(head + b"x" * 1000)
        assert_refused(house, read_answer(connection, "POST"), status)
        assert _is_closed(connection)


def test_a_refused_body_is_not_asked_for(house: House) -> None:
    with connected(house.port) as connection:
        lines = ("Host: evil.com", BEARER, "Content-Length: 10", "Expect: 100-continue")
        connection.sendall(request("/v1/x", *lines, method="POST"))
        assert connection.recv(65536).startswith(b"HTTP/1.1 403 ")


def test_what_follows_a_refusal_on_its_connection_is_not_answered(house: House) -> None:
    good = request("/v1/x", house.host, BEARER)
    with connected(house.port) as connection:
        connection.sendall(request("/v1/x", "Host: evil.com", BEARER) + good)
        assert_refused(house, read_answer(connection))
        assert _is_closed(connection)
    assert house.room.visits == []


def test_an_accepted_connection_stays_open_and_its_body_arrives(house: House) -> None:
    with connected(house.port) as connection:
        for size in (100_000, 0, 7):
            body = b"x" * size
            connection.sendall(request("/v1/x", house.host, BEARER, method="POST", body=body))
            answer = read_answer(connection, "POST")
            assert (answer.status, answer.body) == (200, str(size).encode())


def test_every_answer_forbids_sniffing_and_storing_unless_it_says_otherwise(house: House) -> None:
    answer = house.ask("/v1/x", house.host, BEARER)
    assert answer.header("x-content-type-options") == "nosniff"
    assert answer.header("cache-control") == "no-store"
    assert house.ask("/ui/app.js", house.host).header("cache-control") == "max-age=60"


def test_a_refused_head_has_no_body(house: House) -> None:
    answer = house.ask("/v1/x", "Host: evil.com", method="HEAD")
    assert (answer.status, answer.body) == (403, b"")


def _is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        # The kernel resets where bytes were left unread.
        return True
