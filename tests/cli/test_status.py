"""How the daemon does, and what all sessions say, from a terminal with a real daemon."""

from __future__ import annotations

import json

import dragoman
from tests.cli.conftest import Beside
from tests.daemon import Daemon


def test_status_is_told_in_a_few_lines(beside: Beside, real: Daemon) -> None:
    real.create("status-1")
    lines = beside.run("status").stdout.splitlines()
    told = {line.split()[0]: line for line in lines}
    assert f" {dragoman.__version__} at http://127.0.0.1:{real.port}, up " in told["daemon"]
    assert str(real.data_dir) in told["store"]
    assert "idle" in told["sessions"]
    assert any("mock" in line for line in lines)
    found = json.loads(beside.run("status", "--json").stdout)
    assert found["version"] == dragoman.__version__


def test_events_without_a_session_are_those_of_all(beside: Beside, real: Daemon) -> None:
    real.create("all-1")
    with beside.open("events", "--after", "0") as follower:
        assert follower.stdout is not None
        while "all-1" not in (line := follower.stdout.readline()):
            assert line
        real.create("all-2")
        while "all-2" not in (line := follower.stdout.readline()):
            assert line
        assert line.split()[1:3] == ["all-2", "1"]
        follower.terminate()


def test_a_long_list_is_read_page_by_page(beside: Beside, real: Daemon) -> None:
    for number in range(510):
        real.create(f"many-{number}")
    listed = json.loads(beside.run("ls", "--query", "MANY-", "--json").stdout)
    assert "nextCursor" not in listed
    names = [each["sessionId"] for each in listed["sessions"]]
    assert names == [f"many-{number}" for number in reversed(range(510))]
    some = json.loads(beside.run("ls", "--query", "many-", "--limit", "503", "--json").stdout)
    assert [each["sessionId"] for each in some["sessions"]] == names[:503]
