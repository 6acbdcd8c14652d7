"""Temporary names in people's folders, and what a daemon that was killed has left under them.

Whoever works on such a file or folder holds a lock on it, which ends with the process, however it
ends. What is older than this daemon and held by nobody is therefore nobody's.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
import time
import uuid

from dragoman.files.beneath import Place, names_in
from dragoman.files.removal import remove_tree

_OURS = re.compile(r"\.dragoman-[0-9a-f]{32}")
_BEGUN_S = time.time()


def temporary_name() -> str:
    """A name that nobody else has."""
    return f".dragoman-{uuid.uuid4().hex}"


def hold(opened: int) -> None:
    """Show that somebody is at work on a file or folder, for as long as it is open."""
    # Where a file system has no locks, nothing is ever taken for a leftover.
    with contextlib.suppress(OSError):
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)


def sweep(folder: int) -> None:
    """Remove what was left in a folder, as far as that can be done."""
    with contextlib.suppress(OSError):
        for name in names_in(folder):
            if _OURS.fullmatch(name):
                _remove(Place(folder, name))


def _remove(found: Place) -> None:
    with contextlib.suppress(OSError):
        info = found.look()
        is_ours = stat.S_ISDIR(info.st_mode) or stat.S_ISREG(info.st_mode)
        if not is_ours or info.st_mtime >= _BEGUN_S:
            return
        opened = found.open(os.O_RDONLY | os.O_NONBLOCK)
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_tree(found)
        finally:
            os.close(opened)
