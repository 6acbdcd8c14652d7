"""The token: where it is kept, and who shows it."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import logging
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from dragoman.errors import StartRefused
from dragoman.settings import Settings

FREE_FAILURES = 10
"""So many wrong tokens are answered at once."""
MAX_DELAY_S = 1.0
_DELAY_STEP_S = 0.1
_FORGIVEN_AFTER_S = 60.0

_logger = logging.getLogger("dragoman.http")


class Caller(Struct, frozen=True):
    """Who asks: the name of a token, and what it may do."""

    token: str = "default"
    scope: str = "admin"


def token_path(settings: Settings) -> Path:
    """Say where the token is kept unless it is given."""
    if settings.token_file:
        return Path(settings.token_file).expanduser()
    return Path(settings.data_dir) / "token"


def load_token(settings: Settings) -> str | None:
    """Find the token, or make one; None only with `no_token`."""
    if settings.no_token:
        return None
    if settings.token is not None:
        return _one_word(settings.token, "--token or DRAGOMAN_TOKEN")
    path = token_path(settings)
    try:
        if not path.exists():
            _make(path)
        return _read(path)
    except OSError as error:
        raise StartRefused(f"cannot use the token file {path}: {error.strerror}") from None


def _make(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Linked when it is whole: nobody can find it half written, and an older one stays.
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=".token-")
    try:
        with open(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
            file.flush()
            os.fsync(descriptor)
        os.link(draft, path)
    except FileExistsError:
        _logger.info("the token file %s was made by another process", path)
    finally:
        os.unlink(draft)


def _read(path: Path) -> str:
    with path.open("rb") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if mode & 0o077:
            _close_to_others(path, file.fileno(), mode)
        content = file.read()
    return _one_word(content.decode(errors="replace"), f"the token file {path}")


def _close_to_others(path: Path, descriptor: int, mode: int) -> None:
    try:
        os.fchmod(descriptor, mode & 0o700)
    except OSError as error:
        raise StartRefused(
            f"the token file {path} is open to other users (mode {mode:04o}) and cannot be "
            f"repaired ({error.strerror}); run chmod 600 on it, or choose another --token-file"
        ) from None
    _logger.warning(
        "the token file %s was open to other users (mode %04o) and is no longer; "
        "if somebody may have read it, delete it and start again",
        path,
        mode,
    )


def _one_word(text: str, source: str) -> str:
    words = text.split()
    if len(words) != 1:
        raise StartRefused(
            f"{source} must hold one token without spaces, and holds "
            f"{'several words' if words else 'nothing'}"
        )
    return words[0]


class Guard:
    """Knows the token by its digest only, and slows down whoever guesses."""

    def __init__(self, token: str | None, clock: Callable[[], float] = time.monotonic) -> None:
        if token == "":
            raise StartRefused("an empty token would let everybody in; give one, or --no-token")
        self._digest = None if token is None else hashlib.sha256(token.encode()).digest()
        self._caller = Caller() if token is not None else Caller(token="none")
        self._clock = clock
        self._failures = 0
        self._last_failure = 0.0

    def check(self, authorization: bytes | None) -> Caller | None:
        """Recognise the caller by an Authorization header; None for a missing or wrong token."""
        if self._digest is None:
            return self._caller
        offered = hashlib.sha256(_offered(authorization or b"")).digest()
        if hmac.compare_digest(offered, self._digest):
            return self._caller
        self._count_failure()
        return None

    def delay_s(self) -> float:
        """Say how long a failure waits for its answer."""
        return min(MAX_DELAY_S, max(0, self._failures - FREE_FAILURES) * _DELAY_STEP_S)

    async def slow_down(self) -> None:
        """Hold up the answer to a failure. A good token never comes here."""
        if delay_s := self.delay_s():
            await asyncio.sleep(delay_s)

    def _count_failure(self) -> None:
        now = self._clock()
        if now - self._last_failure > _FORGIVEN_AFTER_S:
            self._failures = 0
        self._last_failure = now
        self._failures += 1


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
