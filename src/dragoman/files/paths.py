"""Paths as people write them: text in, names out. Nothing here looks at a disk."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from msgspec import Struct

from dragoman.errors import InvalidRequest, PermissionDenied

MAX_PATH_BYTES = 4096
_PROCESS = re.compile(r"/proc/\d+(/.*)?", re.DOTALL)
"""The environment and the command line of whoever started us may hold the token."""
_SEPARATORS = re.compile(r"[/\\]")

Names = tuple[str, ...]


class Root(Struct, frozen=True):
    """A folder that requests stay beneath."""

    path: str
    """As it was given; answers name things by it."""
    real: str
    """The same without links: agents tell paths in either way."""
    closed: tuple[str, ...] = ()
    """Real paths that stay shut, wherever they are: our own data, with the token."""
    fixed: tuple[str, ...] = ()
    """Paths that stay where they are, with what is around them: those of all roots."""
    by_hand: bool = False
    """The kernel cannot find the way by itself."""

    def below(self, path: str) -> Names | None:
        """The names that lead from here to an absolute path; None where it is elsewhere."""
        names = split(path)
        for root in (split(self.path), split(self.real)):
            if names[: len(root)] == root:
                return names[len(root) :]
        return None

    def tell(self, names: Sequence[str]) -> str:
        """The absolute path of something beneath, fit to be shown."""
        return printable(os.path.join(self.path, *names))

    def ensure_open(self, real: str, *, whole: bool = False) -> None:
        """Raise PermissionDenied for what stays shut; with `whole`, for what must not go."""
        for closed in self.closed:
            if is_within(real, closed) or (whole and is_within(closed, real)):
                raise PermissionDenied(
                    "the daemon's own data cannot be reached as files; a session's stored files "
                    "are at /v1/sessions/{session_id}/files/{name}"
                )
        if _PROCESS.fullmatch(real):
            raise PermissionDenied("what belongs to a process cannot be reached as files")
        if whole and any(is_within(each, real) for each in self.fixed):
            raise PermissionDenied(
                "neither a root nor what is around one can be moved or removed", field="path"
            )


def names_of(path: str, field: str = "path") -> Names:
    """The names in a path. Raise InvalidRequest for one that no request should have."""
    if "\0" in path:
        raise InvalidRequest("a path cannot hold a NUL", field=field)
    if len(os.fsencode(path)) > MAX_PATH_BYTES:
        raise InvalidRequest(f"a path has at most {MAX_PATH_BYTES} bytes", field=field)
    if ".." in _SEPARATORS.split(path):
        raise InvalidRequest("a path cannot hold '..'; name the place itself", field=field)
    return split(path)


def split(path: str) -> Names:
    """The names in a path, without what says nothing."""
    return tuple(name for name in path.split("/") if name not in ("", "."))


def find(roots: Sequence[Root], path: str, field: str = "path") -> tuple[Root, Names]:
    """The root that a path is beneath; a relative one is beneath the first."""
    names = names_of(path, field)
    if not path.startswith("/"):
        return roots[0], names
    beneath = [(root, below) for root in roots if (below := root.below(path)) is not None]
    if not beneath:
        allowed = ", ".join(printable(root.path) for root in roots)
        raise PermissionDenied(
            f"{printable(path)} is outside of what is open here: {allowed}", field=field
        )
    return min(beneath, key=lambda each: len(each[1]))


def is_within(path: str, folder: str) -> bool:
    """Whether one absolute path, as it stands, is another or beneath it."""
    outer = split(folder)
    return split(path)[: len(outer)] == outer


def printable(path: str) -> str:
    """A path as JSON can hold it: bytes that are not UTF-8 are replaced."""
    return os.fsencode(path).decode("utf-8", "replace")
