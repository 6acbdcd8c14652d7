"""Find the daemon: its address and the token that opens it."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from dragoman.errors import DragomanError, InvalidRequest

DEFAULT_URL = "http://127.0.0.1:2468"
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


class Address(Struct, frozen=True, kw_only=True):
    """Where the daemon is, and the token to show it."""

    url: str
    token: str | None = None
    token_given: bool = False
    """This daemon was given its token as a flag or a variable: no file holds it."""


class _Running(Struct, rename="camel"):
    """`daemon.json`, which a running daemon keeps in its data folder."""

    url: str
    token_file: str | None = None
    """Where its token is, if not in the same folder."""
    token_given: bool = False
    pid: int | None = None
    agents_dir: str | None = None


def locate(
    environ: Mapping[str, str],
    *,
    url: str | None = None,
    token: str | None = None,
    token_file: str | None = None,
    data_dir: Path | None = None,
) -> Address:
    """Choose what was given, then the environment, then what the data folder says."""
    folder = data_dir or _data_dir(environ)
    running = _running(folder / "daemon.json")
    known = running.url if running else DEFAULT_URL
    chosen = (url or environ.get("DRAGOMAN_URL") or known).rstrip("/")
    if not is_address(chosen):
        raise InvalidRequest(f"{chosen!r} is no address of a daemon; right is e.g. {DEFAULT_URL}")
    token = token or environ.get("DRAGOMAN_TOKEN")
    token_file = token_file or environ.get("DRAGOMAN_TOKEN_FILE")
    if not token and token_file:
        token = _read_token(Path(token_file).expanduser())
    # The folder's own token opens the folder's own daemon, and is shown to nobody else: neither to
    # other machines, nor to whoever listens on another port of this one.
    is_own = _place(chosen) == _place(known)
    if not token and is_own:
        token = _kept_token(folder, running)
    if token and not (token.isascii() and token.isprintable()):
        raise DragomanError("the token holds characters that no header can; it is plain ASCII")
    given = is_own and running is not None and running.token_given
    return Address(url=chosen, token=token or None, token_given=given)


def agents_dir(data_dir: Path) -> str | None:
    """Where the daemon that runs on this data folder has its agents; None: there is none."""
    running = _running(data_dir / "daemon.json")
    return running.agents_dir if running is not None and _is_alive(running.pid) else None


def is_loopback(url: str) -> bool:
    """Whether the address can only be on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_address(url: str) -> bool:
    """Whether a daemon can be at this URL."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _data_dir(environ: Mapping[str, str]) -> Path:
    if chosen := environ.get("DRAGOMAN_DATA_DIR"):
        return Path(chosen).expanduser()
    home = Path(environ.get("HOME") or Path.home())
    return Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "dragoman"


def _running(path: Path) -> _Running | None:
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_Running)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        # No daemon has been here, or it left a broken note: the default is the better guess.
        return None
    return found if is_address(found.url) else None


def _is_alive(pid: int | None) -> bool:
    """Whether the process is there: a daemon that was killed leaves its note."""
    if not pid:
        return False
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, PermissionError)
    return True


def _place(url: str) -> tuple[str, str, int | None]:
    """What tells daemons apart, however their addresses are spelled."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, "localhost" if host in _THIS_MACHINE else host, port


def _kept_token(folder: Path, running: _Running | None) -> str | None:
    if running is not None and running.token_given:
        return None  # what lies in the folder is of an earlier daemon
    kept = folder / "token"
    if running is not None and running.token_file:
        kept = Path(running.token_file)
    return _read_token(kept) if kept.exists() else None


def _read_token(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise DragomanError(f"cannot read the token file {path}: {why}") from None
