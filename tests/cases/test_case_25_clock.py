"""A clock that jumps. The clock of a machine that tests run on is not ours to set: the ids are
tried with a clock of our own, the log with times that lie in the future, and for deadlines the
source is read: only three places may look at the wall clock, and none of them waits for it.
"""

from __future__ import annotations

import ast
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

import dragoman
from dragoman.store.ids import IdMaker
from tests.cases.common import assert_conforms
from tests.daemon import running

SOURCE = Path(dragoman.__file__).parent
DAY_MS = 86_400_000
WALL_CLOCK = {
    "store/ids.py": "stamps events",
    "store/repair.py": "names a file that is kept aside",
    "store/rebuild.py": "reads times that were stamped",
    "logs.py": "stamps lines of the log",
    "cli/sessions.py": "says how long ago something was",
    "cli/pending.py": "says how long ago something was",
    "cli/processes.py": "says how long ago something was",
    "cli/prune.py": "asks for what is older than so long",
    "cli/backup.py": "names a file by the time",
    "store/backup.py": "names a folder by the time",
    "http/tokens.py": "writes down when a token ends, for the next boot",
    "http/tickets.py": "writes down when a cookie ends, for the next start",
    "runtime/files/leftovers.py": "compares it with when files were made",
    "cli/token.py": "says how long ago something was",
}
WALL_CALLS = {"time", "time_ns", "strftime", "gmtime", "localtime", "now", "utcnow", "today"}


@pytest.mark.parametrize("jump_ms", [-DAY_MS, DAY_MS, -1, -3_600_000, 3_600_000])
def test_case_25_ids_are_ordered_across_a_jump(jump_ms: int) -> None:
    now = [1_800_000_000_000]
    maker = IdMaker(lambda: now[0])
    made = maker.new_ids("evt", 100)
    now[0] += jump_ms
    made += maker.new_ids("evt", 100)
    now[0] -= jump_ms
    made += maker.new_ids("evt", 100)
    assert made == sorted(set(made))


def test_case_25_events_are_ordered_by_sequence_whatever_their_times_say(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        daemon.create("s")
        daemon.turn("s", "echo before")
    # As if the clock had been a day ahead until now.
    with closing(sqlite3.connect(data_dir / "dragoman.db", isolation_level=None)) as db:
        db.execute("UPDATE sessions SET updated_at = updated_at + ?", (DAY_MS,))
    with running(data_dir) as daemon:
        before = daemon.get("/sessions/s")["updatedAt"]
        daemon.turn("s", "echo after")
        daemon.create("later")
        assert daemon.get("/sessions/s")["updatedAt"] >= before
        assert [s["sessionId"] for s in daemon.get("/sessions")["sessions"]] == ["later", "s"]
        assert_conforms(daemon.events("s"))


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kathmandu", "UTC"])
def test_case_25_times_are_utc_wherever_the_daemon_stands(data_dir: Path, zone: str) -> None:
    with running(data_dir, env={"TZ": zone}) as daemon:
        begun = datetime.now(UTC).timestamp() * 1000 - 1
        daemon.create("s")
        daemon.turn("s", "echo hi")
        for event in daemon.events("s"):
            assert event["time"].endswith("Z")
            assert "." in event["time"]
            stamped = datetime.fromisoformat(event["time"]).timestamp() * 1000
            assert begun <= stamped <= datetime.now(UTC).timestamp() * 1000 + 1
        assert begun <= daemon.get("/sessions/s")["createdAt"]


def test_case_25_nothing_waits_for_the_wall_clock() -> None:
    for path in sorted(SOURCE.rglob("*.py")):
        name = str(path.relative_to(SOURCE))
        if name in WALL_CLOCK or name.startswith("testing/"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Attribute(value=ast.Name(id="time" | "datetime" | "date"), attr=attr):
                    assert attr not in WALL_CALLS, f"{name}:{node.lineno} reads the wall clock"
