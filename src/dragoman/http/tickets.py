"""How a browser comes in: a ticket in a URL, once, for a cookie that no script can read."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

from dragoman.http.tokens import digest_of

TICKET_S = 60
LOGIN_S = 7 * 24 * 3600
"""A cookie that is not used for so long is forgotten."""
MAX_TICKETS = 100
MAX_LOGINS = 1000


class Logins:
    """Tickets and cookies, in memory: they end with the daemon. Both stand for a token."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tickets: dict[bytes, tuple[bytes, float]] = {}
        self._logins: dict[bytes, tuple[bytes, float]] = {}

    def ticket(self, token: bytes) -> str:
        """Make a ticket for whoever holds the token with this digest."""
        ticket = secrets.token_urlsafe(32)
        _keep(self._tickets, ticket, (token, self._clock() + TICKET_S), MAX_TICKETS)
        return ticket

    def redeem(self, ticket: str) -> str | None:
        """Swap a ticket for a cookie; None where it was used before, is too old, or is none."""
        token, ends = self._tickets.pop(digest_of(ticket.encode()), (b"", 0.0))
        if self._clock() >= ends:
            return None
        cookie = secrets.token_urlsafe(32)
        _keep(self._logins, cookie, (token, self._clock() + LOGIN_S), MAX_LOGINS)
        return cookie

    def find(self, login: bytes) -> bytes | None:
        """The digest of the token that a cookie stands for."""
        token, ends = self._logins.pop(login, (None, 0.0))
        now = self._clock()
        if token is None or now >= ends:
            return None
        # At the end again: where there are too many, the one unused for longest goes.
        self._logins[login] = (token, now + LOGIN_S)
        return token

    def end(self, login: bytes) -> None:
        """Forget a cookie."""
        self._logins.pop(login, None)


def _keep(
    kept: dict[bytes, tuple[bytes, float]], secret: str, value: tuple[bytes, float], most: int
) -> None:
    if len(kept) >= most:
        del kept[next(iter(kept))]
    kept[digest_of(secret.encode())] = value
