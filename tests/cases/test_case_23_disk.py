"""A disk that is full or fails, and a process without descriptors: nothing unstored is shown.

Where mounting is allowed the disk is a small one in memory. Everywhere, a limit on the size of
files makes the kernel refuse writes as a failing disk does.
"""

from __future__ import annotations

import os
import resource
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Protocol

import pytest

from dragoman.store import check
from tests.cases.common import (
    assert_conforms,
    eventually,
    open_files,
    pid_of,
    types,
    wait_for_agent,
)
from tests.daemon import Daemon, running
from tests.torture.clients import Reader, Up

UNLIMITED = resource.RLIM_INFINITY
DISK_BYTES = 24 << 20


class Disk(Protocol):
    """Where the data folder is, and a way to fill it."""

    data_dir: Path

    def fill(self, daemon: Daemon) -> None:
        """From now on nothing can be written."""

    def free(self, daemon: Daemon) -> None:
        """It can again."""


class SmallDisk:
    """A disk in memory, filled by a file."""

    def __init__(self, mounted: Path) -> None:
        self.data_dir = mounted / "data"
        self._ballast = mounted / "ballast"

    def fill(self, daemon: Daemon) -> None:
        with self._ballast.open("wb", buffering=0) as ballast:
            for size in (1 << 20, 4096, 1):
                try:
                    while ballast.write(b"x" * size) == size:
                        pass
                except OSError:
                    continue

    def free(self, daemon: Daemon) -> None:
        self._ballast.unlink()


class FailingDisk:
    """No file of the daemon can grow; the kernel answers as a failing disk does."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir

    def fill(self, daemon: Daemon) -> None:
        resource.prlimit(pid_of(daemon), resource.RLIMIT_FSIZE, (1, UNLIMITED))

    def free(self, daemon: Daemon) -> None:
        resource.prlimit(pid_of(daemon), resource.RLIMIT_FSIZE, (UNLIMITED, UNLIMITED))


@contextmanager
def mounted(path: Path) -> Iterator[Path]:
    path.mkdir()
    options = f"size={DISK_BYTES}"
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        pytest.skip("mounting a small disk is not allowed here")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


@pytest.fixture(params=["full", "failing"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    """A disk that can be filled."""
    if request.param == "failing":
        yield FailingDisk(tmp_path / "data")
        return
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    with mounted(tmp_path / "disk") as path:
        yield SmallDisk(path)


@contextmanager
def following(daemon: Daemon, session_id: str) -> Iterator[Reader]:
    up = Up()
    with up.down():
        pass
    reader = Reader(daemon, up, session_id)
    reader.start()
    try:
        yield reader
    finally:
        up.end()


def refuses(daemon: Daemon, session_id: str) -> bool:
    path = f"/sessions/{session_id}/messages"
    return daemon.request("POST", path, {"message": "x"}).status == 507


def waits(daemon: Daemon, session_id: str) -> bool:
    """Whether the session has something that it cannot write; asked for what is not there."""
    return daemon.request("DELETE", f"/sessions/{session_id}/pending/none").status == 507


def refused(daemon: Daemon, body: dict[str, str]) -> bool:
    return daemon.request("POST", "/sessions", body).status == 507


def use_up(daemon: Daemon) -> None:
    """Write until nothing fits: the store may have room in a file that it has already."""
    for size in (1 << 18, 1 << 14, 1 << 10, 1):
        body = {"agent": "mock", "title": "x" * size}
        eventually(partial(refused, daemon, body), "the store is full")


def stored(data_dir: Path) -> int:
    """What is in the file, seen by somebody else."""
    with closing(sqlite3.connect(f"file:{data_dir}/dragoman.db?mode=ro", uri=True)) as db:
        (count,) = db.execute("SELECT count(*) FROM events").fetchone()
    return int(count)


def test_case_23_what_cannot_be_stored_is_refused_and_nothing_of_it_happens(disk: Disk) -> None:
    with running(disk.data_dir) as daemon:
        daemon.create("s")
        daemon.turn("s", "echo before")
        before = daemon.events("s")
        disk.fill(daemon)
        for path, body in (
            ("/sessions/new", {"agent": "mock"}),
            ("/sessions/s/messages", {"message": "x"}),
        ):
            reply = daemon.request("POST", path, body)
            assert (reply.status, reply.json["title"]) == (507, "Storage Full")
            assert reply.headers["content-type"] == "application/problem+json"
        # Reading goes on.
        assert daemon.get("/health") == {"status": "ok"}
        assert daemon.events("s") == before
        assert daemon.request("GET", "/sessions/new").status == 404
        disk.free(daemon)
        daemon.create("new")
        assert daemon.turn("s", "echo after")[-1]["data"]["outcome"] == "completed"
        assert_conforms(daemon.events("s"))
    assert check(disk.data_dir) == []


def test_case_23_a_turn_is_held_while_nothing_can_be_stored_and_then_goes_on(disk: Disk) -> None:
    with running(disk.data_dir) as daemon:
        daemon.create("s")
        with following(daemon, "s") as reader:
            daemon.send("s", "slow 300")
            wait_for_agent(daemon, "s", "item.delta")
            disk.fill(daemon)
            eventually(lambda: refuses(daemon, "s"), "the session takes no message")
            seen, kept = len(reader.seen), stored(disk.data_dir)
            assert seen <= kept
            # It stays so: nothing more is shown while nothing more is stored.
            assert not reader.wait_for(kept + 1, 1.0)
            assert stored(disk.data_dir) == kept
            assert daemon.get("/sessions/s")["status"] == "running"
            disk.free(daemon)
            end = daemon.wait_for("s", "turn.ended")
            assert end["data"]["outcome"] == "completed"
            assert reader.wait_for(end["sequence"], 30)
        events = daemon.events("s")
        said = "".join(
            event["data"]["delta"]
            for event in events
            if event["type"] == "item.delta" and event["source"] == "agent"
        )
        assert said == "".join(f"{number} " for number in range(1, 301))
        assert [sequence for sequence, _ in reader.seen] == [event["sequence"] for event in events]
        assert_conforms(events)
        assert daemon.turn("s", "echo on")[-1]["data"]["outcome"] == "completed"
    assert check(disk.data_dir) == []


def test_case_23_a_daemon_can_be_stopped_and_killed_while_nothing_can_be_stored(disk: Disk) -> None:
    with running(disk.data_dir) as daemon:
        for end in (daemon.kill, daemon.stop):
            session = f"s-{end.__name__}"
            daemon.create(session)
            daemon.send(session, "slow 3000")
            wait_for_agent(daemon, session, "item.delta")
            disk.fill(daemon)
            eventually(partial(refuses, daemon, session), "the session takes no message")
            before = daemon.events(session)
            end()
            if isinstance(disk, SmallDisk):
                disk.free(daemon)
            daemon.start()
            after = daemon.events(session)
            assert after[: len(before)] == before
            assert after[-1]["data"]["outcome"] == "interrupted"
            assert_conforms(after)
            assert daemon.turn(session, "echo on")[-1]["data"]["outcome"] == "completed"
    assert check(disk.data_dir) == []


def test_case_23_nobody_waits_for_a_session_that_waits_for_the_disk(disk: Disk) -> None:
    with running(disk.data_dir) as daemon:
        daemon.create("s", fileEvents=False)  # whose copies would take and give room
        daemon.send("s", "slow 1000")
        wait_for_agent(daemon, "s", "item.delta")
        disk.fill(daemon)
        eventually(lambda: waits(daemon, "s"), "the session waits for the disk")
        before = daemon.events("s")
        for method, path, body in (
            ("POST", "/sessions/s/interrupt", None),
            ("POST", "/sessions/s/terminate", None),
            ("PATCH", "/sessions/s", {"title": "x"}),
        ):
            reply = daemon.request(method, path, body)
            assert (reply.status, reply.json["title"]) == (507, "Storage Full"), path
            assert "details" not in reply.json
        assert daemon.events("s") == before
        disk.free(daemon)
        assert daemon.wait_for("s", "turn.ended")["data"]["outcome"] == "completed"
        assert daemon.get("/sessions/s").get("title") is None, "nothing of it was done"
        assert_conforms(daemon.events("s"))
        assert daemon.request("POST", "/sessions/s/terminate").status == 204


def test_case_23_a_delete_that_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    disk = FailingDisk(tmp_path / "data")
    with running(disk.data_dir) as daemon:
        daemon.create("s")
        daemon.send("s", "slow 1000")
        wait_for_agent(daemon, "s", "item.delta")
        disk.fill(daemon)
        eventually(lambda: waits(daemon, "s"), "the session waits for the disk")
        assert daemon.request("DELETE", "/sessions/s").status == 507
        disk.free(daemon)
        assert daemon.wait_for("s", "turn.ended")["data"]["outcome"] == "completed"
        assert_conforms(daemon.events("s"))
        assert daemon.request("DELETE", "/sessions/s").status == 204


def test_case_23_an_answer_that_cannot_be_written_is_told_and_counts_once(disk: Disk) -> None:
    with running(disk.data_dir) as daemon:
        daemon.create("s")
        daemon.send("s", "permission")
        asked = daemon.wait_for("s", "permission.requested")["data"]["permission_id"]
        path = f"/sessions/s/permissions/{asked}/reply"
        disk.fill(daemon)
        begun = daemon.request("POST", path, {"reply": "once"})
        assert (begun.status, begun.json["details"]) == (507, {"begun": True})
        untouched = daemon.request("POST", path, {"reply": "reject"})
        assert untouched.status == 507
        assert "details" not in untouched.json
        disk.free(daemon)
        daemon.wait_for("s", "turn.ended")
        assert daemon.request("POST", path, {"reply": "once"}).status == 204
        assert daemon.request("POST", path, {"reply": "reject"}).status == 409
        events = daemon.events("s")
        (resolved,) = [e["data"] for e in events if e["type"] == "permission.resolved"]
        assert resolved["status"] == "accept"
        assert_conforms(events)


def test_case_23_an_end_that_cannot_be_written_is_told_and_comes_once(disk: Disk) -> None:
    with running(disk.data_dir) as daemon:
        for what in ("terminate", "interrupt"):
            daemon.create(what)
            daemon.send(what, "hang")
            wait_for_agent(daemon, what, "item.delta")
            disk.fill(daemon)
            use_up(daemon)
            begun = daemon.request("POST", f"/sessions/{what}/{what}")
            # An interrupt is written when the agent heeds it, which may be after the answer.
            assert begun.status in ((507,) if what == "terminate" else (204, 507))
            eventually(partial(waits, daemon, what), "the session waits for the disk")
            assert daemon.request("POST", f"/sessions/{what}/terminate").status == 507
            disk.free(daemon)
            last = "session.ended" if what == "terminate" else "turn.ended"
            end = daemon.wait_for(what, last)["sequence"]
            # Where the agent is slow to heed the interrupt, the terminate has begun, too.
            assert types(daemon.events(what)[end:]) in ([], ["session.ended"])
            assert_conforms(daemon.events(what))


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_case_23_a_folder_that_cannot_be_written_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk") as path:
        with running(path / "data") as daemon:
            daemon.create("s")
        subprocess.run(["mount", "-o", "remount,ro", str(path)], check=True)
        refused = subprocess.run(
            [sys.executable, "-m", "dragoman.cli.main", "serve", "--data-dir", str(path / "data"),
             "--port", "0"],
            capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip
        assert refused.returncode == 1
        assert "Traceback" not in refused.stderr
        assert str(path / "data") in refused.stderr
        subprocess.run(["mount", "-o", "remount,rw", str(path)], check=True)
        with running(path / "data") as daemon:
            assert len(daemon.events("s")) == 1


def test_case_23_a_daemon_without_descriptors_survives_and_recovers(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        daemon.create("s")
        daemon.turn("s", "echo before")
        limit = open_files(daemon) + 8
        resource.prlimit(pid_of(daemon), resource.RLIMIT_NOFILE, (limit, 4096))
        storm = []
        try:
            for _ in range(100):
                connection = socket.create_connection(("127.0.0.1", daemon.port), timeout=30)
                connection.sendall(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n")
                storm.append(connection)
        finally:
            for connection in storm:
                connection.close()
        eventually(lambda: open_files(daemon) < limit, "descriptors are free again")
        resource.prlimit(pid_of(daemon), resource.RLIMIT_NOFILE, (4096, 4096))
        assert daemon.get("/health") == {"status": "ok"}
        assert daemon.turn("s", "echo after")[-1]["data"]["outcome"] == "completed"
        assert_conforms(daemon.events("s"))


def test_case_23_an_agent_that_cannot_be_started_costs_its_turn_only(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        daemon.create("s")
        daemon.turn("s", "echo before")
        daemon.kill()
        daemon.start()
        limit = open_files(daemon) + 4  # enough for a request, not for three pipes
        resource.prlimit(pid_of(daemon), resource.RLIMIT_NOFILE, (limit, 4096))
        turn = daemon.turn("s", "echo lost")
        assert turn[-1]["data"]["outcome"] == "failed"
        (error,) = [event["data"] for event in turn if event["type"] == "error"]
        assert error["code"] == "launch_failed"
        resource.prlimit(pid_of(daemon), resource.RLIMIT_NOFILE, (4096, 4096))
        assert daemon.turn("s", "echo after")[-1]["data"]["outcome"] == "completed"
        assert_conforms(daemon.events("s"))
