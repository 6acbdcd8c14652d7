"""Signs a browser in: a one-time ticket is exchanged for a cookie."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
from msgspec import Struct

from dragoman.http.auth.tokens import digest_of
from dragoman.store.fsync import write_private

TICKET_S = 60
LOGIN_S = 7 * 24 * 3600
"""A cookie that is not used for so long is forgotten."""
MAX_TICKETS = 20
MAX_LOGINS = 50
"""So many each token may have, so that nobody can push others out."""
KEEP_EVERY_S = 3600
"""That cookies were used is written down so often."""

_logger = logging.getLogger("dragoman.http")


class _Login(Struct, frozen=True):
    cookie: bytes
    token: bytes
    ends_at: float
    """By the clock on the wall: other clocks begin anew with the machine."""


class Logins:
    """Tickets and cookies, by their digests; both stand for a token.

    Tickets end with the daemon. Cookies are also in a file, so that a page stays signed in when
    the daemon is started again.
    """

    def __init__(
        self,
        path: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._path = path
        self._clock = clock
        self._wall = wall
        self._tickets: dict[bytes, tuple[bytes, float]] = {}
        self._logins: dict[bytes, tuple[bytes, float]] = {}
        self._thread = ThreadPoolExecutor(1, "logins")
        self._kept_at = clock()
        for login in _load(path) if path is not None else ():
            # A clock that was set back must not make them last for ever.
            left = min(login.ends_at - wall(), LOGIN_S)
            self._logins[login.cookie] = (login.token, clock() + left)

    def ticket(self, token: bytes) -> str:
        """Make a ticket for whoever holds the token with this digest."""
        ticket = secrets.token_urlsafe(32)
        _put(self._tickets, ticket, (token, self._clock() + TICKET_S), MAX_TICKETS)
        return ticket

    def token_of(self, ticket: str) -> bytes | None:
        """The digest of the token that a ticket stands for; None for one that is good no longer."""
        token, ends = self._tickets.get(digest_of(ticket.encode()), (None, 0.0))
        return None if self._clock() >= ends else token

    def redeem(self, ticket: str) -> str | None:
        """Swap a ticket for a cookie; None where it was used before, is too old, or is none."""
        token, ends = self._tickets.pop(digest_of(ticket.encode()), (b"", 0.0))
        if self._clock() >= ends:
            return None
        cookie = secrets.token_urlsafe(32)
        _put(self._logins, cookie, (token, self._clock() + LOGIN_S), MAX_LOGINS)
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

    async def keep(self) -> None:
        """Write the cookies down. Where that fails, they end with the daemon, and no sooner."""
        if self._path is None:
            return
        self._kept_at = now = self._clock()
        kept = [
            _Login(cookie, token, self._wall() + ends - now)
            for cookie, (token, ends) in self._logins.items()
            if ends > now
        ]
        content = msgspec.json.encode(kept)
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._thread, write_private, self._path, content)
        except OSError as error:
            _logger.warning("who is signed in could not be written down: %s", error.strerror)

    async def keep_now_and_then(self) -> None:
        """Write down that cookies were used, if that was not done for a while."""
        if self._logins and self._clock() - self._kept_at >= KEEP_EVERY_S:
            await self.keep()


def _load(path: Path) -> list[_Login]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[_Login])
    except FileNotFoundError:
        return []
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        # Nobody is locked out by it: signing in again takes a moment.
        _logger.warning("cannot read who was signed in, from %s: %s", path, error)
        return []


def _put(
    kept: dict[bytes, tuple[bytes, float]], secret: str, value: tuple[bytes, float], most: int
) -> None:
    same = [key for key, (token, _) in kept.items() if token == value[0]]
    if len(same) >= most:
        del kept[same[0]]
    kept[digest_of(secret.encode())] = value
