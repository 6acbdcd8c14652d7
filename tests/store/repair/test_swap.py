"""One database for another: whoever is killed, and wherever, there is always a whole one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.store import Append, SessionFilter, backup, check
from dragoman.store.fsync import PARTIAL
from dragoman.store.repair.swap import BEGUN, WAITING
from dragoman.store.sqlite import DATABASE, SqliteStore
from tests.store.shelf import create, outside, said, using

EVENTS = 30
LEAST_STEPS = 10


def filled(data_dir: Path, name: str) -> Path:
    """A folder with one session and a stored file."""

    async def work(store: SqliteStore) -> None:
        await create(store, name)
        for at in range(EVENTS):
            await store.append(Append(name, [said(f"{name} {at}")]))

    using(data_dir, work)
    (data_dir / "files" / name).mkdir(parents=True)
    (data_dir / "files" / name / "image").write_text(name)
    return data_dir


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A backup of a folder with the session `new`."""
    backup.make(filled(tmp_path / "source", "new"), tmp_path / "new.tar", lambda doing: None)
    return tmp_path / "new.tar"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A folder with the session `old`, as a crash left it: with a log beside its database."""

    async def work(store: SqliteStore) -> None:
        await store.watch("old")
        await store.append(Append("old", [said("in the log")]))
        shutil.copytree(data_dir, tmp_path / "old")

    data_dir = filled(tmp_path / "before", "old")
    using(data_dir, work)
    assert (tmp_path / "old" / f"{DATABASE}-wal").stat().st_size
    return tmp_path / "old"


def dying(how: str, what: str, folder: Path, archive: Path, target: Path) -> list[Path]:
    """What is left each time; the last came to its end."""
    subprocess.run(
        [sys.executable, "-m", "tests.store.dying", how, what, folder, archive, target],
        check=True, timeout=300, env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    return sorted(target.iterdir(), key=lambda path: int(path.name))


def sessions(data_dir: Path) -> dict[str, int]:
    """Every session, and how many events it has; and nothing half made is left."""

    async def work(store: SqliteStore) -> dict[str, int]:
        return {row.session_id: row.event_count for row in await store.sessions(SessionFilter())}

    found = using(data_dir, work)
    assert check(data_dir) == []
    names = {path.name for path in data_dir.iterdir()}
    assert not names & {BEGUN, WAITING}
    assert not [name for name in names if name.startswith(PARTIAL)]
    return found


OLD, NEW = {"old": EVENTS + 2}, {"new": EVENTS + 2}


@pytest.mark.parametrize("what", ["restore", "leave"])
def test_a_restore_that_is_killed_anywhere_is_done_or_was_not_begun(
    old: Path, archive: Path, tmp_path: Path, what: str
) -> None:
    folders = dying("kill", what, old, archive, tmp_path / "killed")
    assert len(folders) > LEAST_STEPS
    seen = []
    for folder in folders:
        found = sessions(folder)
        assert found in (OLD, NEW)
        (name,) = found
        assert [path.name for path in (folder / "files").iterdir()] == [name]
        assert (folder / "files" / name / "image").read_text() == name
        asides = list(folder.glob("before-restore-*"))
        assert len(asides) == (found == NEW)
        for aside in asides:
            assert sessions(aside) == OLD
            assert (aside / "files" / "old" / "image").read_text() == "old"
        seen.append(name)
    assert seen == sorted(seen, reverse=True), "from some step on it is done"
    assert (seen[0], seen[-1]) == ("old", "new")


def test_a_repair_that_is_killed_anywhere_saves_the_same(
    old: Path, archive: Path, tmp_path: Path
) -> None:
    with outside(old) as db:
        db.execute("UPDATE events SET line = x'00' WHERE sequence = 20")
    folders = dying("kill", "repair", old, archive, tmp_path / "killed")
    assert len(folders) > LEAST_STEPS
    for folder in folders:
        assert sessions(folder) == {"old": 19}
        kept = [path for path in folder.glob("*.damaged-*") if not path.name.endswith("-wal")]
        assert len(kept) == 1
        assert (folder / "files" / "old" / "image").exists()


def test_where_something_cannot_be_moved_everything_is_put_back(
    old: Path, archive: Path, tmp_path: Path
) -> None:
    def content(folder: Path) -> dict[str, bytes]:
        files = (path for path in folder.rglob("*") if path.is_file())
        found = {str(path.relative_to(folder)): path.read_bytes() for path in files}
        return {name: data for name, data in found.items() if not name.endswith(("lock", "-shm"))}

    *failed, done = dying("fail", "restore", old, archive, tmp_path / "failed")
    assert len(failed) >= 5
    for folder in failed:
        assert content(folder) == content(old)
        assert not list(folder.glob("before-restore-*"))
        assert sessions(folder) == OLD
    assert sessions(done) == NEW
