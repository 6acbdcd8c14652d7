"""A change that is asked for is shown as it would be in the file."""

from __future__ import annotations

import pytest

from dragoman.core.permission_diff import read_nothing, with_diff
from dragoman.steps import AskPermission, FileChange

FILE = "a\nb\nc\nb\n"


def shown(change: FileChange, before: str | None = FILE) -> str:
    """The diff of a request."""
    ask = AskPermission(key="k", action="Edit", metadata={"diff": "as told"}, change=change)
    return str(with_diff(ask, lambda path: before).metadata["diff"])


def test_an_edit_stands_where_it_is_in_the_file() -> None:
    assert shown(FileChange(path="/x", old="c", new="d")).endswith(
        "@@ -1,4 +1,4 @@\n a\n b\n-c\n+d\n b\n"
    )
    everywhere = shown(FileChange(path="/x", old="b", new="d", everywhere=True))
    assert everywhere.count("-b\n+d\n") == 2
    assert shown(FileChange(path="/x", old="b", new="d")).count("+d\n") == 1


def test_a_file_that_is_written_anew_shows_what_goes() -> None:
    assert shown(FileChange(path="/x", content="a\n")).endswith("-b\n-c\n-b\n")


@pytest.mark.parametrize(
    ("change", "before"),
    [
        (FileChange(path="/x", old="c", new="d"), None),
        (FileChange(path="/x", old="nowhere", new="d"), FILE),
        (FileChange(path="/x", old="", new="d"), FILE),
        (FileChange(path="/x", content="a"), None),
    ],
)
def test_what_is_not_known_stays_as_it_was_told(change: FileChange, before: str | None) -> None:
    assert shown(change, before) == "as told"


def test_without_a_change_nothing_is_looked_at() -> None:
    ask = AskPermission(key="k", action="Bash")
    assert with_diff(ask, read_nothing) is ask
