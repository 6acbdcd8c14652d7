"""A disk with little room that nobody but the daemon writes to: it stays usable, and is never lost.

`SMALL_DISK_S` sets for how long three sessions stream on it; with `-s` the figures are printed.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.store import check
from dragoman.testing.conformance import check_lines
from tests.cases.common import assert_conforms, eventually, wait_for_agent
from tests.cases.test_case_23_disk import SmallDisk, mounted, refuses, waits
from tests.daemon import Daemon, running

SECONDS = float(os.environ.get("SMALL_DISK_S", "15"))
STREAMS = 3
PROMPTS = ("slow 60", "burst 400 3000", "burst 40 200", "image", "burst 2 400000")
MESSAGES_A_SESSION = 4
RECOVERY_S = 10.0
"""So soon after room was made something must be accepted."""
LOG_BYTES = 8 << 20
"""One commit more than the log may hold: three sessions, two writes each, and what they touch."""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A disk of 24 MB, with a file to fill it."""
    with mounted(tmp_path / "disk") as path:
        yield SmallDisk(path)


def is_degraded(daemon: Daemon) -> bool:
    return bool(daemon.get("/status")["store"]["degraded"])


def accepted_of(events: list[dict[str, Any]]) -> set[str]:
    """The messages that a stream shows."""
    items = (event["data"].get("item", {}) for event in events)
    return {item["message_id"] for item in items if item.get("message_id")}


class Shelf:
    """The sessions that there are, and of each what was answered with 204."""

    def __init__(self, daemon: Daemon) -> None:
        self.accepted: dict[str, list[str]] = {}
        self.in_use: set[str] = set()
        self.deleted = 0
        self._daemon = daemon
        self._lock = threading.Lock()

    def add(self, session: str) -> None:
        with self._lock:
            self.accepted[session] = []
            self.in_use.add(session)

    def make_room(self, own: str | None) -> bool:
        """Delete the oldest session that nobody uses, else one's own; whether it was that."""
        with self._lock:
            old = [session for session in self.accepted if session not in self.in_use]
            session = old[0] if old else own
            if session is None:
                return False
            self.in_use.discard(session)
            accepted = self.accepted.pop(session)
        verify(self._daemon, session, accepted)
        reply = self._daemon.request("DELETE", f"/sessions/{session}")
        assert reply.status == 204, reply.body
        self.deleted += 1
        return session == own


class Person(threading.Thread):
    """Sends one message after another, and deletes a session when there is no room."""

    def __init__(self, daemon: Daemon, shelf: Shelf, name: str, ends_at: float) -> None:
        super().__init__(name=name, daemon=True)
        self.sent = self.refused = 0
        self.recoveries_s: list[float] = []
        self.failure: BaseException | None = None
        self._daemon = daemon
        self._shelf = shelf
        self._ends_at = ends_at
        self._session: str | None = None
        self._made_room_at: float | None = None

    def run(self) -> None:
        try:
            while time.monotonic() < self._ends_at:
                self._step()
        except BaseException as failure:  # noqa: BLE001 - it belongs to the test
            self.failure = failure

    def _step(self) -> None:
        session = self._session
        if session is None:
            session = f"{self.name}-{self.sent}-{self.refused}"
            if self._is_done("POST", f"/sessions/{session}", {"agent": "mock"}):
                self._shelf.add(session)
                self._session = session
            return
        prompt = PROMPTS[self.sent % len(PROMPTS)]
        if self._is_done("POST", f"/sessions/{session}/messages", {"message": prompt}):
            self.sent += 1
            eventually(partial(self._is_idle, session), f"{session} is done, or waits")
            if len(self._shelf.accepted[session]) >= MESSAGES_A_SESSION:
                self._shelf.in_use.discard(session)
                self._session = None

    def _is_done(self, method: str, path: str, body: Any) -> bool:
        """Ask once; where there is no room, make some."""
        reply = self._daemon.request(method, path, body)
        if reply.status in (200, 204):
            if self._made_room_at is not None:
                self.recoveries_s.append(time.monotonic() - self._made_room_at)
                self._made_room_at = None
            if self._session is not None:
                self._shelf.accepted[self._session].append(reply.headers["dragoman-message-id"])
            return True
        assert reply.status == 507, reply.body
        self.refused += 1
        if self._shelf.make_room(self._session):
            self._session = None
        self._made_room_at = time.monotonic()
        with contextlib.suppress(AssertionError):  # a polite client does not insist
            eventually(lambda: not is_degraded(self._daemon), "there is room", 1.0)
        return False

    def _is_idle(self, session: str) -> bool:
        status = self._daemon.get(f"/sessions/{session}")["status"]
        return status == "idle" or is_degraded(self._daemon)


def verify(daemon: Daemon, session: str, accepted: list[str]) -> None:
    """What was answered with 204 is in the stream, or waits; and the stream keeps its rules."""
    waiting = {each["messageId"] for each in daemon.get(f"/sessions/{session}/pending")["messages"]}
    events = daemon.events(session)
    assert set(accepted) <= accepted_of(events) | waiting, session
    assert check_lines([msgspec.json.encode(event) for event in events]) == [], session


def test_case_23_three_streams_on_a_small_disk_never_leave_it_unusable(
    small_disk: SmallDisk,
) -> None:
    """Before, the write-ahead log of three sessions grew until the disk was full of it; then it
    could not be moved into the database, and the store stayed degraded for ever."""
    log = small_disk.data_dir / "dragoman.db-wal"
    sizes: list[int] = []
    with running(small_disk.data_dir) as daemon:
        drain(daemon)
        ends_at = time.monotonic() + SECONDS
        shelf = Shelf(daemon)
        people = [Person(daemon, shelf, f"p{number}", ends_at) for number in range(STREAMS)]
        for person in people:
            person.start()
        while any(person.is_alive() for person in people):
            sizes.append(log.stat().st_size)
            people[0].join(0.1)
        for person in people:
            if person.failure is not None:
                raise person.failure
        recoveries = [each for person in people for each in person.recoveries_s] or [0.0]
        sys.stdout.write(
            f"\n{SECONDS:.0f} s: {sum(p.sent for p in people)} messages answered with 204, "
            f"{sum(p.refused for p in people)} with 507, {shelf.deleted} sessions "
            f"deleted; accepted again at most {max(recoveries):.2f} s after a delete; the log at "
            f"most {max(sizes) >> 10} KiB, {sum(sizes) // len(sizes) >> 10} on average\n"
        )
        assert max(sizes) < LOG_BYTES
        assert max(recoveries) < RECOVERY_S
        kept = shelf.accepted
        finish(daemon, kept)
        daemon.kill()
        daemon.start()
        for session, accepted in kept.items():
            events = daemon.events(session)
            assert set(accepted) <= accepted_of(events)
            assert_conforms(events)
    assert check(small_disk.data_dir) == []


def drain(daemon: Daemon) -> None:
    """Read what the daemon says on stderr: each session that waits is told there, and a pipe that
    nobody reads would stop it in the end."""
    assert daemon.process is not None
    assert daemon.process.stderr is not None
    threading.Thread(target=daemon.process.stderr.read, daemon=True).start()


def finish(daemon: Daemon, kept: dict[str, list[str]]) -> None:
    """Let what is open come to its end; where there is no room for that, make some."""

    def is_done() -> bool:
        if is_degraded(daemon):
            session = next(iter(kept))
            verify(daemon, session, kept.pop(session))
            assert daemon.request("DELETE", f"/sessions/{session}").status == 204
        return all(daemon.get(f"/sessions/{session}")["status"] == "idle" for session in kept)

    eventually(is_done, "every turn has ended")


def test_case_23_what_could_not_be_written_is_noticed_to_be_over_without_a_request(
    small_disk: SmallDisk,
) -> None:
    """Before, a store that had failed once said that it was degraded until somebody wrote."""
    with running(small_disk.data_dir) as daemon:
        daemon.create("s")
        small_disk.fill(daemon)
        assert refuses(daemon, "s")
        store = daemon.get("/status")["store"]
        assert store["degraded"]
        assert "delete sessions, or free some space" in store["problem"]
        small_disk.free(daemon)
        eventually(lambda: not is_degraded(daemon), "the store can write", RECOVERY_S)
        assert daemon.get("/status")["store"]["problem"] is None
        # And the other way round: nobody has to fail first.
        small_disk.fill(daemon)
        eventually(lambda: is_degraded(daemon), "the disk is seen to be full", RECOVERY_S)
        small_disk.free(daemon)


def test_case_23_sessions_can_be_deleted_on_a_full_disk_and_that_makes_room(
    small_disk: SmallDisk,
) -> None:
    """Before, to delete a session on a full disk got 507, and nobody could make room with it."""
    with running(small_disk.data_dir) as daemon:
        for session in ("ended", "idle", "works", "stays"):
            daemon.create(session)
            daemon.turn(session, "burst 20 100000")
        daemon.request("POST", "/sessions/ended/terminate")
        daemon.send("works", "slow 3000")
        wait_for_agent(daemon, "works", "item.delta")
        small_disk.fill(daemon)
        eventually(lambda: waits(daemon, "works"), "the session waits for the disk")
        for session in ("ended", "idle", "works"):
            reply = daemon.request("DELETE", f"/sessions/{session}")
            assert reply.status == 204, (session, reply.body)
            assert daemon.request("GET", f"/sessions/{session}").status == 404
        # Only their room makes this possible: what fills the disk is still there.
        assert daemon.turn("stays", "echo on")[-1]["data"]["outcome"] == "completed"
        assert_conforms(daemon.events("stays"))
    assert check(small_disk.data_dir) == []


def test_case_23_a_start_on_a_full_disk_after_a_kill_is_refused_at_once(
    small_disk: SmallDisk,
) -> None:
    """Before, such a daemon served for a moment, tried to close what was open for ten seconds, and
    then exited because it could not say where it is."""
    with running(small_disk.data_dir) as daemon:
        daemon.create("s")
        daemon.send("s", "slow 3000")
        wait_for_agent(daemon, "s", "item.delta")
        small_disk.fill(daemon)
        eventually(lambda: refuses(daemon, "s"), "the session takes no message")
        before = daemon.events("s")
        daemon.kill()
        small_disk.fill(daemon)
        begun_at = time.monotonic()
        refused = subprocess.run(
            [sys.executable, "-m", "dragoman.cli.main", "serve", "--port", "0",
             "--data-dir", str(small_disk.data_dir)],
            capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip
        assert refused.returncode == 1
        assert refused.stdout == "", "it never served"
        assert refused.stderr.count("\n") == 1, refused.stderr
        assert "is full" in refused.stderr
        assert "free some space" in refused.stderr
        assert time.monotonic() - begun_at < RECOVERY_S
        small_disk.free(daemon)
        daemon.start()
        after = daemon.events("s")
        assert after[: len(before)] == before
        assert after[-1]["data"]["outcome"] == "interrupted"
        assert_conforms(after)
