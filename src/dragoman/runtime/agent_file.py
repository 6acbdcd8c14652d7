"""Files that an agent keeps beside its session, such as the whole output of a command."""

from __future__ import annotations

import logging
import os
import stat

from dragoman.runtime.files.paths import is_within
from dragoman.wire.redact import Redactor

log = logging.getLogger(__name__)
MAX_BYTES = 64 * 1024 * 1024


def read(path: str, closed: str, redactor: Redactor | None) -> bytes | None:
    """A text file without secrets, up to a size. None where it is not there, or is not to be read.

    `closed` is a folder of which nothing is read. For a thread, never for the event loop.
    """
    try:
        data = _read(path, closed)
    except (OSError, ValueError) as error:
        log.info("what an agent keeps in a file cannot be read: %s", error)
        return None
    if redactor is None:
        return data
    text = redactor.text(data.decode(errors="surrogateescape"))
    return text.encode(errors="surrogateescape")


def _read(path: str, closed: str) -> bytes:
    if is_within(os.path.realpath(path), os.path.realpath(closed)):
        raise PermissionError("it is the daemon's own")
    # Neither a link, which may be changed meanwhile, nor a pipe, which may never end.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise PermissionError("it is no plain file")
        return file.read(MAX_BYTES)
