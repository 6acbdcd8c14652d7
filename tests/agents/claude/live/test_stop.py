"""Stopped in the middle: the agent does nothing more, and the turn was interrupted."""

from __future__ import annotations

from pathlib import Path

from dragoman.agents.claude import ADAPTER
from tests.agents.claude.live.conftest import environ
from tests.agents.claude.live.scripts import bash, calls
from tests.agents.live import Bench, bench, executable
from tests.agents.watch import done, heard
from tests.daemon import running
from tests.testing.story import of_type

SLOW = "python3 -c 'import time; time.sleep(1)'"


def test_terminate_in_a_tool_runs_no_further_one(claude: Bench) -> None:
    steps = (calls(bash(SLOW)), calls(bash("touch two.txt")), "Done.")
    live = claude.session(*steps, permissionMode="bypass")
    live.send("Go")
    heard(live, done("tool_call"))
    live.terminate()
    assert [turn["outcome"] for turn in of_type(live.events(), "turn.ended")] == ["interrupted"]
    assert not (live.workspace / "two.txt").exists()
    assert len(live.model.mains) == 1
    assert live.processes() == []
    live.conforms()


def test_a_daemon_that_stops_withdraws_what_is_asked(tmp_path: Path) -> None:
    executable(ADAPTER)
    with running(tmp_path / "data") as daemon, bench(
        ADAPTER, environ, daemon, tmp_path, "stopped"
    ) as made:  # fmt: skip
        live = made.session(calls(bash("touch one.txt")), "Done.", "Again.")
        live.send("Go")
        live.until("permission.requested")
        daemon.stop()
        daemon.start()
        (resolved,) = of_type(live.events(), "permission.resolved")
        assert (resolved["status"], resolved["metadata"]["reason"]) == ("reject", "restart")
        (ended,) = of_type(live.events(), "turn.ended")
        assert ended["outcome"] == "interrupted"
        assert len(live.model.mains) == 1
        assert live.turn("Go on")[-1]["data"]["outcome"] == "completed"
        live.conforms()
