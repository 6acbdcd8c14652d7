"""Text files: lines, bounds, and what was there before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dragoman.errors import InvalidRequest, NotFound, PermissionDenied, TooLarge
from dragoman.files import text
from dragoman.files.beneath import has_openat2
from dragoman.files.content import SizeLimit
from dragoman.files.paths import Root
from dragoman.files.text import read_text, replace_text


@pytest.fixture
def root(tmp_path: Path) -> Root:
    path = os.path.realpath(tmp_path)
    return Root(path, path, by_hand=not has_openat2())


def limit(most: int = 1 << 20) -> SizeLimit:
    return SizeLimit(most, "max_upload_bytes")


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 1 << 18])
@pytest.mark.parametrize("content", ["", "\n", "a", "a\n", "ä\n\nb\r\nc", "x\ny\nz\n"])
def test_lines_are_those_of_the_whole_file(
    root: Root, content: str, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "_CHUNK_BYTES", chunk)
    Path(root.path, "f").write_bytes(content.encode())
    lines = content.split("\n")
    lines = [f"{each}\n" for each in lines[:-1]] + lines[-1:]
    for first in (None, 0, 1, 2, 3, 9):
        for count in (None, 0, 1, 2, 9):
            start = max(first or 1, 1) - 1
            wanted = lines[start:] if count is None else lines[start : start + count]
            assert read_text(root, ("f",), first, count) == "".join(wanted)


def test_more_than_is_read_at_once_is_refused(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "MAX_READ_BYTES", 10)
    Path(root.path, "f").write_text("12345\n" * 4)
    assert read_text(root, ("f",), 3, 1) == "12345\n"
    with pytest.raises(TooLarge, match="ask for fewer lines"):
        read_text(root, ("f",), None, None)
    with pytest.raises(TooLarge, match="ask for fewer lines"):
        read_text(root, ("f",), 1, 2)


def test_lines_are_not_looked_for_without_end(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "MAX_SEARCH_BYTES", 1 << 20)
    with Path(root.path, "f").open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(TooLarge, match="in its first 1048576 bytes only"):
        read_text(root, ("f",), 2, 1)


def test_what_was_there_is_told(root: Root) -> None:
    first = replace_text(root, ("new", "f"), "one", limit())
    assert (first.is_new, first.text) == (True, None)
    second = replace_text(root, ("new", "f"), "two", limit())
    assert (second.is_new, second.text) == (False, "one")
    Path(root.path, "binary").write_bytes(b"\xff")
    third = replace_text(root, ("binary",), "three", limit())
    assert (third.is_new, third.text) == (False, None)
    Path(root.path, "long").write_bytes(b"x" * (text.MAX_BEFORE_BYTES + 1))
    assert replace_text(root, ("long",), "four", limit()).text is None
    assert Path(root.path, "long").read_text() == "four"


def test_what_is_refused_changes_nothing(root: Root, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("kept")
    with pytest.raises(TooLarge):
        replace_text(root, ("f",), "x" * 11, limit(10))
    (tmp_path / "out").symlink_to("/etc/hostname")
    for work in (
        lambda: read_text(root, ("out",), None, None),
        lambda: replace_text(root, ("out",), "x", limit()),
    ):
        with pytest.raises(PermissionDenied):
            work()
    with pytest.raises(NotFound):
        read_text(root, ("missing",), None, None)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidRequest):
        replace_text(root, ("pipe",), "x", limit())
    assert sorted(os.listdir(tmp_path)) == ["f", "out", "pipe"]
    assert (tmp_path / "f").read_text() == "kept"
