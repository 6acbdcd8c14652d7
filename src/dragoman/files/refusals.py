"""What the kernel refuses, in our own words."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

from dragoman.errors import (
    Conflict,
    DragomanError,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    RequestError,
    StorageFull,
    Unavailable,
)

_MISSING = (errno.ENOENT, errno.ENOTDIR)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP)
_IMPOSSIBLE = (errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_IN_THE_WAY = (
    errno.EEXIST, errno.EISDIR, errno.ENOTEMPTY, errno.EBUSY, errno.ETXTBSY, errno.EXDEV,
)  # fmt: skip


@contextlib.contextmanager
def translated(path: str, *, writing: bool = False, field: str = "path") -> Iterator[None]:
    """Tell what the kernel says about a path as an error of ours; `field` is where it was given."""
    try:
        yield
    except OSError as error:
        raise _refusal(error, path, writing, field) from None
    except RequestError as error:
        # Who finds the way does not know what the path was called.
        if field != "path" and error.details.get("field", "path") == "path":
            error.details["field"] = field
        raise


def _refusal(error: OSError, path: str, writing: bool, field: str) -> DragomanError:
    why = (error.strerror or "it failed").lower()
    match error.errno:
        case errno.ENOTDIR if writing:
            return Conflict(f"a part of {path} is no folder", field=field)
        case code if code in _MISSING:
            return NotFound(f"there is no {path}", field=field)
        case code if code in _FORBIDDEN:
            return PermissionDenied(f"{path} is not open to the daemon: {why}", field=field)
        case code if code in _IMPOSSIBLE:
            return InvalidRequest(f"{path} is not possible: {why}", field=field)
        case code if code in _IN_THE_WAY:
            return Conflict(f"{path} is in the way: {why}", field=field)
        case code if code in _FULL:
            return StorageFull(f"{path} cannot be written: {why}")
        case errno.EMFILE | errno.ENFILE:
            return Unavailable("too many files are open; try again later")
        case _:
            raise error
