"""Renaming that replaces, that does not, and that swaps."""

from __future__ import annotations

import ctypes
import errno
import os

from dragoman.files.beneath import Place

_NOREPLACE, _EXCHANGE = 1, 2
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL)

_libc = ctypes.CDLL(None, use_errno=True)


def rename(old: Place, new: Place) -> None:
    """Move an entry, replacing a file, or an empty folder by a folder."""
    os.rename(old.name, new.name, src_dir_fd=old.folder, dst_dir_fd=new.folder)


def rename_new(old: Place, new: Place) -> None:
    """Move an entry. Raise FileExistsError where something is in its place."""
    try:
        _renameat2(old, new, _NOREPLACE)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        # Some file systems cannot refuse by themselves; there, a moment lies between.
        if is_there(new):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        rename(old, new)


def exchange(one: Place, other: Place) -> None:
    """Let two entries change places."""
    _renameat2(one, other, _EXCHANGE)


def is_there(found: Place) -> bool:
    """Whether there is an entry of this name."""
    try:
        found.look()
    except FileNotFoundError:
        return False
    return True


def _renameat2(old: Place, new: Place, flags: int) -> None:
    names = os.fsencode(old.name), os.fsencode(new.name)
    if _libc.renameat2(old.folder, names[0], new.folder, names[1], flags) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
