"""Patches, as Codex tells them, and as git would print them."""

from __future__ import annotations

from collections.abc import Iterable

from dragoman.agents.codex.native_items import Change
from dragoman.schema.items import FileRef
from dragoman.wire.diff import diff, headed


def diff_of(change: Change) -> str:
    """The change of one file. Codex tells hunks of an update only, else the whole content.

    Where a file moves, its hunks end with words that say so.
    """
    match change.kind.type:
        case "add":
            return diff(change.path, None, change.diff)
        case "delete":
            return diff(change.path, change.diff, None)
        case _:
            to = change.kind.move_path
            hunks = change.diff if to is None else change.diff.removesuffix(f"\n\nMoved to: {to}")
            return headed(change.path, hunks, to)


def paths_of(changes: Iterable[Change]) -> tuple[str, ...]:
    """The files of a patch, also where they move to."""
    named = ((change.path, change.kind.move_path) for change in changes)
    return tuple(dict.fromkeys(path for pair in named for path in pair if path))


def refs_of(changes: Iterable[Change]) -> tuple[FileRef, ...]:
    """The files of a patch, each with its change."""
    return tuple(
        FileRef(
            path=change.kind.move_path or change.path,
            action="write" if change.kind.type == "add" else "patch",
            diff=diff_of(change),
        )
        for change in changes
    )
