"""Files beneath a root, where the rest of the world cannot be arranged over HTTP."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.errors import Conflict, PermissionDenied, Unavailable
from dragoman.files import tree
from dragoman.files.archive import ArchiveLimits, Unpacker
from dragoman.files.beneath import Place, place
from dragoman.files.content import Temporary
from dragoman.files.paths import Root, find
from dragoman.files.uploads import Uploads
from tests.http.fs import member, tar

MEMORY = Path("/dev/shm")
LIMITS = ArchiveLimits(size_bytes=100_000, entries=10, ratio=100)


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
    unpacker = Unpacker(root, (), LIMITS)
    unpacker.feed(tar(member("a", b"x"), member("data/token", b"mine")))
    with pytest.raises(PermissionDenied):
        unpacker.commit()
    unpacker.close()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["data", "token"]
    assert (tmp_path / "data" / "token").read_text() == "secret"


def test_what_another_daemon_works_on_is_no_leftover(tmp_path: Path) -> None:
    root = Root(str(tmp_path), str(tmp_path))
    other = Unpacker(root, (), LIMITS)
    (working,) = tmp_path.iterdir()
    names = [f".dragoman-{number:032x}" for number in range(4)]
    (tmp_path / names[0] / "below").mkdir(parents=True)
    (tmp_path / names[1]).touch()
    (tmp_path / names[2]).symlink_to("nowhere")
    (tmp_path / ".dragoman-mine").mkdir()
    for path in tmp_path.iterdir():
        os.utime(path, (0, 0), follow_symlinks=False)
    (tmp_path / names[3]).mkdir()
    Unpacker(root, (), LIMITS).close()
    left = {working.name, names[2], names[3], ".dragoman-mine"}
    assert {path.name for path in tmp_path.iterdir()} == left
    other.close()
    assert not working.exists()


@pytest.mark.parametrize("by_hand", [True, False])
@pytest.mark.parametrize("swapped", ["above", "above/root"])
def test_a_root_that_has_become_a_link_is_not_followed(
    tmp_path: Path, by_hand: bool, swapped: str
) -> None:
    top = tmp_path / "above" / "root"
    for path in (top, tmp_path / "other" / "root"):
        path.mkdir(parents=True)
        (path / "file").touch()
    root = Root(str(top), str(top), by_hand=by_hand)
    assert tree.look(root, ("file",)).size == 0
    (tmp_path / swapped).rename(tmp_path / "away")
    (tmp_path / swapped).symlink_to(tmp_path / "other")
    for refused in (tree.look, tree.make_folder):
        with pytest.raises(PermissionDenied):
            refused(root, ("file",))


@pytest.mark.parametrize("named", [True, False])
def test_an_upload_that_cannot_begin_leaves_nothing(
    tmp_path: Path, folder: int, named: bool
) -> None:
    root = Root(str(tmp_path), str(tmp_path))
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = len(os.listdir("/proc/self/fd"))
    failed = 0
    for room in range(12):
        spare = [os.dup(folder) for _ in range(100)]
        most = max(spare) + 1
        held = [os.dup(folder) for _ in range(room)]
        for each in held:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most + room, usual[1]))
        try:
            if named:
                Temporary(folder, may_be_unnamed=False).close()
            else:
                Unpacker(root, (), LIMITS).close()
        except (OSError, Unavailable):
            failed += 1
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, usual)
            for each in spare:
                os.close(each)
        assert list(tmp_path.iterdir()) == []
        assert len(os.listdir("/proc/self/fd")) == before
    assert 0 < failed < 12


def test_an_upload_that_was_ended_does_nothing_more(tmp_path: Path) -> None:
    root = Root(str(tmp_path), str(tmp_path))
    uploads = Uploads()
    held = uploads.begin(lambda: Unpacker(root, (), LIMITS))
    held.do(Unpacker.feed, tar(member("a", b"x"))[:1024])
    (end,) = uploads.stop()
    end()
    with pytest.raises(Unavailable):
        held.do(Unpacker.commit)
    with pytest.raises(Unavailable):
        uploads.begin(lambda: Unpacker(root, (), LIMITS))
    held.close()
    assert list(tmp_path.iterdir()) == []


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
