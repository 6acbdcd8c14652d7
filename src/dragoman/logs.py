"""Logging: JSON lines in a bounded file, short lines on stderr, and no secret in either.

What is logged while a request is answered carries the request's id. What people say to agents is
never logged at `info` or above; at `debug` it may be.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dragoman.wire.key_patterns import MASK as MASK
from dragoman.wire.key_patterns import without_credentials, without_keys
from dragoman.wire.redactor import mask_of

MAX_FILE_BYTES = 5 * 1024 * 1024
BACKUPS = 3
DISK_PART = 64
"""On a small disk a file may take this part of it, so that logs do not fill it."""
MAX_TEXT = 16 * 1024
_SECRET_FIELDS = frozenset({"authorization", "token", "cookie", "set_cookie"})
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f]")
_DEBUG_AREAS = {"sandbox": "dragoman.workspace"}
"""Parts of the daemon whose loggers can log everything, and those loggers."""
_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}

_secrets: dict[str, str] = {}
"""What must not be logged, and what stands in its place."""
_clean: ContextVar[Callable[[str], str] | None] = ContextVar("clean", default=None)


class Answering:
    """A request that is being answered: what is logged meanwhile carries its id."""

    __slots__ = ("id", "over")

    def __init__(self, id: str) -> None:
        self.id = id
        self.over = False
        """Tasks that it started may live on; what they log is no longer about it."""


_answering: ContextVar[Answering | None] = ContextVar("answering", default=None)


def answering(request_id: str) -> Answering:
    """From now on this task, and those it starts, answer a request, until it is `over`."""
    request = Answering(request_id)
    _answering.set(request)
    return request


def request_id() -> str | None:
    """The id of the request that is being answered here."""
    request = _answering.get()
    return None if request is None or request.over else request.id


def redact(secret: str, name: str | None = None) -> None:
    """Never let this text into a log, also not in its URL-encoded spelling."""
    mask = MASK if name is None else mask_of(name)
    for spelling in filter(None, (secret, quote(secret, safe="", errors="surrogateescape"))):
        _secrets[spelling] = mask


def redact_here(clean: Callable[[str], str]) -> None:
    """What this task logs from now on, and those that it starts, is cleaned by this too."""
    _clean.set(clean)


def redacted(text: str) -> str:
    """The text without secrets."""
    clean = _clean.get()
    text = text if clean is None else clean(text)
    # The longest first: a secret that begins with another one must not leave its end behind.
    for secret in sorted(_secrets, key=len, reverse=True):
        text = text.replace(secret, _secrets[secret])
    return without_keys(without_credentials(text))


def configure(level: str, path: Path | None, debug: Sequence[str] = ()) -> None:
    """Log from `level` on into the file, and from warnings on to stderr. Replaces what was set.

    The areas in `debug` log everything.
    """
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if isinstance(handler, _Ours)]:
        root.removeHandler(handler)
        handler.close()
    people = _People(sys.stderr)
    people.setLevel(logging.WARNING)
    people.setFormatter(_Line())
    root.addHandler(people)
    if path is not None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        max_bytes = min(MAX_FILE_BYTES, shutil.disk_usage(path.parent).total // DISK_PART)
        file = _File(path, maxBytes=max_bytes, backupCount=BACKUPS, encoding="utf-8")
        file.setFormatter(_Json())
        root.addHandler(file)
    wanted = logging.getLevelNamesMapping()[level.upper()]
    logging.getLogger("dragoman").setLevel(wanted)
    for area, logger in _DEBUG_AREAS.items():
        logging.getLogger(logger).setLevel(logging.DEBUG if area in debug else logging.NOTSET)
    # At debug, libraries print whole requests: that is theirs to debug, not ours to keep.
    root.setLevel(max(wanted, logging.INFO))
    # At info, it tells the URL of each request, and that of a webhook may be a secret.
    logging.getLogger("httpx2").setLevel(logging.WARNING)


class _Ours(logging.Handler):
    """What the handlers that `configure` makes have in common."""

    _has_warned = False

    def handleError(self, record: logging.LogRecord) -> None:
        """Say once that a record was lost; the default would print it, unredacted."""
        if not self._has_warned:
            self._has_warned = True
            # Where stderr is gone as well, nobody is left to be told.
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.write(f"dragoman: error: a record of {record.name} was not logged\n")


class _People(_Ours, logging.StreamHandler[Any]):
    """Lines for whoever watches stderr."""


class _File(_Ours, RotatingFileHandler):
    """A rotated file that only its owner can read."""

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.fchmod(descriptor, 0o600)
        return open(descriptor, "a", encoding="utf-8")


class _Json(logging.Formatter):
    """One JSON object on a line: time, level, logger, message, extra fields."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields: dict[str, Any] = {
            "time": time.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if (asked := request_id()) is not None:
            fields["request_id"] = asked
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            fields["stack"] = record.stack_info
        for name, value in record.__dict__.items():
            if name not in _STANDARD and name not in fields:
                fields[name] = value
        return json.dumps(_safe(fields))


class _Line(logging.Formatter):
    """What a person needs to know, on one line."""

    def format(self, record: logging.LogRecord) -> str:
        text = f"dragoman: {record.levelname.lower()}: {record.getMessage()}"
        if record.exc_info and (error := record.exc_info[1]) is not None:
            text += f" ({type(error).__name__}: {error})"
        return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], _clip(redacted(text)))


def _safe(value: Any) -> Any:
    """A value that JSON can hold, without secrets and not endless."""
    match value:
        case None | bool() | int() | float():
            return value
        case dict():
            return {
                _clip(redacted(str(name))): MASK if _is_secret(name) else _safe(each)
                for name, each in value.items()
            }
        case list() | tuple() | set() | frozenset():
            return [_safe(each) for each in value]
        case _:
            return _clip(redacted(str(value)))


def _is_secret(name: object) -> bool:
    return str(name).lower().replace("-", "_") in _SECRET_FIELDS


def _clip(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}… ({len(text)} characters)"
