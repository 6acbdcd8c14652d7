"""Checks Host, Origin and token of every request, before routing."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Collection, Iterable
from urllib.parse import unquote_to_bytes

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.errors import (
    InvalidRequest,
    PermissionDenied,
    RequestError,
    StartRefused,
    TokenInvalid,
)
from dragoman.http.auth.authenticator import Authenticator, Credential
from dragoman.http.auth.tokens import RESERVED
from dragoman.http.connection import CONNECTION, TARGET
from dragoman.http.problems import instance_of, send_problem
from dragoman.settings import LOOPBACK

CALLER = "dragoman.caller"
"""Scope key: the Caller, on every request that needed a token."""
ENTRY = "dragoman.entry"
"""Scope key: how that caller came in."""
HEALTH = "/v1/health"

Headers = tuple[tuple[bytes, bytes], ...]

_WATCHED = frozenset(
    (
        b"host",
        b"origin",
        b"sec-fetch-site",
        b"sec-fetch-mode",
        b"sec-fetch-dest",
        b"authorization",
        b"cookie",
        b"access-control-request-method",
    )
)
_OWN_NAMES = (b"localhost", b"127.0.0.1", b"[::1]")
_OWN_SITES = (None, b"same-origin", b"none")
_READING = ("GET", "HEAD")
_TOKEN_PARAMETERS = (b"token", b"access_token")
_UNTIL_THE_END = contextlib.nullcontext()
_CLOSE = ((b"connection", b"close"),)
_EXPOSED = (
    b"Accept-Ranges, Allow, Content-Disposition, Content-Range, Dragoman-Message-Id, ETag, "
    b"Location, Retry-After, X-Request-Id"
)
"""What a page may read of an answer; beside these, what it always may."""
_PREFLIGHT = (
    (b"access-control-allow-methods", b"GET, POST, PUT, PATCH, DELETE"),
    (
        b"access-control-allow-headers",
        b"Authorization, Content-Type, Dragoman-After-Chain, Idempotency-Key, If-None-Match, "
        b"If-Range, Last-Event-ID, Range, X-Request-Id",
    ),
    (b"access-control-max-age", b"600"),
)


class AuthMiddleware:
    """Lets a request in, or answers it with a problem document and reads no body."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        authenticator: Authenticator,
        host: str,
        port_of: Callable[[], int],
        allow_hosts: Iterable[str] = (),
        allow_origins: Iterable[str] = (),
        public: Collection[str] = (),
    ) -> None:
        self._app = app
        self._authenticator = authenticator
        self._on_loopback = host in LOOPBACK
        self._port_of = port_of
        self._own_hosts: frozenset[bytes] = frozenset()
        self._listed = frozenset(name.lower().encode() for name in allow_hosts)
        self._cors = {origin: _cors(origin) for origin in map(_parse_origin, allow_origins)}
        self._public = frozenset(public)
        # A public path that ends with a slash covers everything below it.
        self._public_folders = tuple(path for path in public if path.endswith("/"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        seen = _watched(scope["headers"])
        cors = self._cors.get(seen.get(b"origin", b"").lower(), ())
        try:
            if scope["path"] != HEALTH:
                self._check_host(scope, seen)
                self._check_page(scope, seen, bool(cors))
                if cors and _is_preflight(scope, seen):
                    await _answer_preflight(_with_headers(send, cors))
                    return
                await self._check_token(scope, seen)
        except RequestError as error:
            # Who may not come in learns nothing about who may.
            shown = () if isinstance(error, PermissionDenied) else cors
            await send_problem(_with_headers(send, shown), error, instance_of(scope), _CLOSE)
        else:
            with self._visit(scope):
                await self._app(scope, receive, _with_headers(send, cors))

    def _visit(self, scope: Scope) -> contextlib.AbstractContextManager[None]:
        if ENTRY not in scope or (scope[CALLER].token in RESERVED and scope[ENTRY].login is None):
            # The daemon's own token is good for as long as the daemon lives.
            return _UNTIL_THE_END
        return self._authenticator.visit(scope[CONNECTION], scope[ENTRY])

    def _check_host(self, scope: Scope, seen: dict[bytes, bytes]) -> None:
        if TARGET in scope:
            raise PermissionDenied("the request target must be a path, e.g. /v1/sessions")
        host = seen.get(b"host")
        if not host:
            raise PermissionDenied("a request needs exactly one Host header")
        if self._on_loopback and not self._is_allowed(host):
            raise PermissionDenied(
                f"Host {_printable(host)} is not this daemon's; use localhost:{self._port_of()}, "
                f"or start with --allow-host {_printable(host)}"
            )

    def _check_page(self, scope: Scope, seen: dict[bytes, bytes], has_cors: bool) -> None:
        if has_cors or self._is_visit(scope, seen):
            return
        origin = seen.get(b"origin")
        if origin is not None and not self._is_own(origin, scope, seen):
            raise PermissionDenied(
                f"pages of {_printable(origin)} may not call this daemon; start with "
                "--cors-allow-origin and that origin if they should"
            )
        if seen.get(b"sec-fetch-site") not in _OWN_SITES:
            raise PermissionDenied(
                "pages of other sites may not call this daemon; --cors-allow-origin lists those "
                "that may"
            )

    def _is_visit(self, scope: Scope, seen: dict[bytes, bytes]) -> bool:
        """Whether a person follows a link, from wherever, to a page that holds no secret."""
        return (
            scope["method"] in _READING
            and scope["path"].startswith(self._public_folders)
            and b"origin" not in seen
            and seen.get(b"sec-fetch-mode") == b"navigate"
            and seen.get(b"sec-fetch-dest") == b"document"
        )

    def _is_own(self, origin: bytes, scope: Scope, seen: dict[bytes, bytes]) -> bool:
        host = seen[b"host"].lower()
        # A proxy in front of a Host that was listed may speak TLS for us.
        is_listed = b"*" in self._listed or self._is_listed(host)
        schemes = (scope["scheme"].encode(), *([b"https"] if is_listed else []))
        return origin.lower() in [scheme + b"://" + host for scheme in schemes]

    async def _check_token(self, scope: Scope, seen: dict[bytes, bytes]) -> None:
        query = scope["query_string"]
        if query and any(
            unquote_to_bytes(part.partition(b"=")[0]) in _TOKEN_PARAMETERS
            for part in query.split(b"&")
        ):
            raise InvalidRequest(
                "a token in a URL ends up in logs and histories; send it as "
                "'Authorization: Bearer <token>'",
                field="token",
            )
        # On loopback every Host that came so far is allowed; elsewhere it may still need a token.
        is_allowed = self._on_loopback or self._is_allowed(seen[b"host"])
        if is_allowed and self._is_public(scope["path"]):
            return
        peer = scope["client"][0] if scope["client"] else ""
        entry = self._enter(scope, seen, peer, is_allowed)
        if entry is not None:
            scope[CALLER], scope[ENTRY] = entry.caller, entry
            return
        if self._authenticator.delay_s(peer) and CONNECTION in scope:
            scope[CONNECTION].stand_aside()
        await self._authenticator.slow_down(peer)
        if is_allowed:
            raise TokenInvalid("a valid token is needed: send 'Authorization: Bearer <token>'")
        raise PermissionDenied(
            "under this Host a valid token is needed: send 'Authorization: Bearer <token>', "
            "or start with --allow-host"
        )

    def _enter(
        self, scope: Scope, seen: dict[bytes, bytes], peer: str, is_allowed: bool
    ) -> Credential | None:
        if b"authorization" in seen or b"cookie" not in seen:
            return self._authenticator.check(seen.get(b"authorization"), peer)
        cookie = _cookie(seen[b"cookie"], cookie_name(self._port_of()))
        if cookie is None or not is_allowed or self._authenticator.is_open:
            return self._authenticator.check(None, peer)
        # A browser sends the cookie by itself. Whoever changes anything by it must be our page.
        origin = seen.get(b"origin")
        is_page = origin is not None and self._is_own(origin, scope, seen)
        is_page = is_page or seen.get(b"sec-fetch-site") == b"same-origin"
        if not is_page and (origin is not None or scope["method"] not in _READING):
            return self._authenticator.check(None, peer)
        return self._authenticator.check_cookie(cookie, peer)

    def _is_public(self, path: str) -> bool:
        return path in self._public or path.startswith(self._public_folders)

    def _is_allowed(self, host: bytes) -> bool:
        if not self._own_hosts:
            self._own_hosts = _own_hosts(self._port_of())
        host = host.lower()
        return host in self._own_hosts or b"*" in self._listed or self._is_listed(host)

    def _is_listed(self, host: bytes) -> bool:
        name, _, port = host.rpartition(b":")
        return host in self._listed or (port.isdigit() and name in self._listed)


def _watched(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    seen: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in _WATCHED:
            # One that is said twice says nothing: an empty value passes no check.
            seen[name] = b"" if name in seen else value.strip(b" \t")
    return seen


def is_own_name(host: str) -> bool:
    """Whether a Host can only mean this machine."""
    return host.lower().encode().rpartition(b":")[0] in _OWN_NAMES


def cookie_name(port: int) -> str:
    """Name the cookie: browsers tell hosts apart, but not their ports."""
    return f"dragoman-{port}"


def _cookie(header: bytes, name: str) -> bytes | None:
    found = [
        value
        for part in header.split(b";")
        for key, is_pair, value in [part.strip().partition(b"=")]
        if is_pair and key == name.encode()
    ]
    return found[0] if len(found) == 1 else None


def _with_headers(send: Send, cors: Headers) -> Send:
    # A plain function: streams send often, and another coroutine for each would cost.
    def send_more(message: Message) -> Awaitable[None]:
        if message["type"] == "http.response.start":
            headers = [*message.get("headers", ()), (b"x-content-type-options", b"nosniff"), *cors]
            if not any(name.lower() == b"cache-control" for name, _ in headers):
                headers.append((b"cache-control", b"no-store"))
            message = {**message, "headers": headers}
        return send(message)

    return send_more


def _is_preflight(scope: Scope, seen: dict[bytes, bytes]) -> bool:
    return scope["method"] == "OPTIONS" and b"access-control-request-method" in seen


async def _answer_preflight(send: Send) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": list(_PREFLIGHT)})
    await send({"type": "http.response.body", "body": b""})


def _own_hosts(port: int) -> frozenset[bytes]:
    suffixes = [f":{port}".encode(), *([b""] if port == 80 else [])]
    return frozenset(name + suffix for name in _OWN_NAMES for suffix in suffixes)


def _parse_origin(text: str) -> bytes:
    origin = text.rstrip("/").lower()
    scheme, _, host = origin.partition("://")
    if not scheme or not host or "/" in host or "*" in host:
        raise StartRefused(
            f"--cors-allow-origin {text} is not the origin of a page; name each one, "
            "e.g. http://localhost:5173"
        )
    return origin.encode()


def _cors(origin: bytes) -> Headers:
    return (
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", _EXPOSED),
        (b"vary", b"Origin"),
    )


def _printable(value: bytes) -> str:
    return value[:200].decode("ascii", "replace") or "''"
