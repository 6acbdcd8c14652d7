"""Removing a folder with all that is in it, whatever somebody does to it meanwhile."""

from __future__ import annotations

import contextlib
import errno
import os
import uuid

from dragoman.files.beneath import Place

MAX_DEPTH = 32
"""So many folders are held open at once; what lies deeper is brought up first."""
ROUNDS = 1000
"""So often a folder that fills up again is emptied."""
_NOT_A_FOLDER = (errno.ENOTDIR, errno.ELOOP)


def remove_tree(found: Place) -> None:
    """Remove an entry with all that is beneath; a link is removed, never followed."""
    for _ in range(ROUNDS):
        try:
            top = _open(found)
        except OSError as error:
            if error.errno not in _NOT_A_FOLDER:
                raise
            return os.unlink(found.name, dir_fd=found.folder)
        try:
            _empty(top, top, MAX_DEPTH)
        finally:
            os.close(top)
        try:
            return os.rmdir(found.name, dir_fd=found.folder)
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise
    raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY))


def _empty(top: int, folder: int, depth: int) -> None:
    for name in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):
            _remove(top, Place(folder, name), depth)


def _remove(top: int, found: Place, depth: int) -> None:
    try:
        opened = _open(found)
    except OSError as error:
        if error.errno not in _NOT_A_FOLDER:
            raise
        return os.unlink(found.name, dir_fd=found.folder)
    try:
        if depth:
            _empty(top, opened, depth - 1)
    finally:
        os.close(opened)
    try:
        return os.rmdir(found.name, dir_fd=found.folder)
    except OSError as error:
        if error.errno in _NOT_A_FOLDER:
            return None  # it was swapped; the next round sees what it is now
        if error.errno != errno.ENOTEMPTY:
            raise
    # Too deep, or filling up again: the next round finds it at the top.
    if found.folder != top:
        os.rename(found.name, uuid.uuid4().hex, src_dir_fd=found.folder, dst_dir_fd=top)
    return None


def _open(found: Place) -> int:
    return found.open(os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK)
