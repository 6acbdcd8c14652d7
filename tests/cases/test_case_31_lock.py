"""Two daemons on one folder: the second one leaves, and says who is there. And one daemon whose
folder is taken away: it writes nothing that would be lost, and says so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import pytest

from dragoman.store import check
from tests.cases.common import assert_conforms, eventually, pid_of
from tests.daemon import Daemon, running


def second_start(data_dir: Path) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("DRAGOMAN_")}
    return subprocess.run(
        [sys.executable, "-m", "dragoman.cli.main", "serve", "--data-dir", str(data_dir),
         "--port", "0"],
        capture_output=True, text=True, timeout=30, env=env, check=False,
    )  # fmt: skip


def test_case_31_a_second_daemon_refuses_and_names_the_first(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        daemon.create("s")
        refused = second_start(data_dir)
        assert refused.returncode == 1
        assert f"pid {pid_of(daemon)}" in refused.stderr
        assert str(data_dir) in refused.stderr
        assert "Traceback" not in refused.stderr
        assert refused.stdout == ""
        # The first one has noticed nothing, and its address is still to be found.
        assert daemon.turn("s", "echo hi")[-1]["data"]["outcome"] == "completed"
        assert (data_dir / "daemon.json").exists()


def test_case_31_the_lock_of_a_killed_daemon_is_taken_over(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        daemon.create("s")
        before = daemon.events("s")
        old = pid_of(daemon)
        daemon.kill()
        assert (data_dir / "lock").read_text().strip() == str(old)
        daemon.start()
        assert (data_dir / "lock").read_text().strip() == str(pid_of(daemon)) != str(old)
        assert daemon.events("s") == before
        assert f"pid {pid_of(daemon)}" in second_start(data_dir).stderr


def test_case_31_of_many_that_start_at_once_one_serves(data_dir: Path) -> None:
    first = Daemon(data_dir)
    env = {name: value for name, value in os.environ.items() if not name.startswith("DRAGOMAN_")}
    rivals = [
        subprocess.Popen(
            [sys.executable, "-m", "dragoman.cli.main", "serve", "--data-dir", str(data_dir),
             "--port", "0"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
        )
        for _ in range(4)
    ]  # fmt: skip
    try:
        lines = [rival.stdout.readline() for rival in rivals if rival.stdout]
        serving = [rival for rival, line in zip(rivals, lines, strict=True) if line]
        assert len(serving) == 1
        for rival in rivals:
            if rival not in serving:
                assert rival.wait(30) == 1
        first.port = int(lines[rivals.index(serving[0])].strip().rpartition(":")[2])
        first.create("s")
        assert first.turn("s", "echo hi")[-1]["data"]["outcome"] == "completed"
    finally:
        for rival in rivals:
            rival.terminate()
            rival.communicate(timeout=30)


class Deprived(Daemon):
    """A daemon whose token is known also when its folder is gone."""

    @cached_property
    def token(self) -> str:
        return (self.data_dir / "token").read_text().strip()


@pytest.fixture
def deprived(data_dir: Path) -> Iterator[Deprived]:
    """A daemon with a session, of whose folder something will be taken away."""
    daemon = Deprived(data_dir)
    daemon.start()
    try:
        assert daemon.token
        daemon.create("s")
        daemon.turn("s", "echo before")
        yield daemon
    finally:
        if daemon.process is not None:
            daemon.stop()


def problem_of(daemon: Daemon) -> str | None:
    store = daemon.get("/status")["store"]
    assert store["degraded"] == (store["problem"] is not None)
    problem: str | None = store["problem"]
    return problem


def refuses_to_write(daemon: Daemon) -> bool:
    """Once it is noticed, which takes no write."""
    eventually(lambda: problem_of(daemon) is not None, "it is noticed")
    replies = [
        daemon.request("POST", "/sessions/s/messages", {"message": "x"}),
        daemon.request("POST", "/sessions", {"agent": "mock"}),
        daemon.request("DELETE", "/sessions/s"),
    ]
    assert daemon.get("/health") == {"status": "ok"}
    return {reply.status for reply in replies} == {507}


def test_case_31_a_lock_that_is_removed_is_noticed_and_lets_nobody_in(deprived: Deprived) -> None:
    """Before, a second daemon started on the folder of the first, and both wrote."""
    before = deprived.events("s")
    (deprived.data_dir / "lock").unlink()
    assert refuses_to_write(deprived)
    assert "touch" in (problem_of(deprived) or "")
    refused = second_start(deprived.data_dir)
    assert refused.returncode == 1
    assert "another daemon" in refused.stderr
    assert not (deprived.data_dir / "lock").exists(), "who is refused changes nothing"
    assert deprived.events("s") == before
    (deprived.data_dir / "lock").touch()
    eventually(lambda: problem_of(deprived) is None, "the lock is taken again")
    assert deprived.turn("s", "echo after")[-1]["data"]["outcome"] == "completed"
    assert f"pid {pid_of(deprived)}" in second_start(deprived.data_dir).stderr


def test_case_31_a_folder_that_is_moved_away_is_noticed_and_nothing_is_lost(
    deprived: Deprived,
) -> None:
    """Before, the daemon wrote on into files that nobody would find under their name."""
    before = deprived.events("s")
    away = deprived.data_dir.with_name("away")
    deprived.data_dir.rename(away)
    assert refuses_to_write(deprived)
    assert str(deprived.data_dir) in (problem_of(deprived) or "")
    assert deprived.events("s") == before, "reading goes on"
    assert not deprived.data_dir.exists(), "and it makes no folder of its own"
    away.rename(deprived.data_dir)
    eventually(lambda: problem_of(deprived) is None, "the folder is back")
    assert deprived.turn("s", "echo after")[-1]["data"]["outcome"] == "completed"
    assert_conforms(deprived.events("s"))
    deprived.stop()
    assert check(deprived.data_dir) == []


@pytest.mark.parametrize("name", ["dragoman.db", "dragoman.db-wal"])
def test_case_31_a_file_of_the_database_that_is_removed_is_noticed(
    deprived: Deprived, name: str
) -> None:
    """Before, what was written to a file without a name was answered with 204, and then gone."""
    (deprived.data_dir / name).unlink()
    assert refuses_to_write(deprived)
    assert name in (problem_of(deprived) or "")


def test_case_31_a_folder_that_is_made_anew_is_another_daemons_alone(
    deprived: Deprived, data_dir: Path
) -> None:
    """Before, the first daemon wrote on into removed files, and took the address file, the log and
    the agents of the second one away when it stopped."""
    # In one step: a daemon that still has its folder may make a file in it meanwhile.
    data_dir.rename(data_dir.with_name("away"))
    shutil.rmtree(data_dir.with_name("away"))
    assert refuses_to_write(deprived)
    assert not data_dir.exists(), "and it makes no folder of its own"
    with running(data_dir) as second:
        second.create("s")
        second.send("s", "permission")
        asked = second.wait_for("s", "permission.requested")["data"]["permission_id"]
        assert problem_of(deprived) is not None
        assert deprived.stop() == 0
        assert (data_dir / "daemon.json").exists()
        assert problem_of(second) is None
        reply = second.request("POST", f"/sessions/s/permissions/{asked}/reply", {"reply": "once"})
        assert reply.status == 204, reply.body
        assert second.wait_for("s", "turn.ended")["data"]["outcome"] == "completed"
        events = second.events("s")
        second.kill()
        second.start()
        assert second.events("s") == events
        assert_conforms(events)
