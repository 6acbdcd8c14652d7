"""Two daemons on one folder: the second one leaves, and says who is there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.cases.common import pid_of
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
