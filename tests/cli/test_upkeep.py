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
    assert "--replace" in refused
    told = beside.run("restore", "all.tar", "--data-dir", "elsewhere", "--json").stdout
    assert json.loads(told)["sessions"] == 1
    assert "is there already" in beside.run("backup", "all.tar", code=1).stderr


def test_a_restore_beside_a_daemon_waits_for_its_next_start(beside: Beside, real: Daemon) -> None:
    beside.run("send", "restored", "--agent", "mock", "echo hi")
    beside.run("backup", "now.tar")
    beside.run("send", "later", "--agent", "mock", "echo hi")
    told = beside.run("restore", "now.tar", "--replace").stdout
    assert "take effect when the daemon is next started" in told
    assert "before-restore-" in told
    assert "takes effect when the daemon is next started" in beside.run("doctor").stdout
    assert json.loads(beside.run("restore", "now.tar", "--replace", "--json").stdout)["waits"]
    assert real.request("GET", "/sessions/later").status == 200
    real.stop()
    real.start()
    assert real.request("GET", "/sessions/later").status == 404
    assert real.request("GET", "/sessions/restored").status == 200
    told = beside.run("doctor").stdout
    assert "set aside by a repair or a restore: before-restore-" in told
    assert "next started" not in told


def test_a_restore_into_what_is_no_folder_is_refused_in_a_sentence(beside: Beside) -> None:
    (beside.home / "file").touch()
    refused = beside.run("restore", "all.tar", "--data-dir", "file", code=1).stderr
    assert refused.startswith("dragoman: cannot use the data folder")


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
