"""Old sessions go, and a store that grows too large gives way; what is in use stays."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from dragoman.store import disk_usage
from tests.cases.common import eventually
from tests.daemon import Daemon, running
from tests.testing.story import Talk

DAY_MS = 86_400_000


def aged(data_dir: Path, days: dict[str, float]) -> None:
    """Make sessions look as if nothing had happened in them for so many days."""
    with closing(sqlite3.connect(data_dir / "dragoman.db")) as db:
        for session_id, count in days.items():
            db.execute(
                "UPDATE sessions SET updated_at = updated_at - ? WHERE session_id = ?",
                (int(count * DAY_MS), session_id),
            )
        db.commit()


def ids(daemon: Daemon) -> set[str]:
    return {each["sessionId"] for each in daemon.get("/sessions")["sessions"]}


def test_what_nobody_has_touched_for_long_is_deleted(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        young, idle, ended, late = (Talk(daemon) for _ in range(4))
        for talk in (young, idle, ended, late):
            talk.turn("image")
        for talk in (ended, late):
            talk.terminate()
    aged(data_dir, {idle.id: 8, ended.id: 30, late.id: 6})
    with running(data_dir, env={"DRAGOMAN_RETAIN_DAYS": "7"}) as daemon:
        eventually(lambda: ids(daemon) == {young.id, late.id}, "the old ones are gone")
        eventually(lambda: not (data_dir / "files" / idle.id).exists(), "its files are gone")
        assert daemon.request("GET", f"/sessions/{idle.id}").status == 404


def test_without_the_setting_everything_stays(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        talk = Talk(daemon)
        talk.turn("echo hi")
    aged(data_dir, {talk.id: 10_000})
    with running(data_dir) as daemon:
        assert ids(daemon) == {talk.id}


def test_a_store_that_is_too_large_loses_ended_sessions_first_and_shrinks(data_dir: Path) -> None:
    path = data_dir / "dragoman.db"
    with running(data_dir) as daemon:
        first, second, third = (Talk(daemon) for _ in range(3))
        for talk in (first, second, third):
            for _ in range(4):
                talk.turn("echo " + "many words " * 50_000)
        third.terminate()
    large = path.stat().st_size
    aged(data_dir, {first.id: 3, second.id: 2, third.id: 1})
    with running(data_dir, env={"DRAGOMAN_MAX_STORE_BYTES": str(large * 3 // 4)}) as daemon:
        eventually(lambda: path.stat().st_size < large * 0.85, "the room was given back")
        assert ids(daemon) == {first.id, second.id}


def test_where_something_is_open_or_waits_nothing_is_old(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        quiet, asks, works = (Talk(daemon) for _ in range(3))
        quiet.turn("echo hi")
        asks.send("permission")
        asks.until("permission.requested")
        works.send("permission")
        works.until("permission.requested")
        works.send("echo later")
        with closing(sqlite3.connect(data_dir / "dragoman.db")) as db:
            assert disk_usage.quiet(db, 1 << 62, 10) == [quiet.id]


def test_who_came_back_to_a_session_keeps_it(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        quiet, asks, spoke = (Talk(daemon) for _ in range(3))
        for talk in (quiet, asks, spoke):
            talk.turn("echo hi")
        since = max(daemon.get(f"/sessions/{t.id}")["updatedAt"] for t in (quiet, asks, spoke)) + 1
        asks.send("permission")
        asks.until("permission.requested")
        spoke.turn("echo again")
        for talk, status in ((quiet, 204), (asks, 409), (spoke, 409), (quiet, 404)):
            answer = daemon.request("DELETE", f"/sessions/{talk.id}?quiet_since={since}")
            assert answer.status == status, answer.body
        assert ids(daemon) == {asks.id, spoke.id}
        assert (
            daemon.request("POST", f"/sessions/{spoke.id}/messages", {"message": "x"}).status == 204
        )
