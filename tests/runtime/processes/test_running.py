"""What runs now, as it is told to people."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cases.common import eventually
from tests.cases.culprits import misdeed, token, with_token
from tests.cases.puppet import ENV
from tests.shared_agent import SharedAgentDaemon
from tests.testing.story import Talk, said


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[SharedAgentDaemon]:
    started = SharedAgentDaemon(tmp_path / "data", env={**ENV, "SHARED_AGENT_HOME": str(tmp_path)})
    started.start()
    try:
        yield started
    finally:
        started.stop()


def running(daemon: SharedAgentDaemon) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = daemon.get("/processes")["processes"]
    return found


def test_without_sessions_nothing_runs(daemon: SharedAgentDaemon) -> None:
    assert daemon.get("/processes") == {"processes": []}


def test_a_process_is_told_with_its_session_its_tree_and_its_cost(
    daemon: SharedAgentDaemon,
) -> None:
    before_ms = time.time() * 1000
    name = token()
    talk = Talk(daemon)
    talk.send(misdeed("tree", name))
    talk.until("item.delta")
    eventually(lambda: len(with_token(name)) > 1, "the tree has grown")
    grown = with_token(name)  # it may grow on
    (process,) = running(daemon)
    assert (process["agent"], process["purpose"]) == ("mock", "session")
    assert process["sessionIds"] == [talk.id]
    assert abs(process["startedAt"] - before_ms) < 60_000
    first, *below = process["tree"]
    assert (first["pid"], first["state"] in "RSD") == (process["pid"], True)
    assert grown <= {each["pid"] for each in below}
    assert all(each["parentPid"] in {one["pid"] for one in process["tree"]} for each in below)
    assert all(each["command"] and len(each["command"]) <= 200 for each in process["tree"])
    assert process["memoryBytes"] == sum(each["memoryBytes"] for each in process["tree"]) > 1 << 20
    assert process["cpuMs"] == sum(each["cpuMs"] for each in process["tree"])
    talk.terminate()
    assert running(daemon) == []


def test_a_shared_process_is_told_once_with_all_its_sessions(daemon: SharedAgentDaemon) -> None:
    talks = [Talk(daemon, agent="shared") for _ in range(3)]
    pids = {int(words) for talk in talks for words in said(talk.turn("pid"))}
    (process,) = running(daemon)
    assert {process["pid"]} == pids
    assert (process["agent"], process["purpose"]) == ("shared", "shared")
    assert process["sessionIds"] == sorted(talk.id for talk in talks)
    talks[0].terminate()
    (process,) = running(daemon)
    assert talks[0].id not in process["sessionIds"]
    assert os.path.exists(f"/proc/{process['pid']}")
