"""The lock of a data folder: one holder, and none that is dead."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.errors import StartRefused
from dragoman.store.lock import FolderLock
from dragoman.store.sqlite import SqliteStore
from tests.store.shelf import create, using

HOLD = """
import sys
from pathlib import Path
from dragoman.store.lock import FolderLock
lock = FolderLock(Path(sys.argv[1]))
sys.stdout.write("held\\n")
sys.stdout.flush()
sys.stdin.read()
"""


def test_a_second_holder_is_refused_and_told_who_is_first(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    with pytest.raises(StartRefused, match=rf"pid {os.getpid()}\b.*--data-dir"):
        FolderLock(tmp_path)
    lock.release()
    FolderLock(tmp_path).release()


def test_what_is_no_folder_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "deeper"):
        with pytest.raises(StartRefused, match=r"cannot use the data folder .*--data-dir"):
            FolderLock(path)


def test_the_lock_of_a_killed_process_is_free_at_once(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env,
    ) as holder:  # fmt: skip
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StartRefused, match=str(holder.pid)):
            FolderLock(tmp_path)
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert (tmp_path / "lock").read_text().strip() == str(holder.pid)
        FolderLock(tmp_path).release()


def test_a_store_that_is_refused_does_not_harm_the_one_that_is_open(data_dir: Path) -> None:
    async def work(store: SqliteStore) -> None:
        from dragoman.store import open_store

        with pytest.raises(StartRefused):
            open_store(data_dir)
        await create(store, "s")
        assert await store.position("s") == (1, False)

    using(data_dir, work)


def test_the_database_can_be_read_by_its_owner_only(data_dir: Path) -> None:
    using(data_dir, lambda store: create(store, "s"))
    assert (data_dir / "dragoman.db").stat().st_mode & 0o777 == 0o600
    assert data_dir.stat().st_mode & 0o777 == 0o700


def test_a_lock_file_that_is_gone_lets_nobody_in_and_is_taken_again(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    assert lock.lost_files() is None
    (tmp_path / "lock").unlink()
    assert "touch" in (lock.lost_files() or "")
    with pytest.raises(StartRefused, match="another daemon"):
        FolderLock(tmp_path)
    (tmp_path / "lock").touch()
    assert lock.lost_files() is None
    assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"
    lock.release()
    FolderLock(tmp_path).release()


def test_what_is_watched_is_known_by_more_than_its_name(tmp_path: Path) -> None:
    watched = tmp_path / "data" / "file"
    lock = FolderLock(tmp_path / "data")
    watched.touch()
    lock.watch(watched)
    watched.rename(tmp_path / "other")
    watched.touch()
    assert str(watched) in (lock.lost_files() or "")
    (tmp_path / "other").rename(watched)
    assert lock.lost_files() is None
    (tmp_path / "data").rename(tmp_path / "away")
    assert str(tmp_path / "data") in (lock.lost_files() or "")
    FolderLock(tmp_path / "data").release()
    assert lock.lost_files() is not None, "it is another folder"
    lock.release()
