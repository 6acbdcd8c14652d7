"""What runs now, from a terminal, with a real daemon."""

from __future__ import annotations

import json

from tests.cli.conftest import Beside


def test_what_runs_is_listed_with_whom_it_is_for(beside: Beside) -> None:
    assert beside.run("ps").stdout == "nothing runs\n"
    beside.run("send", "one", "--agent", "mock", "echo hi")
    heads, row = beside.run("ps").stdout.splitlines()
    assert heads.split() == ["PID", "AGENT", "UP", "CPU", "MEMORY", "SESSION"]
    pid, agent, *_, session = row.split()
    assert (agent, session) == ("mock", "one")
    (found,) = json.loads(beside.run("ps", "--json").stdout)["processes"]
    assert str(found["pid"]) == pid
    tree = beside.run("ps", "--tree").stdout
    assert "COMMAND" in tree
    assert "testing.mock.agent" in tree


def test_an_unknown_option_is_named(beside: Beside) -> None:
    assert "--branch" in beside.run("ps", "--branch", code=2).stderr
