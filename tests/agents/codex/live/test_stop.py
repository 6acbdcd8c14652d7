"""Stopped in the middle: the agent does nothing more, and the turn was interrupted."""

from __future__ import annotations

from pathlib import Path

from dragoman.agents.codex import ADAPTER
from tests.agents.codex.live.scripts import calls, configured, run
from tests.agents.codex.live.watch import outcomes, servers
from tests.agents.live import Bench, bench, executable
from tests.agents.watch import done, heard
from tests.daemon import running
from tests.testing.story import items, of_type, said

WAIT = "while [ ! -e go ]; do sleep .01; done; touch gone.txt"


def test_terminate_in_a_command_runs_no_further_one(codex: Bench) -> None:
    steps = (calls(run(WAIT)), calls(run("touch two.txt")), "Done.")
    live = codex.session(*steps, permissionMode="bypass")
    other = codex.another(live.model, folder=live.folder)
    live.send("Go")
    heard(live, done("tool_call"))
    live.terminate()
    assert outcomes(live.events()) == ["interrupted"]
    (result,) = items(live.events(), "tool_result")
    assert result["status"] == "failed"
    live.model.script("Here I am.")
    assert said(other.turn("And you?")) == ["Here I am."]
    assert not (live.workspace / "two.txt").exists()
    live.conforms()
    other.conforms()


def test_a_daemon_that_stops_withdraws_what_is_asked(tmp_path: Path) -> None:
    executable(ADAPTER)
    with running(tmp_path / "data") as daemon, bench(
        ADAPTER, configured(), daemon, tmp_path, "stopped"
    ) as made:  # fmt: skip
        live = made.session(calls(run("touch one.txt")), "Again.")
        live.send("Go")
        live.until("permission.requested")
        daemon.stop()
        assert servers(live) == []
        daemon.start()
        (resolved,) = of_type(live.events(), "permission.resolved")
        assert (resolved["status"], resolved["metadata"]["reason"]) == ("reject", "restart")
        assert outcomes(live.events()) == ["interrupted"]
        assert len(live.model.mains) == 1
        assert outcomes(live.turn("Go on")) == ["completed"]
        live.conforms()
