"""What a session tells of the files in its directory, and their diffs over HTTP."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from dragoman.schema.camel import Http
from dragoman.schema.texts import NoNul

Pattern = Annotated[NoNul, Meta(min_length=1, max_length=1024)]


class FileEventOptions(Http, frozen=True, kw_only=True):
    """Which files a session tells of, and how much."""

    ignore: tuple[Pattern, ...] = ()
    """Files and folders to leave out, beside `.git` and `node_modules`: a name, or a path from the
    directory on; `*` stands for anything."""
    gitignore: bool | None = None
    """Leave out what git ignores, too; null: as the settings say."""
    diff: bool | None = None
    """Tell the diff of each file that changes (`sandbox.file.diff`); null: as the settings say."""


class ChangeCount(Http, frozen=True, kw_only=True, omit_defaults=False):
    """How much has changed in a session's directory."""

    files: int = 0
    additions: int = 0
    """Lines."""
    deletions: int = 0


class DiffQuery(Http, frozen=True, kw_only=True):
    """Which diff."""

    turn: str | None = None
    """The id of a turn; without one, that of the whole session."""


class SessionDiff(Http, frozen=True, kw_only=True, omit_defaults=False):
    """What has changed in a session's directory, as a patch for `git apply`."""

    path: str = "."
    diff: str
    truncated: bool = False
    """Files are named whose diffs were left out."""
