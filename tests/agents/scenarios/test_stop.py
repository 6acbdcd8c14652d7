"""Stopped in the middle: the agent does nothing more, and the turn was interrupted."""

from __future__ import annotations

import pytest

from tests.agents.live import Bench, Live, calls
from tests.agents.watch import done, heard, outcomes
from tests.testing.story import items, of_type

SLOW = "python3 -c 'import time; time.sleep(1)'"


@pytest.mark.needs("commandExecution")
def test_terminate_in_a_command_runs_no_further_one(bench: Bench) -> None:
    first, second = (calls(bench.agent.shell(each)) for each in (SLOW, "touch two.txt"))
    live = bench.session(first, second, "Done.", permissionMode="bypass")
    live.send("Go")
    heard(live, done("tool_call"))
    live.terminate()
    assert outcomes(live.events()) == ["interrupted"]
    (result,) = items(live.events(), "tool_result")
    assert result["status"] == "failed"
    assert not (live.workspace / "two.txt").exists()
    assert len(live.model.mains) == 1
    assert live.processes() == []
    live.conforms()


@pytest.mark.needs("commandExecution", "permissions", "resume")
def test_a_daemon_that_stops_withdraws_what_is_asked(alone: Live) -> None:
    alone.model.add(calls(alone.agent.shell("touch one.txt")), "Again.")
    alone.send("Go")
    alone.until("permission.requested")
    alone.daemon.stop()
    assert alone.agent.processes(alone) == []
    alone.daemon.start()
    (resolved,) = of_type(alone.events(), "permission.resolved")
    assert (resolved["status"], resolved["metadata"]["reason"]) == ("reject", "restart")
    assert outcomes(alone.events()) == ["interrupted"]
    assert len(alone.model.mains) == 1
    assert outcomes(alone.turn("Go on")) == ["completed"]
    alone.conforms()
