"""What an agent keeps in a file is read as it is, but for secrets, and only where it is one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dragoman.core.written_files import FoundFile
from dragoman.runtime.session import agent_files
from dragoman.wire.redactor import Redactor


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """The daemon's own folder."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "token").write_text("the token")
    return folder


def read(path: Path, data_dir: Path, redactor: Redactor | None = None) -> bytes | None:
    return agent_files.read(str(path), str(data_dir), redactor)


def test_a_file_is_read_byte_by_byte(tmp_path: Path, data_dir: Path) -> None:
    (tmp_path / "out.txt").write_bytes(b"one\r\n\xff two")
    assert read(tmp_path / "out.txt", data_dir) == b"one\r\n\xff two"


def test_secrets_are_taken_out(tmp_path: Path, data_dir: Path) -> None:
    (tmp_path / "out.txt").write_bytes(b"\xff key hunter2hunter2 end")
    redactor = Redactor([("KEY", "hunter2hunter2")])
    assert read(tmp_path / "out.txt", data_dir, redactor) == b"\xff key [redacted:KEY] end"


def test_what_is_no_file_of_the_agents_is_not_read(tmp_path: Path, data_dir: Path) -> None:
    (tmp_path / "link").symlink_to(data_dir / "token")
    (tmp_path / "around").symlink_to(data_dir)
    os.mkfifo(tmp_path / "pipe")
    for path in ("data/token", "link", "around/token", "pipe", "data", "missing", "a\0b"):
        assert read(tmp_path / path, data_dir) is None


# --- A file that is to be changed ---


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Where a session works."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def peek(workspace: Path, path: str | Path, closed: str = "/nowhere") -> str | None:
    return agent_files.peek(str(workspace), closed, str(path))


def test_a_text_in_the_workspace_is_shown(workspace: Path) -> None:
    (workspace / "a").write_bytes(b"one\r\ntwo\n")
    (workspace / "link").symlink_to(workspace / "a")
    for path in (workspace / "a", "a", workspace / "link"):
        assert peek(workspace, path) == "one\ntwo\n"


def test_what_is_outside_large_binary_or_no_file_is_not_shown(workspace: Path) -> None:
    outside = workspace.with_name("outside")
    outside.write_text("secret")
    (workspace / "link").symlink_to(outside)
    (workspace / "large").write_bytes(b"x" * (agent_files.MAX_PEEK_BYTES + 1))
    (workspace / "binary").write_bytes(b"\xff\xfe")
    (workspace / "nul").write_bytes(b"a\0b")
    os.mkfifo(workspace / "pipe")
    paths = (outside, "../outside", "link", "large", "binary", "nul", "pipe", ".", "none", "a\0b")
    assert [peek(workspace, path) for path in paths] == [None] * len(paths)


def test_the_daemons_own_data_is_not_shown(workspace: Path) -> None:
    (workspace / "data").mkdir()
    (workspace / "data" / "token").write_text("the token")
    assert peek(workspace, "data/token", closed=str(workspace / "data")) is None


# --- A file that is about to be written ---


def test_a_file_that_is_not_there_yet_is_told_from_one_that_is_not_shown(workspace: Path) -> None:
    (workspace / "a").write_text("one\n")
    (workspace / "binary").write_bytes(b"\xff\xfe")
    (workspace / "link").symlink_to(workspace / "none")
    paths = ("a", "none", "folder/none", "binary", "link", "../none")
    found = [agent_files.find(str(workspace), "/nowhere", path) for path in paths]
    assert found == [FoundFile("one\n"), FoundFile(None), FoundFile(None), None, None, None]
