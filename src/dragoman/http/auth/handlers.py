"""Handlers for tokens, login and logout."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from dragoman import logs
from dragoman.errors import PermissionDenied, TokenInvalid
from dragoman.http import parse
from dragoman.http.auth.authenticator import Authenticator
from dragoman.http.auth.middleware import CALLER, ENTRY, cookie_name, is_own_name
from dragoman.http.auth.peers import ensure_own_user, ensure_person
from dragoman.http.auth.tickets import TICKET_S
from dragoman.http.connection import CONNECTION
from dragoman.http.responses import answer, nothing
from dragoman.schema import access as schema

MAX_BYTES = 16 * 1024


def authenticator_of(scope: Scope) -> Authenticator:
    """The authenticator that let a request in."""
    authenticator: Authenticator = scope["app"].state.authenticator
    return authenticator


GUARDED: tuple[schema.Scope, ...] = ("approve", "admin")
"""What no agent may do, whatever token it has."""


async def ensure_scope(scope: Scope, needed: schema.Scope) -> None:
    """Raise PermissionDenied where the caller may not do what needs this scope."""
    caller = scope[CALLER]
    if caller.acting(needed) is None:
        raise PermissionDenied(
            f"the token {caller.token!r} may not do this: it needs the scope {needed!r}, and has "
            f"{', '.join(caller.scopes)}",
            scope=needed,
        )
    if needed in GUARDED:
        await ensure_person(scope, scope[ENTRY])


# --- Tokens ---


async def list_tokens(request: Request) -> Response:
    """All tokens but the daemon's own."""
    return answer(schema.TokenList(tokens=authenticator_of(request.scope).keyring.infos()))


async def create_token(request: Request) -> Response:
    """Make a token, and show it this once."""
    wanted = await parse.body(request, schema.CreateToken, MAX_BYTES)
    created = await authenticator_of(request.scope).keyring.create(wanted)
    logs.redact(created.token)
    return answer(created, 201)


async def revoke_token(request: Request) -> Response:
    """Make a token good for nothing, also for those who are inside."""
    authenticator = authenticator_of(request.scope)
    await authenticator.keyring.revoke(request.path_params["name"])
    authenticator.turn_out(but=request.scope[CONNECTION])
    return nothing()


# --- Browsers ---


async def create_ticket(request: Request) -> Response:
    """Make a ticket that stands for the caller's own token."""
    await parse.no_body(request, MAX_BYTES)
    entry = request.scope[ENTRY]
    # Whoever comes in by the cookie need not be seen any more, so who gets one must be.
    await ensure_person(request.scope, entry)
    ticket = authenticator_of(request.scope).logins.ticket(entry.token)
    return answer(schema.Ticket(ticket=ticket, expires_in_s=TICKET_S), 201)


async def login(request: Request) -> Response:
    """Swap a ticket for a cookie."""
    given = await parse.body(request, schema.Login, MAX_BYTES)
    authenticator = authenticator_of(request.scope)
    token = authenticator.logins.token_of(given.ticket)
    entry = None if token is None else authenticator.entry_of(token)
    if entry is not None:
        # Before it is used up: an agent that has seen it must not spoil it either.
        await ensure_person(request.scope, entry)
    cookie = None if entry is None else authenticator.logins.redeem(given.ticket)
    if cookie is None:
        peer = request.client.host if request.client else ""
        authenticator.count_failure(peer)
        await authenticator.slow_down(peer)
        raise TokenInvalid(
            "this ticket was used before, or is too old; `dragoman ui` makes a new one"
        )
    if is_own_name(request.headers["host"]):
        # Behind a proxy of this machine, the other end is the proxy.
        await ensure_own_user(request.scope)
    await authenticator.logins.keep()
    return nothing({"Set-Cookie": _set_cookie(request, cookie)})


async def logout(request: Request) -> Response:
    """Forget the cookie that this came with, and end what it opened."""
    await parse.no_body(request, MAX_BYTES)
    authenticator, entry = authenticator_of(request.scope), request.scope[ENTRY]
    if entry.login is not None:
        authenticator.logins.end(entry.login)
        await authenticator.logins.keep()
        authenticator.turn_out(but=request.scope[CONNECTION])
    return nothing({"Set-Cookie": _set_cookie(request, "")})


def _set_cookie(request: Request, value: str) -> str:
    port = request.app.state.port_of()
    words = [f"{cookie_name(port)}={value}", "Path=/", "HttpOnly", "SameSite=Strict"]
    if request.headers.get("origin", "").startswith("https:"):
        words.append("Secure")
    if not value:
        words.append("Max-Age=0")
    return "; ".join(words)
