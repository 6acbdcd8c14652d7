"""A clock that jumps. The clock of a machine that tests run on is not ours to set: the ids and the
deletion of old sessions are tried with clocks of our own, the log with times that lie in the
future, and for deadlines the source is read: only a few places may look at the wall clock, and none
of them waits for it.
"""

from __future__ import annotations

import ast
import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import msgspec
import pytest

import dragoman
from dragoman.agents import adapters
from dragoman.files import FileService
from dragoman.runtime.provision.agents import Agents
from dragoman.runtime.session import age
from dragoman.runtime.session.manager import SessionManager
from dragoman.runtime.session.retention import NOTE, Upkeep
from dragoman.schema.events import Draft, SessionStarted
from dragoman.settings import Settings
from dragoman.store import SessionFilter, open_store
from dragoman.store.ids import IdMaker, now_ms
from tests.cases.common import assert_conforms, eventually
from tests.daemon import running
from tests.runtime.session.test_retention import aged, ids
from tests.store.shelf import row

SOURCE = Path(dragoman.__file__).parent
DAY_MS = 86_400_000
HOUR_MS = 3_600_000
MINUTE_MS = 60_000
WALL_CLOCK = {
    "store/ids.py": "stamps events",
    "store/repair/salvage.py": "names a file that is kept aside",
    "store/repair/rebuild.py": "reads times that were stamped",
    "logs.py": "stamps lines of the log",
    "cli/hooks.py": "says how long ago something was",
    "runtime/webhooks/delivery.py": "reads dates in what receivers answer",
    "runtime/webhooks/sender.py": "stamps what is signed",
    "workspace/workspace.py": "stamps what happens to files",
    "cli/sessions.py": "says how long ago something was",
    "cli/pending.py": "says how long ago something was",
    "cli/processes.py": "says how long ago something was",
    "cli/prune.py": "asks for what is older than so long",
    "cli/backup.py": "names a file by the time",
    "store/backup.py": "names a folder by the time",
    "http/auth/tokens.py": "writes down when a token ends, for the next boot",
    "http/auth/tickets.py": "writes down when a cookie ends, for the next start",
    "files/leftovers.py": "compares it with when files were made",
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


# --- Old sessions ---


class Machine:
    """Its two clocks, and the looks of a daemon that deletes sessions of so many days."""

    def __init__(self, data_dir: Path, retain_days: float) -> None:
        self.wall_ms = now_ms()
        self.uptime_ms = 1_000_000
        self._settings = Settings(data_dir=str(data_dir), retain_days=retain_days)
        self._data_dir = data_dir

    def passes(self, ms: int) -> None:
        """Time passes; both clocks tell."""
        self.wall_ms += ms
        self.uptime_ms += ms

    def reboots(self) -> None:
        """The clock that nobody can set begins anew."""
        self.uptime_ms = 0

    def runs(self, *happenings: Callable[[], None], session: str | None = None) -> set[str]:
        """A daemon starts, looks, and looks again after each thing that happens; what it keeps."""

        async def run() -> set[str]:
            store = open_store(self._data_dir)
            try:
                agents, files = Agents(adapters(), self._settings), FileService(self._settings)
                sessions = SessionManager(store, agents, self._settings, files)
                upkeep = Upkeep(
                    sessions,
                    store,
                    self._settings,
                    wall_ms=lambda: self.wall_ms,
                    uptime_ms=lambda: self.uptime_ms,
                )
                if session is not None:
                    made = row(session, agent="mock")
                    times = {"created_at": self.wall_ms, "updated_at": self.wall_ms}
                    made = msgspec.structs.replace(made, **times)
                    await store.create(made, [Draft(SessionStarted(metadata={}))])
                await upkeep.look()
                for happens in happenings:
                    happens()
                    await upkeep.look()
                await sessions.stop()
                return {each.session_id for each in await store.sessions(SessionFilter())}
            finally:
                await store.close()

        return asyncio.run(run())

    def jumps(self, ms: int) -> None:
        """Somebody sets the wall clock."""
        self.wall_ms += ms


def test_case_25_a_clock_that_jumps_ahead_in_a_running_daemon_deletes_nothing(
    data_dir: Path,
) -> None:
    """Before, every quiet session was older than `retain_days` at once, and was deleted."""
    machine = Machine(data_dir, 7)
    assert machine.runs(partial(machine.jumps, 3650 * DAY_MS), session="s") == {"s"}
    six_days = [partial(machine.passes, DAY_MS)] * 6
    assert machine.runs(*six_days) == {"s"}, "nor later, before its time"
    assert machine.runs(*[partial(machine.passes, DAY_MS)] * 2) == set(), "but then"


def test_case_25_a_clock_that_was_set_ahead_before_the_start_deletes_nothing_young(
    data_dir: Path,
) -> None:
    """Before, a machine that came up with a wrong clock lost every quiet session."""
    machine = Machine(data_dir, 8)
    assert machine.runs(*[partial(machine.passes, DAY_MS)] * 3, session="s") == {"s"}
    machine.reboots()
    machine.jumps(3650 * DAY_MS)
    # Of a time that nobody saw, half of `retain_days` counts: 3 + 4 of 8 days are over.
    assert machine.runs(partial(machine.passes, DAY_MS // 2)) == {"s"}
    assert machine.runs(partial(machine.passes, DAY_MS)) == set()


def test_case_25_a_clock_that_is_set_right_again_leaves_no_trace(data_dir: Path) -> None:
    machine = Machine(data_dir, 7)
    ahead, back = partial(machine.jumps, 365 * DAY_MS), partial(machine.jumps, -365 * DAY_MS)
    day = partial(machine.passes, DAY_MS)
    assert machine.runs(ahead, day, back, *[day] * 5, session="s") == {"s"}
    assert machine.runs(day, day) == set(), "8 days have passed"


@pytest.mark.parametrize("gap_days", [1, 7])
def test_case_25_where_a_daemon_runs_rarely_sessions_go_by_the_calendar(
    data_dir: Path, gap_days: int
) -> None:
    machine = Machine(data_dir, 30)
    machine.runs(partial(machine.passes, HOUR_MS), session="s")
    created, kept = machine.wall_ms, {"s"}
    while kept:
        machine.reboots()
        machine.jumps(gap_days * DAY_MS - HOUR_MS)
        kept = machine.runs(partial(machine.passes, HOUR_MS))
    assert 29 <= (machine.wall_ms - created) / DAY_MS <= 30 + gap_days


def test_case_25_a_first_start_with_a_wrong_clock_deletes_nothing_young(data_dir: Path) -> None:
    """Where no look was written down, the last thing that happened was before now."""
    with running(data_dir) as daemon:
        daemon.create("s")
        daemon.turn("s", "echo hi")
    aged(data_dir, {"s": 40})  # or the clock is 40 days ahead: nobody can tell
    with running(data_dir, env={"DRAGOMAN_RETAIN_DAYS": "7"}) as daemon:
        eventually((data_dir / NOTE).exists, "it has looked")
        assert daemon.turn("s", "echo again")[-1]["data"]["outcome"] == "completed"
        assert ids(daemon) == {"s"}
        log = (data_dir / "logs" / "daemon.log").read_text()
        assert "makes no session old" in log


def test_case_25_of_many_jumps_the_note_stays_small() -> None:
    note = age.ClockNote(0)
    for _ in range(1000):
        note = age.look(note, note.looked_at_ms + 40 * DAY_MS, MINUTE_MS, 7 * DAY_MS)
    assert len(note.skips) == age.MAX_SKIPS
    assert age.since_ms(note, 30 * MINUTE_MS) == note.looked_at_ms - 30 * 40 * DAY_MS
    assert age.since_ms(note, DAY_MS) < 0, "what was forgotten has not passed"
