"""Authenticates callers by the digest of their secret, and slows down guessing."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, get_args

from msgspec import Struct

from dragoman.errors import StartRefused
from dragoman.http.auth.tickets import Logins
from dragoman.http.auth.tokens import RESERVED, Keyring, digest_of
from dragoman.schema.access import Scope

FREE_FAILURES = 10
"""So many wrong tokens of one peer are answered at once."""
MAX_DELAY_S = 1.0
MAX_PEERS = 1000
"""The failures of so many peers are remembered."""
_DELAY_STEP_S = 0.1
_FORGIVEN_AFTER_S = 60.0


class Caller(Struct, frozen=True):
    """Who asks: the name of a token, and what it may do."""

    token: str = "default"
    scopes: tuple[Scope, ...] = ("admin",)

    def acting(self, needed: Scope) -> Scope | None:
        """Say by which scope something is allowed; None where it is not."""
        if "admin" in self.scopes:
            return "admin"
        # Every token may look; who writes or approves must see what.
        return needed if needed == "read" or needed in self.scopes else None

    @property
    def allowed(self) -> tuple[Scope, ...]:
        """All that it may do."""
        return tuple(scope for scope in get_args(Scope) if self.acting(scope))


OWNER = Caller()
"""Who holds the daemon's own token."""


class Credential(Struct, frozen=True):
    """How a caller came in, so that it can be asked later whether that is still good."""

    caller: Caller
    token: bytes = b""
    """The digest of the token."""
    login: bytes | None = None
    """The digest of the cookie that stood for it."""


class Visitor(Protocol):
    """A connection that somebody came in by."""

    def drop(self) -> None:
        """End it at once."""


class Authenticator:
    """Knows all who may come in, by digests only, and slows down whoever guesses."""

    def __init__(
        self,
        token: str | None,
        keyring: Keyring | None = None,
        logins: Logins | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        is_exposed: bool = True,
    ) -> None:
        """Know the daemon's own token; `is_exposed` where an agent could read it."""
        if token == "":
            raise StartRefused("an empty token would let everybody in; give one, or --no-token")
        self.keyring = keyring or Keyring(None)
        self.logins = logins or Logins()
        self._digest = None if token is None else digest_of(token.encode())
        self._clock = clock
        self._is_exposed = is_exposed
        self._failures: dict[str, tuple[int, float]] = {}
        self._visitors: dict[Visitor, Credential] = {}

    @property
    def is_open(self) -> bool:
        """Whether there is no token at all."""
        return self._digest is None

    def ticket(self) -> str | None:
        """A ticket that stands for the daemon's own token; None where there is none."""
        return None if self._digest is None else self.logins.ticket(self._digest)

    # --- Knowing ---

    def check(self, authorization: bytes | None, peer: str = "") -> Credential | None:
        """Recognise a caller by an Authorization header; None for a missing or wrong token."""
        entry = self.entry_of(digest_of(_offered(authorization or b"")))
        if entry is None:
            self.count_failure(peer)
        return entry

    def check_cookie(self, cookie: bytes, peer: str = "") -> Credential | None:
        """Recognise a caller by the cookie that a ticket was swapped for."""
        login = digest_of(cookie)
        token = self.logins.find(login)
        caller = None if token is None else self._holder(token)
        if token is None or caller is None:
            self.count_failure(peer)
            return None
        return Credential(caller, token, login)

    def is_good(self, entry: Credential) -> bool:
        """Whether somebody could come in the same way now."""
        is_in = entry.login is None or self.logins.find(entry.login) is not None
        return is_in and self._holder(entry.token) is not None

    def has_secret(self, entry: Credential) -> bool:
        """Whether somebody came in by what no agent can read: of most secrets we keep digests."""
        if entry.login is not None or entry.caller.token not in RESERVED:
            return True
        return not self.is_open and not self._is_exposed

    def entry_of(self, token: bytes) -> Credential | None:
        """The way in of whoever holds the token with this digest; None where it is not good."""
        caller = self._holder(token)
        return None if caller is None else Credential(caller, token)

    def _holder(self, digest: bytes) -> Caller | None:
        """Who holds the token with this digest."""
        if self._digest is None:
            return Caller(token="none")
        if hmac.compare_digest(digest, self._digest):
            return OWNER
        # Found by a digest, of which a guesser can choose no byte: its time tells nothing.
        key = self.keyring.find(digest)
        return None if key is None else Caller(key.name, key.scopes)

    # --- Slowing down ---

    def count_failure(self, peer: str) -> None:
        """Remember that somebody guessed."""
        now = self._clock()
        failures, last = self._failures.pop(peer, (0, now))
        if now - last > _FORGIVEN_AFTER_S:
            failures = 0
        if len(self._failures) >= MAX_PEERS:
            del self._failures[next(iter(self._failures))]
        self._failures[peer] = (failures + 1, now)

    def delay_s(self, peer: str = "") -> float:
        """Say how long a failure of this peer waits for its answer."""
        failures, _ = self._failures.get(peer, (0, 0.0))
        return min(MAX_DELAY_S, max(0, failures - FREE_FAILURES) * _DELAY_STEP_S)

    async def slow_down(self, peer: str = "") -> None:
        """Hold up the answer to a failure. A good token never comes here."""
        if delay_s := self.delay_s(peer):
            await asyncio.sleep(delay_s)

    # --- Who is inside ---

    @contextmanager
    def visit(self, visitor: Visitor, entry: Credential) -> Iterator[None]:
        """Somebody is inside meanwhile, for as long as the way in is good."""
        self._visitors[visitor] = entry
        try:
            yield
        finally:
            self._visitors.pop(visitor, None)

    def turn_out(self, but: Visitor | None = None) -> None:
        """End what those are doing whose way in is good no longer, but for who just ended it."""
        for visitor, entry in list(self._visitors.items()):
            if visitor is not but and not self.is_good(entry):
                visitor.drop()


def _offered(authorization: bytes) -> bytes:
    scheme, _, credentials = authorization.partition(b" ")
    match scheme.lower():
        case b"bearer" | b"token":
            return credentials.strip()
        case b"basic":
            return _password(credentials.strip())
        case _:
            return b""


def _password(credentials: bytes) -> bytes:
    try:
        return base64.b64decode(credentials, validate=True).partition(b":")[2]
    except binascii.Error:
        return b""
