"""Tokens and where they are kept: the daemon's own, and digests of the others."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import math
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
from msgspec import Struct

from dragoman.errors import Conflict, NotFound, StartRefused, StorageFull, WrongSetting
from dragoman.runtime.processes import linux
from dragoman.schema.access import CreatedToken, CreateToken, Scope, TokenInfo
from dragoman.settings import Settings
from dragoman.store.fsync import write_private
from dragoman.wire.key_patterns import TOKEN_PREFIX

RESERVED = ("default", "none")
MAX_TOKENS = 1000

_logger = logging.getLogger("dragoman.http")


def _since_boot() -> float:
    """A clock that also runs while the machine sleeps, where there is one."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


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
        return _one_word(settings.token, "--token or DRAGOMAN_TOKEN", WrongSetting)
    path = token_path(settings)
    try:
        if not path.exists():
            _make(path)
        return _read(path)
    except OSError as error:
        raise StartRefused(f"cannot use the token file {path}: {error.strerror}") from None


def is_exposed(settings: Settings) -> bool:
    """Whether an agent could read the token: it is in a file, or whoever started us shows it."""
    if settings.token is None:
        return True
    place = _exposed_by(settings.token, settings.config)
    if place is not None:
        _logger.warning("agents can read the daemon's token, so it approves nothing: %s", place)
    return place is not None


def _exposed_by(token: str, config: str | None) -> str | None:
    if config is not None:
        with contextlib.suppress(OSError):
            if token.encode() in Path(config).read_bytes():
                return f"it is in {config}"
    for each in linux.ancestry(os.getpid()):
        if linux.shows(each.pid, token):
            return f"process {each.pid} shows it in its command line or environment"
    return None


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


def _one_word(text: str, source: str, refused: type[StartRefused] = StartRefused) -> str:
    words = text.split()
    if len(words) != 1:
        raise refused(
            f"{source} must hold one token without spaces, and holds "
            f"{'several words' if words else 'nothing'}"
        )
    return words[0]


# --- Tokens with names ---


def digest_of(secret: bytes) -> bytes:
    """What is kept of a secret. Those of ours are long and random: no salt makes them safer."""
    return hashlib.sha256(secret).digest()


class Key(Struct, frozen=True, kw_only=True):
    """A named token, as it is kept."""

    name: str
    scopes: tuple[Scope, ...]
    digest: str
    created_at: int
    expires_at: int | None = None


class _StoredToken(Struct, frozen=True):
    tokens: tuple[Key, ...] = ()


class Keyring:
    """The named tokens, in a file of their own.

    Not in the database: a damaged one must lock nobody out, and an old one that is put back must
    not bring revoked tokens to life again. The daemon alone writes it, in one thread, and reads
    it at the start.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        wall: Callable[[], float] = time.time,
        clock: Callable[[], float] = _since_boot,
    ) -> None:
        self._path = path
        self._wall = wall
        self._clock = clock
        self._keys: dict[bytes, Key] = {}
        self._ends: dict[bytes, float] = {}
        self._thread = ThreadPoolExecutor(1, "keyring")
        for key in _load_keys(path) if path is not None else ():
            self._add(key)

    def find(self, digest: bytes) -> Key | None:
        """The token with this digest, if it is good."""
        key = self._keys.get(digest)
        return None if key is None or self._is_over(digest) else key

    def infos(self) -> tuple[TokenInfo, ...]:
        """All tokens, expired ones too, as they may be shown."""
        return tuple(self._info(digest) for digest in self._keys)

    async def create(self, wanted: CreateToken) -> CreatedToken:
        """Make a token. Raise Conflict where the name is taken."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._create, wanted)

    async def revoke(self, name: str) -> None:
        """Make a token good for nothing. Raise NotFound where there is none."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, self._revoke, name)

    def _create(self, wanted: CreateToken) -> CreatedToken:
        if wanted.name in RESERVED or any(k.name == wanted.name for k in self._keys.values()):
            raise Conflict(f"there is a token {wanted.name!r}; revoke it, or choose another name")
        if len(self._keys) >= MAX_TOKENS:
            raise Conflict(f"there are {MAX_TOKENS} tokens; revoke some")
        token = TOKEN_PREFIX + secrets.token_urlsafe(32)
        digest = digest_of(token.encode())
        now = int(self._wall() * 1000)
        expires = None if wanted.expires_in_s is None else now + wanted.expires_in_s * 1000
        key = Key(
            name=wanted.name,
            scopes=tuple(sorted(set(wanted.scopes))),
            digest=digest.hex(),
            created_at=now,
            expires_at=expires,
        )
        self._save([*self._keys.values(), key])
        self._add(key)
        return CreatedToken(token=token, **msgspec.structs.asdict(self._info(digest)))

    def _revoke(self, name: str) -> None:
        kept = [key for key in self._keys.values() if key.name != name]
        if len(kept) == len(self._keys):
            raise NotFound(f"there is no token {name!r}")
        self._save(kept)
        self._keys = {bytes.fromhex(key.digest): key for key in kept}

    def _add(self, key: Key) -> None:
        digest = bytes.fromhex(key.digest)
        if key.expires_at is not None:
            # By a clock that nobody sets: a jump of the other one must not end them all.
            self._ends[digest] = self._clock() + key.expires_at / 1000 - self._wall()
        # A new dict: others are reading the old one.
        self._keys = {**self._keys, digest: key}

    def _is_over(self, digest: bytes) -> bool:
        return self._clock() >= self._ends.get(digest, math.inf)

    def _info(self, digest: bytes) -> TokenInfo:
        key = self._keys[digest]
        return TokenInfo(
            name=key.name,
            scopes=key.scopes,
            created_at=key.created_at,
            expires_at=key.expires_at,
            expired=self._is_over(digest),
        )

    def _save(self, keys: Iterable[Key]) -> None:
        if self._path is None:
            return
        content = msgspec.json.format(msgspec.json.encode(_StoredToken(tuple(keys))), indent=2)
        try:
            write_private(self._path, content)
        except OSError as error:
            raise StorageFull(
                f"the tokens could not be stored ({error.strerror}); nothing was changed"
            ) from None


def _load_keys(path: Path) -> tuple[Key, ...]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_StoredToken).tokens
    except FileNotFoundError:
        return ()
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StartRefused(
            f"cannot read the tokens in {path}: {error}; repair it, or move it away and create "
            "the tokens anew"
        ) from None
