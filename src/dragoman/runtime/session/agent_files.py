"""Files that an agent names: its own notes, and files it asks to change."""

from __future__ import annotations

import logging
import os
import stat

from dragoman.core.written_files import FoundFile
from dragoman.files.paths import is_within
from dragoman.runtime.session.containment import is_beneath
from dragoman.wire.redactor import Redactor

log = logging.getLogger(__name__)
MAX_BYTES = 64 * 1024 * 1024
MAX_PEEK_BYTES = 512 * 1024


def read(path: str, closed: str, redactor: Redactor | None) -> bytes | None:
    """A text file without secrets, up to a size. None where it is not there, or is not to be read.

    `closed` is a folder of which nothing is read. For a thread, never for the event loop.
    """
    try:
        data = _read(path, closed, MAX_BYTES)
    except (OSError, ValueError) as error:
        log.info("what an agent keeps in a file cannot be read: %s", error)
        return None
    if redactor is None:
        return data
    text = redactor.text(data.decode(errors="surrogateescape"))
    return text.encode(errors="surrogateescape")


def peek(directory: str, closed: str, path: str) -> str | None:
    """A short text file in a directory, as it would be shown; None where it is none.

    It is read where the event loop waits, as its links are, so it must not take long.
    """
    if not is_beneath(directory, [path]):
        return None
    try:
        real = os.path.realpath(os.path.join(directory, path))
        data = _read(real, closed, MAX_PEEK_BYTES + 1)
        # Agents tell a file with CRLF as one with LF.
        text = data.decode().replace("\r\n", "\n")
    except (OSError, ValueError):
        return None  # it is not there, not plain or no text: nothing is shown of it
    return None if len(data) > MAX_PEEK_BYTES or "\0" in text else text


def find(directory: str, closed: str, path: str) -> FoundFile | None:
    """The same of a file that is about to be written, which may not be there yet."""
    text = peek(directory, closed, path)
    if text is not None:
        return FoundFile(text)
    is_absent = is_beneath(directory, [path]) and not os.path.lexists(os.path.join(directory, path))
    return FoundFile(None) if is_absent else None


def _read(path: str, closed: str, most: int) -> bytes:
    if is_within(os.path.realpath(path), os.path.realpath(closed)):
        raise PermissionError("it is the daemon's own")
    # Neither a link, which may be changed meanwhile, nor a pipe, which may never end.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise PermissionError("it is no plain file")
        return file.read(most)
