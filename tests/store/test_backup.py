"""A copy of everything, made while a daemon works, and put back."""

from __future__ import annotations

import io
import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dragoman.errors import BackupFailed, StartRefused
from dragoman.store import backup, is_waiting
from tests.daemon import Daemon, running


def quiet(doing: str) -> None:
    """Say nothing."""


@pytest.fixture
def working(data_dir: Path) -> Iterator[Daemon]:
    """A daemon with a session that has a stored image, and one in the middle of a turn."""
    with running(data_dir) as daemon:
        daemon.create("first")
        daemon.turn("first", "image")
        daemon.create("second")
        daemon.send("second", "permission")
        with daemon.stream("/sessions/second/events/sse") as stream:
            assert any(event["type"] == "permission.requested" for event in stream)
        yield daemon


def test_a_backup_of_a_working_daemon_holds_everything(working: Daemon, tmp_path: Path) -> None:
    before = working.events("first")
    made = backup.make(working.data_dir, tmp_path / "all.tar", quiet)
    assert (made.sessions, made.files) == (2, 1)
    assert (tmp_path / "all.tar").stat().st_mode & 0o777 == 0o600
    backup.restore(tmp_path / "all.tar", tmp_path / "elsewhere", quiet)
    with running(tmp_path / "elsewhere") as other:
        *kept, told = other.events("first")
        assert kept == before
        assert told["data"]["continuity"] == "restored"
        (image,) = (tmp_path / "elsewhere" / "files" / "first").iterdir()
        assert image.read_bytes().startswith(b"\x89PNG")
        # What was running where it was made is over here.
        assert other.events("second")[-1]["data"]["outcome"] == "interrupted"
        other.turn("second", "echo on we go")
    assert working.events("first") == before


def test_a_folder_in_use_is_restored_into_at_the_next_start(
    working: Daemon, tmp_path: Path
) -> None:
    backup.make(working.data_dir, tmp_path / "all.tar", quiet)
    working.create("later")
    with pytest.raises(StartRefused, match="another daemon"):
        backup.restore(tmp_path / "all.tar", working.data_dir, quiet)
    told = backup.restore(tmp_path / "all.tar", working.data_dir, quiet, replace=True)
    assert told.waits
    assert is_waiting(working.data_dir)
    working.create("latest")
    assert len(working.get("/sessions")["sessions"]) == 4, "nothing has happened yet"
    working.kill()
    working.start()
    ids = [each["sessionId"] for each in working.get("/sessions")["sessions"]]
    assert ids == ["second", "first"]
    assert not is_waiting(working.data_dir)
    aside = working.data_dir / told.aside
    assert (aside / "files" / "first").is_dir()
    with closing(sqlite3.connect(aside / "dragoman.db")) as db:
        assert db.execute("SELECT count(*) FROM sessions").fetchone() == (4,)
    working.turn("first", "echo on we go")


def test_the_last_backup_that_waits_counts_and_a_bad_one_does_not(
    working: Daemon, tmp_path: Path
) -> None:
    backup.make(working.data_dir, tmp_path / "two.tar", quiet)
    working.create("third")
    backup.make(working.data_dir, tmp_path / "three.tar", quiet)
    (tmp_path / "bad.tar").write_bytes((tmp_path / "three.tar").read_bytes()[:100_000])
    for name in ("two.tar", "three.tar"):
        backup.restore(tmp_path / name, working.data_dir, quiet, replace=True)
    with pytest.raises(BackupFailed, match="is damaged"):
        backup.restore(tmp_path / "bad.tar", working.data_dir, quiet, replace=True)
    working.stop()
    working.start()
    assert len(working.get("/sessions")["sessions"]) == 3
    assert len(list(working.data_dir.glob("before-restore-*"))) == 1


def test_what_waits_is_put_in_place_before_the_next_restore(
    working: Daemon, tmp_path: Path
) -> None:
    backup.make(working.data_dir, tmp_path / "all.tar", quiet)
    backup.restore(tmp_path / "all.tar", working.data_dir, quiet, replace=True)
    working.stop()
    with pytest.raises(BackupFailed, match="--replace"):
        backup.restore(tmp_path / "all.tar", working.data_dir, quiet)
    assert not backup.restore(tmp_path / "all.tar", working.data_dir, quiet, replace=True).waits
    assert len(list(working.data_dir.glob("before-restore-*"))) == 2
    working.start()
    assert len(working.get("/sessions")["sessions"]) == 2


def test_what_is_restored_is_for_its_owner_only(working: Daemon, tmp_path: Path) -> None:
    backup.make(working.data_dir, tmp_path / "all.tar", quiet)
    backup.restore(tmp_path / "all.tar", tmp_path / "elsewhere", quiet)
    for path in (tmp_path / "elsewhere").rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


def test_what_is_no_folder_is_not_restored_into(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StartRefused, match="cannot use the data folder"):
        backup.restore(tmp_path / "all.tar", tmp_path / "file", quiet)


def test_what_was_there_is_set_aside(working: Daemon, tmp_path: Path) -> None:
    backup.make(working.data_dir, tmp_path / "all.tar", quiet)
    working.create("later")
    working.stop()
    with pytest.raises(BackupFailed, match="--replace"):
        backup.restore(tmp_path / "all.tar", working.data_dir, quiet)
    backup.restore(tmp_path / "all.tar", working.data_dir, quiet, replace=True)
    working.start()
    ids = [each["sessionId"] for each in working.get("/sessions")["sessions"]]
    assert ids == ["second", "first"]
    (aside,) = working.data_dir.glob("before-restore-*")
    with closing(sqlite3.connect(aside / "dragoman.db")) as db:
        assert db.execute("SELECT count(*) FROM sessions").fetchone() == (3,)


def test_nothing_is_written_over(working: Daemon, tmp_path: Path) -> None:
    target = tmp_path / "there"
    target.write_text("mine")
    with pytest.raises(BackupFailed, match="is there already"):
        backup.make(working.data_dir, target, quiet)
    assert target.read_text() == "mine"


def test_a_damaged_database_makes_no_backup(data_dir: Path, tmp_path: Path) -> None:
    with running(data_dir) as daemon:
        daemon.create("one")
        daemon.turn("one", "echo one")
    with closing(sqlite3.connect(data_dir / "dragoman.db")) as db:
        db.execute("UPDATE events SET line = x'00' WHERE sequence = 2")
        db.commit()
    with pytest.raises(BackupFailed, match="damaged"):
        backup.make(data_dir, tmp_path / "all.tar", quiet)
    assert not list(tmp_path.glob("*.tar"))


def tar_of(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w") as tar:
        for member, content in members:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def link(name: str, target: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = tarfile.SYMTYPE, target
    return info


@pytest.mark.parametrize(
    "member",
    [
        (tarfile.TarInfo("../escaped"), b"x"),
        (tarfile.TarInfo("/tmp/escaped"), b"x"),
        (tarfile.TarInfo("files/../../escaped"), b"x"),
        (link("dragoman.db", "/etc/passwd"), b""),
        (tarfile.TarInfo("dragoman.db"), b"no database at all, but long enough to look at"),
    ],
    ids=lambda member: member[0].name if isinstance(member, tuple) else "",
)
def test_a_file_that_is_no_backup_changes_nothing(
    tmp_path: Path, member: tuple[tarfile.TarInfo, bytes]
) -> None:
    note = b'{"version":1,"sessions":0,"events":0,"files":0}'
    path = tar_of(tmp_path / "evil.tar", (tarfile.TarInfo("backup.json"), note), member)
    with pytest.raises(BackupFailed):
        backup.restore(path, tmp_path / "data", quiet)
    assert sorted(each.name for each in (tmp_path / "data").iterdir()) == ["lock"]
    assert not (tmp_path / "escaped").exists()


@pytest.mark.parametrize("content", [b"", b"garbage" * 100])
def test_garbage_is_no_backup(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.tar").write_bytes(content)
    with pytest.raises(BackupFailed, match=r"x\.tar is not a backup of Dragoman"):
        backup.restore(tmp_path / "x.tar", tmp_path / "data", quiet)


def test_a_backup_of_a_newer_version_is_refused(working: Daemon, tmp_path: Path) -> None:
    working.stop()
    with closing(sqlite3.connect(working.data_dir / "dragoman.db")) as db:
        db.execute("PRAGMA user_version = 999")
    backup.make(working.data_dir, tmp_path / "all.tar", quiet)
    with pytest.raises(StartRefused, match="newer Dragoman"):
        backup.restore(tmp_path / "all.tar", tmp_path / "elsewhere", quiet)
