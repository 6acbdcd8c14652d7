"""Scopes, tokens and logins."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from dragoman.schema.camel import Http

Scope = Literal["read", "write", "approve", "admin"]
# A `$` alone would let a newline pass.
TokenName = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$(?!\n)",
        description="it must have 1 to 64 letters, digits and . _ -, and begin with one of the "
        "first two",
    ),
]
MAX_EXPIRY_S = 10 * 366 * 24 * 3600


class CreateToken(Http, frozen=True, kw_only=True):
    """A new token."""

    name: TokenName
    """What it is called in lists, and as an approver."""
    scopes: Annotated[tuple[Scope, ...], Meta(min_length=1, max_length=4)]
    """What it may do."""
    expires_in_s: Annotated[int, Meta(ge=1, le=MAX_EXPIRY_S)] | None = None
    """In how many seconds it ends; never unless given."""


class TokenInfo(Http, frozen=True, kw_only=True):
    """A token, without its secret."""

    name: str
    scopes: tuple[Scope, ...]
    created_at: int
    """Milliseconds since 1970."""
    expires_at: int | None = None
    """Milliseconds since 1970."""
    expired: bool = False
    """It opens nothing any more."""


class CreatedToken(TokenInfo, frozen=True, kw_only=True):
    """A token that was just made."""

    token: str
    """The secret. It is shown this once; only its hash is kept."""


class TokenList(Http, frozen=True, kw_only=True):
    """All tokens but the daemon's own."""

    tokens: tuple[TokenInfo, ...]


class Ticket(Http, frozen=True, kw_only=True):
    """Lets one browser in, once."""

    ticket: str
    """Open `/ui/?ticket=` with it."""
    expires_in_s: int


class Login(Http, frozen=True, kw_only=True):
    """A ticket, to be swapped for a cookie."""

    ticket: str
