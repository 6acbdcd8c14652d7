"""Backups and pruning from a terminal, with a real daemon."""

from __future__ import annotations

import json
import time

from tests.cli.conftest import Beside
from tests.daemon import Daemon


def test_a_backup_is_made_while_the_daemon_works_and_put_back_elsewhere(
    beside: Beside, real: Daemon
) -> None:
    beside.run("send", "kept", "--agent", "mock", "echo hi")
    done = beside.run("backup", "all.tar")
    assert done.stdout.startswith("1 session(s), ")
    assert done.stdout.endswith("file(s) are in all.tar\n")
    assert "copying the database" in done.stderr
    refused = beside.run("restore", "all.tar", code=1).stderr
    assert "another daemon" in refused
    told = beside.run("restore", "all.tar", "--data-dir", "elsewhere", "--json").stdout
    assert json.loads(told)["sessions"] == 1
    assert "is there already" in beside.run("backup", "all.tar", code=1).stderr


def test_old_sessions_are_pruned(beside: Beside, real: Daemon) -> None:
    beside.run("send", "aged", "--agent", "mock", "echo hi")
    while time.time() * 1000 < real.get("/sessions/aged")["updatedAt"] + 1:
        pass
    assert "aged" not in beside.run("sessions", "prune", "--older-than", "1h").stdout.split()
    listed = beside.run("sessions", "prune", "--older-than", "0s", "--dry-run")
    assert "aged" in listed.stdout.split()
    assert "would be deleted" in listed.stderr
    told = json.loads(beside.run("sessions", "prune", "--older-than", "0s", "--json").stdout)
    assert "aged" in told["sessionIds"]
    assert real.request("GET", "/sessions/aged").status == 404
    assert (
        "is no span of time"
        in beside.run("sessions", "prune", "--older-than", "old", code=2).stderr
    )
