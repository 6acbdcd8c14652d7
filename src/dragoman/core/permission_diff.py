"""The diff of a file change that an agent asks permission for."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from dragoman.steps import AskPermission, FileChange
from dragoman.wire.diff import diff

ReadFile = Callable[[str], str | None]
"""The text of a file that may be shown; None: there is none."""


def read_nothing(path: str) -> str | None:
    """Know no file."""
    return None


def with_diff(ask: AskPermission, read: ReadFile) -> AskPermission:
    """The same request, with the real lines in its diff where the file is known."""
    change = ask.change
    before = None if change is None else read(change.path)
    if change is None or before is None:
        return ask
    after = _applied(change, before)
    if after is None:
        return ask  # the agent may still find the place, as with other quotes
    return replace(ask, metadata={**ask.metadata, "diff": diff(change.path, before, after)})


def _applied(change: FileChange, before: str) -> str | None:
    if change.content is not None:
        return change.content
    if not change.old or change.old not in before:
        return None
    return before.replace(change.old, change.new, -1 if change.everywhere else 1)
