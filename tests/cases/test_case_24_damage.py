"""A damaged database: the daemon starts, keeps what it found, serves a prefix, and goes on.

`tests/store/repair/test_salvage.py` does the same to every page and to many bits.
"""

from __future__ import annotations

import sqlite3
import subprocess
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import BackupFailed
from dragoman.store import backup, check
from dragoman.store.schema import PAGE_SIZE
from tests.cases.common import assert_conforms, types
from tests.daemon import Daemon, running

Damage = Callable[[Path], None]


def fill(daemon: Daemon) -> dict[str, list[dict[str, Any]]]:
    """Three sessions with something in each; their events."""
    for name in ("one", "two", "three"):
        daemon.create(name)
        for prompt in ("tool", "burst 100 300", "echo last"):
            daemon.turn(name, prompt)
    return {name: daemon.events(name) for name in ("one", "two", "three")}


def change(path: Path, work: Callable[[bytearray], None]) -> None:
    content = bytearray(path.read_bytes())
    work(content)
    path.write_bytes(content)


def truncate(path: Path) -> None:
    """The last bytes are gone."""
    change(path, lambda content: content.__delitem__(slice(len(content) - 100_000, None)))


def zero_a_page(path: Path) -> None:
    """A page in the middle is empty."""
    start = path.stat().st_size // PAGE_SIZE // 2 * PAGE_SIZE
    change(
        path, lambda content: content.__setitem__(slice(start, start + PAGE_SIZE), bytes(PAGE_SIZE))
    )


def flip_in_an_event(path: Path) -> None:
    """One bit of what somebody said is another one."""

    def work(content: bytearray) -> None:
        content[content.index(b"All work and no play", len(content) // 3)] ^= 1

    change(path, work)


def flip_in_a_page(path: Path) -> None:
    """One bit of how a page is laid out is another one."""
    start = path.stat().st_size // PAGE_SIZE // 2 * PAGE_SIZE
    change(path, lambda content: content.__setitem__(start + 8, content[start + 8] ^ 64))


def lose_the_first_page(path: Path) -> None:
    """Nobody can tell that this was a database."""
    change(path, lambda content: content.__setitem__(slice(0, PAGE_SIZE), bytes(PAGE_SIZE)))


def goes_on(daemon: Daemon, before: dict[str, list[dict[str, Any]]]) -> int:
    """Each session that is left is a prefix, closed where it was cut, and takes messages."""
    left = 0
    for info in daemon.get("/sessions")["sessions"]:
        name = info["sessionId"]
        events = daemon.events(name)
        common = [e for e, old in zip(events, before[name], strict=False) if e == old]
        left += len(common)
        assert events[: len(common)] == common
        assert_conforms(events)
        assert daemon.turn(name, "echo on")[-1]["data"]["outcome"] == "completed"
        assert_conforms(daemon.events(name))
    daemon.create("new")
    assert types(daemon.turn("new", "echo hi"))[-1] == "turn.ended"
    return left


def kept_aside(data_dir: Path) -> list[Path]:
    return [path for path in data_dir.glob("dragoman.db.damaged-*") if "-wal" not in path.name]


@pytest.mark.parametrize(
    ("damage", "something_left"),
    [
        (truncate, False),
        (zero_a_page, True),
        (flip_in_an_event, True),
        (flip_in_a_page, True),
        (lose_the_first_page, False),
    ],
)
def test_case_24_a_damaged_file_is_kept_aside_and_a_prefix_is_served(
    data_dir: Path, damage: Damage, something_left: bool
) -> None:
    with running(data_dir) as daemon:
        before = fill(daemon)
    damage(data_dir / "dragoman.db")
    broken = (data_dir / "dragoman.db").read_bytes()
    with running(data_dir) as daemon:
        (aside,) = kept_aside(data_dir)
        assert aside.read_bytes() == broken
        left = goes_on(daemon, before)
        assert left or not something_left
        for _ in range(2):
            daemon.kill()
            daemon.start()
    assert len(kept_aside(data_dir)) == 1, "it is repaired once"
    assert check(data_dir) == []


@pytest.mark.parametrize("part", [0.0, 0.3, 0.9, 0.999])
def test_case_24_a_torn_write_ahead_log_costs_its_end_only(data_dir: Path, part: float) -> None:
    with running(data_dir) as daemon:
        before = fill(daemon)
        daemon.kill()
        wal = data_dir / "dragoman.db-wal"
        size = wal.stat().st_size
        assert size
        change(wal, lambda content: content.__delitem__(slice(int(size * part), None)))
        daemon.start()
        goes_on(daemon, before)
    assert check(data_dir) == []


def test_case_24_a_flipped_bit_in_the_write_ahead_log_is_told_and_costs_little(
    data_dir: Path,
) -> None:
    with running(data_dir) as daemon:
        before = fill(daemon)
        daemon.kill()
        wal = data_dir / "dragoman.db-wal"
        middle = wal.stat().st_size // 2
        change(wal, lambda content: content.__setitem__(middle, content[middle] ^ 1))
        broken = wal.read_bytes()
        daemon.start()
        (aside,) = kept_aside(data_dir)
        assert aside.with_name(f"{aside.name}-wal").read_bytes() == broken
        assert goes_on(daemon, before) > sum(map(len, before.values())) // 2
    assert check(data_dir) == []


@pytest.mark.parametrize("is_missing", [True, False])
def test_case_24_a_lost_file_is_made_anew_from_its_write_ahead_log(
    data_dir: Path, is_missing: bool
) -> None:
    with running(data_dir) as daemon:
        daemon.create("one")
        before = {"one": daemon.turn("one", "echo hi") and daemon.events("one")}
        daemon.kill()
        wal = (data_dir / "dragoman.db-wal").read_bytes()
        (data_dir / "dragoman.db").unlink()
        if not is_missing:
            (data_dir / "dragoman.db").touch()
        daemon.start()
        (aside,) = data_dir.glob("dragoman.db.damaged-*-wal")
        assert aside.read_bytes() == wal
        assert goes_on(daemon, before) == len(before["one"])
    assert check(data_dir) == []


def test_case_24_a_lost_write_ahead_log_leaves_what_was_in_the_file(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        before = fill(daemon)
    with running(data_dir) as daemon:
        daemon.turn("one", "burst 100 300")
        daemon.kill()
        (data_dir / "dragoman.db-wal").unlink()
        (data_dir / "dragoman.db-shm").unlink(missing_ok=True)
        daemon.start()
        assert daemon.events("one")[: len(before["one"])] == before["one"]
        assert goes_on(daemon, before) >= sum(map(len, before.values()))
    assert check(data_dir) == []


def test_case_24_a_session_whose_row_is_lost_is_found_by_its_events(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        before = fill(daemon)
    path = data_dir / "dragoman.db"
    with closing(sqlite3.connect(path)) as db:
        (page,) = db.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'sessions'"
        ).fetchone()
    start = (page - 1) * PAGE_SIZE
    change(
        path, lambda content: content.__setitem__(slice(start, start + PAGE_SIZE), bytes(PAGE_SIZE))
    )
    with running(data_dir) as daemon:
        assert goes_on(daemon, before) == sum(map(len, before.values()))
        for name in before:
            info = daemon.get(f"/sessions/{name}")
            assert (info["agent"], info["agentMode"]) == ("mock", "build")
            assert info["nativeSessionId"] == before[name][-1]["native_session_id"]


FOREIGN = {
    "trigger": "CREATE TRIGGER mine AFTER INSERT ON events BEGIN DELETE FROM sessions; END",
    "view": "CREATE VIEW mine AS SELECT load_extension('x') FROM events",
    "table": "CREATE TABLE mine (x)",
    "virtual table": "CREATE VIRTUAL TABLE mine USING fts5(x)",
    "index": "CREATE INDEX mine ON events (abs(total))",
    "column": "ALTER TABLE messages ADD COLUMN mine AS (upper(body))",
    "lost table": "DROP TABLE requests",
}


@pytest.mark.parametrize("sql", FOREIGN.values(), ids=FOREIGN.keys())
def test_case_24_a_backup_with_sql_that_is_not_ours_is_refused(
    data_dir: Path, tmp_path: Path, sql: str
) -> None:
    """Before, a trigger or a view in a backup was put in place, and ran with the daemon's rights
    on its next write."""
    with running(data_dir) as daemon:
        daemon.create("one")
        daemon.turn("one", "echo hi")
    good, bad = tmp_path / "good.tar", tmp_path / "bad.tar"
    backup.make(data_dir, good, print)
    (tmp_path / "inside").mkdir()
    subprocess.run(["tar", "-xf", str(good), "-C", str(tmp_path / "inside")], check=True)
    with closing(sqlite3.connect(tmp_path / "inside" / "dragoman.db")) as db:
        db.execute(sql)
        db.commit()
    with tarfile.open(bad, "w") as tar:
        for path in sorted((tmp_path / "inside").iterdir()):
            tar.add(path, path.name)
    with pytest.raises(BackupFailed, match="did not make"):
        backup.restore(bad, tmp_path / "elsewhere", print)
    assert not (tmp_path / "elsewhere" / "dragoman.db").exists()
    backup.restore(good, tmp_path / "elsewhere", print)
    # And such a backup is not made either: it would be refused when it is needed.
    with closing(sqlite3.connect(data_dir / "dragoman.db")) as db:
        db.execute(sql)
        db.commit()
    with pytest.raises(BackupFailed, match="did not make"):
        backup.make(data_dir, bad.with_name("other.tar"), print)
