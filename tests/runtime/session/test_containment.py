"""Where files really are."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.runtime.session.containment import is_beneath


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace with links in and out of it."""
    workspace = tmp_path / "workspace"
    (workspace / "own").mkdir(parents=True)
    (tmp_path / "workspace-2").mkdir()
    (workspace / "in").symlink_to(workspace / "own")
    (workspace / "out").symlink_to(tmp_path / "workspace-2")
    (workspace / "loop").symlink_to(workspace / "loop")
    (tmp_path / "alias").symlink_to(workspace)
    return workspace


@pytest.mark.parametrize("file", ["a", "own/new/deep", "in/a", "own/../b", "/", ""])
def test_what_is_beneath(folder: Path, file: str) -> None:
    assert is_beneath(str(folder), [str(folder) + file if file == "/" else file])


@pytest.mark.parametrize(
    "file",
    [
        "../a",
        "out/a",
        "/etc/passwd",
        "in/../../a",
        "../workspace-2/a",
        "a\0b",
    ],
)
def test_what_is_not(folder: Path, file: str) -> None:
    assert not is_beneath(str(folder), ["own/fine", file])


def test_a_directory_may_be_named_by_a_link(folder: Path) -> None:
    assert is_beneath(str(folder.parent / "alias"), ["a", str(folder / "b")])
