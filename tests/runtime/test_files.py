"""Files beneath a root, where the rest of the world cannot be arranged over HTTP."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.errors import Conflict, PermissionDenied
from dragoman.runtime.files import tree
from dragoman.runtime.files.archive import ArchiveLimits, Unpacker
from dragoman.runtime.files.beneath import Place, place
from dragoman.runtime.files.content import Temporary
from dragoman.runtime.files.paths import Root, find
from tests.http.fs import member, tar

MEMORY = Path("/dev/shm")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    opened = os.open(tmp_path, os.O_PATH)
    yield opened
    os.close(opened)


@pytest.mark.parametrize("may_be_unnamed", [True, False])
def test_a_temporary_file_gets_its_name_in_one_step_or_goes(
    tmp_path: Path, folder: int, may_be_unnamed: bool
) -> None:
    (tmp_path / "file").write_text("old")
    kept = Temporary(folder, may_be_unnamed=may_be_unnamed)
    left = Temporary(folder, may_be_unnamed=may_be_unnamed)
    assert len(list(tmp_path.iterdir())) == (1 if may_be_unnamed else 3)
    kept.file.write(b"new")
    kept.put(Place(folder, "file"))
    for each in (kept, left, left):
        each.close()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "new"


def test_the_narrowest_root_is_meant_and_relative_paths_begin_at_the_first() -> None:
    roots = [Root("/a", "/a"), Root("/a/b", "/real/b"), Root("/ab", "/ab")]
    assert find(roots, "x/y") == (roots[0], ("x", "y"))
    assert find(roots, "/a/b/x") == (roots[1], ("x",))
    assert find(roots, "/real/b/x") == (roots[1], ("x",))
    assert find(roots, "/ab/x") == (roots[2], ("x",))
    with pytest.raises(PermissionDenied, match="outside of what is open"):
        find(roots, "/abc")


def test_folders_are_made_behind_links_that_stay_inside(tmp_path: Path) -> None:
    (tmp_path / "far").symlink_to("not/yet")
    root = Root(str(tmp_path), str(tmp_path))
    with place(root, ("far", "deep", "file"), make=True) as found:
        os.close(found.open(os.O_CREAT | os.O_WRONLY))
    assert (tmp_path / "not" / "yet" / "deep" / "file").exists()


def test_an_archive_cannot_be_put_over_what_stays_shut(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "token").write_text("secret")
    root = Root(str(tmp_path), str(tmp_path), closed=(str(tmp_path / "data"),))
    limits = ArchiveLimits(size_bytes=100_000, entries=10, ratio=100)
    unpacker = Unpacker(root, (), limits)
    unpacker.feed(tar(member("a", b"x"), member("data/token", b"mine")))
    with pytest.raises(PermissionDenied):
        unpacker.commit()
    unpacker.close()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["data", "token"]
    assert (tmp_path / "data" / "token").read_text() == "secret"


def test_a_move_that_a_neighbour_was_faster_with_replaces_nothing(tmp_path: Path) -> None:
    root = Root(str(tmp_path), str(tmp_path))
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
    with pytest.raises(Conflict):
        tree.move((root, ("one",)), (root, ("two",)), overwrite=False)
    assert (tmp_path / "two").read_text() == "two"


@pytest.mark.skipif(not os.access(MEMORY, os.W_OK), reason="no disk in memory here")
def test_another_disk_is_a_conflict_and_a_time_that_no_calendar_has_is_left_out(
    tmp_path: Path,
) -> None:
    far = MEMORY / f"dragoman-{os.getpid()}"
    far.mkdir()
    try:
        (far / "file").touch()
        os.utime(far / "file", (0, 2**40))
        there, here = Root(str(far), str(far)), Root(str(tmp_path), str(tmp_path))
        assert tree.look(there, ("file",)).modified is None
        with pytest.raises(Conflict):
            tree.move((there, ("file",)), (here, ("file",)), overwrite=False)
    finally:
        (far / "file").unlink()
        far.rmdir()
