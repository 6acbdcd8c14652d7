"""Bodies and queries about people's files."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from dragoman.schema.camel import Http

EntryType = Literal["file", "directory"]
EntryKind = Literal["file", "directory", "symlink", "other"]


class FolderQuery(Http, frozen=True, kw_only=True):
    """A folder: the root itself unless `path` says otherwise."""

    path: str = ""
    """Absolute, or relative to the root."""
    session_id: str | None = None
    """The root is this session's directory."""


class PathQuery(Http, frozen=True, kw_only=True):
    """Something beneath a root."""

    path: str
    """Absolute, or relative to the root."""
    session_id: str | None = None
    """The root is this session's directory."""


class RemoveQuery(Http, frozen=True, kw_only=True):
    """What to remove."""

    path: str
    """Absolute, or relative to the root."""
    recursive: bool = False
    """Remove a folder with all that is in it."""
    session_id: str | None = None
    """The root is this session's directory."""


class MoveQuery(Http, frozen=True, kw_only=True):
    """Where the paths of a move begin."""

    session_id: str | None = None
    """The root is this session's directory."""


class FsStat(Http, frozen=True, kw_only=True):
    """Something beneath a root."""

    path: str
    """Absolute."""
    entry_type: EntryType
    """Of a symbolic link: of what it leads to, and `file` where that is not to be seen."""
    size: int
    """In bytes."""
    modified: str | None = None
    """RFC 3339, UTC."""
    kind: EntryKind
    """What it is itself: `other` is a pipe, a socket or a device, and cannot be read."""
    target: str | None = None
    """Where a symbolic link leads, in its own words."""


class FsEntry(FsStat, frozen=True, kw_only=True):
    """An entry of a folder."""

    name: str


class FsWritten(Http, frozen=True, kw_only=True):
    """A file was written."""

    path: str
    bytes_written: int


class FsDone(Http, frozen=True, kw_only=True):
    """It was done to this path."""

    path: str


class FsMove(Http, frozen=True, kw_only=True):
    """What to move where."""

    from_: str = field(name="from")
    to: str
    overwrite: bool | None = None
    """Replace what is at `to`, also a folder with all that is in it."""


class FsMoved(Http, frozen=True, kw_only=True):
    """It was moved."""

    from_: str = field(name="from")
    to: str


class FsUnpacked(Http, frozen=True, kw_only=True, omit_defaults=False):
    """What an archive brought: the first 1024 paths, and whether there were more."""

    paths: tuple[str, ...]
    truncated: bool
