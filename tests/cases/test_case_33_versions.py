"""Databases of other versions: an old one is brought up to date, a newer one is left alone."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from dragoman.errors import StartRefused
from dragoman.store.schema import MIGRATIONS, connect, migrate
from tests.cases.common import assert_conforms, wait_for_agent
from tests.daemon import Daemon, running

NEXT = (
    *MIGRATIONS,
    "ALTER TABLE sessions ADD COLUMN colour TEXT; UPDATE sessions SET colour = 'x';",
)


@pytest.fixture
def old(data_dir: Path) -> Path:
    """A database of this version, with a session in it, closed properly."""
    with running(data_dir) as daemon:
        daemon.create("s")
        daemon.turn("s", "echo hi")
    return data_dir / "dragoman.db"


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    db = connect(path, synchronous="normal")
    try:
        yield db
    finally:
        db.close()


def version(db: sqlite3.Connection) -> int:
    (found,) = db.execute("PRAGMA user_version").fetchone()
    return int(found)


def columns(db: sqlite3.Connection) -> set[str]:
    return {row[1] for row in db.execute("PRAGMA table_info(sessions)")}


def test_case_33_an_old_database_is_migrated_and_its_old_self_is_kept(old: Path) -> None:
    with opened(old) as db:
        events = db.execute("SELECT * FROM events ORDER BY id").fetchall()
        migrate(db, old, NEXT)
        assert version(db) == len(NEXT)
        assert db.execute("SELECT colour FROM sessions").fetchall() == [("x",)]
        assert db.execute("SELECT * FROM events ORDER BY id").fetchall() == events
    (backup,) = old.parent.glob("dragoman.db.before-*")
    assert backup.name == f"dragoman.db.before-{len(NEXT)}"
    assert backup.stat().st_mode & 0o777 == 0o600
    with opened(backup) as db:
        assert version(db) == len(MIGRATIONS)
        assert "colour" not in columns(db)
        assert db.execute("SELECT * FROM events ORDER BY id").fetchall() == events


@pytest.mark.parametrize("wrong", ["nonsense;", "CREATE TABLE sessions (n);", "SELECT nothing;"])
def test_case_33_a_migration_that_fails_changes_nothing(old: Path, wrong: str) -> None:
    with opened(old) as db, pytest.raises(sqlite3.Error):
        migrate(db, old, (*NEXT, wrong))
    with opened(old) as db:
        assert version(db) == len(MIGRATIONS)
        assert "colour" not in columns(db)
        migrate(db, old, NEXT)
        assert version(db) == len(NEXT)


def test_case_33_a_database_of_this_version_is_not_touched(old: Path) -> None:
    with opened(old) as db:
        migrate(db, old)
    assert list(old.parent.glob("dragoman.db.*before*")) == []


def test_case_33_a_newer_database_is_refused_and_not_touched(old: Path) -> None:
    with opened(old) as db:
        migrate(db, old, NEXT)
    before = old.read_bytes()
    with opened(old) as db, pytest.raises(StartRefused, match="newer"):
        migrate(db, old)
    env = {name: value for name, value in os.environ.items() if not name.startswith("DRAGOMAN_")}
    refused = subprocess.run(
        [sys.executable, "-m", "dragoman.cli.main", "serve", "--data-dir", str(old.parent),
         "--port", "0"],
        capture_output=True, text=True, timeout=30, env=env, check=False,
    )  # fmt: skip
    assert refused.returncode == 1
    assert "newer" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert old.read_bytes() == before
    assert list(old.parent.glob("*.damaged-*")) == []


def test_case_33_a_session_of_an_agent_that_this_version_does_not_know_stops_nobody_else(
    data_dir: Path,
) -> None:
    with running(data_dir) as daemon:
        for name in ("theirs", "ours"):
            daemon.create(name)
            daemon.send(name, "hang")
            wait_for_agent(daemon, name, "item.delta")
        daemon.kill()
        with closing(sqlite3.connect(data_dir / "dragoman.db", isolation_level=None)) as db:
            db.execute(
                "UPDATE sessions SET agent = 'later', spec = CAST(replace(spec, 'mock', 'later') "
                "AS BLOB) WHERE session_id = 'theirs'"
            )
        daemon.start()
        assert daemon.turn("ours", "echo on")[-1]["data"]["outcome"] == "completed"
        assert len(daemon.get("/sessions")["sessions"]) == 2
        assert daemon.events("theirs")
        reply = daemon.request("POST", "/sessions/theirs/messages", {"message": "x"})
        assert (reply.status, reply.json["title"]) == (400, "Unsupported Agent")


def rename_agent(data_dir: Path, session_id: str, old: str, new: str) -> None:
    """Let a session be one of another agent, as another version of the daemon may have made it."""
    with closing(sqlite3.connect(data_dir / "dragoman.db", isolation_level=None)) as db:
        db.execute(
            "UPDATE sessions SET agent = ?, spec = CAST(replace(spec, ?, ?) AS BLOB) "
            "WHERE session_id = ?",
            (new, f'"{old}"', f'"{new}"', session_id),
        )


@pytest.fixture
def orphan(data_dir: Path) -> Iterator[Daemon]:
    """A daemon that does not know the agent of `theirs`, which was at work and has a message."""
    with running(data_dir) as daemon:
        daemon.create("theirs")
        daemon.send("theirs", "permission")
        daemon.wait_for("theirs", "permission.requested")
        daemon.send("theirs", "echo later")
        daemon.wait_for("theirs", "queue.updated")
        daemon.kill()
        rename_agent(data_dir, "theirs", "mock", "later")
        daemon.start()
        yield daemon


def test_case_33_a_session_whose_agent_is_gone_is_closed_read_ended_and_deleted(
    orphan: Daemon,
) -> None:
    """Before, its turn stayed open for ever, and to end or delete it was 400."""
    events = orphan.events("theirs")
    assert_conforms(events)
    (resolved,) = (each["data"] for each in events if each["type"] == "permission.resolved")
    assert resolved["metadata"]["reason"] == "restart"
    (ended,) = (each["data"] for each in events if each["type"] == "turn.ended")
    assert ended["outcome"] == "interrupted"
    info = orphan.get("/sessions/theirs")
    assert (info["agent"], info["status"], info["ended"]) == ("later", "idle", False)
    assert orphan.request("POST", "/sessions/theirs/interrupt").status == 204
    for _ in range(2):
        assert orphan.request("POST", "/sessions/theirs/terminate").status == 204
    events = orphan.events("theirs")
    assert_conforms(events)
    assert events[-1]["type"] == "session.ended"
    assert events[-1]["data"]["reason"] == "terminated"
    reply = orphan.request("POST", "/sessions/theirs/messages", {"message": "x"})
    assert reply.status == 410
    assert orphan.request("DELETE", "/sessions/theirs").status == 204
    assert orphan.request("GET", "/sessions/theirs").status == 404


def test_case_33_a_session_whose_agent_is_gone_can_be_deleted_at_once(orphan: Daemon) -> None:
    """Before, that was 400."""
    assert orphan.request("DELETE", "/sessions/theirs").status == 204
    assert orphan.request("GET", "/sessions/theirs").status == 404


def test_case_33_a_message_to_an_agent_that_is_gone_names_it(orphan: Daemon) -> None:
    """Before, it said nothing of the session, nor what can be done."""
    before = orphan.events("theirs")
    for path in ("/messages", "/messages/stream"):
        reply = orphan.request("POST", f"/sessions/theirs{path}", {"message": "x"})
        assert (reply.status, reply.json["title"]) == (400, "Unsupported Agent")
        assert reply.json["agent"] == "later"
        assert "'later'" in reply.json["detail"]
        assert "read, ended and deleted" in reply.json["detail"]
    refused = orphan.request("PATCH", "/sessions/theirs", {"model": "m"})
    assert (refused.status, refused.json["title"]) == (400, "Unsupported Agent")
    assert orphan.events("theirs") == before


def test_case_33_a_session_whose_agent_comes_back_goes_on(orphan: Daemon, data_dir: Path) -> None:
    """What waited is not lost, and what was closed is not closed again."""
    assert orphan.request("PATCH", "/sessions/theirs", {"title": "Kept"}).json["title"] == "Kept"
    before = orphan.events("theirs")
    orphan.stop()
    orphan.start()
    assert orphan.events("theirs") == before
    orphan.stop()
    rename_agent(data_dir, "theirs", "later", "mock")
    orphan.start()
    ended = orphan.wait_for("theirs", "turn.ended", before[-1]["sequence"])
    assert ended["data"]["outcome"] == "completed"
    assert orphan.turn("theirs", "echo on")[-1]["data"]["outcome"] == "completed"
    assert_conforms(orphan.events("theirs"))


OLD = Path(__file__).parent / "data" / "version-3.sql"
"""Made by the version before modules, classes and settings of the code were renamed."""


def test_case_33_a_folder_of_the_version_before_opens_and_goes_on(data_dir: Path) -> None:
    data_dir.mkdir(parents=True)
    with closing(sqlite3.connect(data_dir / "dragoman.db")) as db:
        db.executescript(OLD.read_text())
        db.execute("PRAGMA journal_mode = WAL")
        stored = db.execute("SELECT session_id, event_count FROM sessions").fetchall()
    counts = dict(stored)
    with running(data_dir) as daemon:
        found = {each["sessionId"]: each for each in daemon.get("/sessions")["sessions"]}
        assert found.keys() == {"talk", "over", "asking"}
        assert (found["talk"]["title"], found["over"]["status"]) == ("A talk", "ended")
        assert daemon.events("talk")[:1][0]["type"] == "session.started"
        assert len(daemon.events("over")) == counts["over"]
        # What was open is closed once, what waited is delivered, and both go on.
        waited = daemon.wait_for("asking", "turn.ended", after=counts["asking"] + 4)
        assert waited["data"]["outcome"] == "completed"
        turn = daemon.turn("talk", "echo after the upgrade")
        assert turn[-1]["data"]["outcome"] == "completed"
        for session_id in found:
            assert_conforms(daemon.events(session_id))
