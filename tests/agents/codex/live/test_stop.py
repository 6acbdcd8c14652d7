"""Stopped in the middle: the agent does nothing more, and the turn was interrupted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dragoman.agents.codex import ADAPTER
from tests.agents.codex.live.scripts import calls, configured, run
from tests.agents.codex.live.watch import outcomes, servers
from tests.agents.live import Bench, Live, bench, chosen, command
from tests.agents.watch import done, heard
from tests.cases.common import eventually
from tests.daemon import running
from tests.testing.story import items, lives, of_type, said

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


def waiting(live: Live) -> list[int]:
    """The commands that wait in the session's workspace."""
    here = str(live.workspace)
    return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
            if lives(pid) and _stands_in(pid, here) and b"gone.txt" in _words(pid)]  # fmt: skip


def _stands_in(pid: int, folder: str) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/cwd") == folder
    except OSError:
        return False


def _words(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize("mode", ["default", "bypass"])
def test_terminate_ends_what_the_server_has_started_for_the_session(
    codex: Bench, mode: str
) -> None:
    live = codex.session("I wait.", calls(run(WAIT)), "Done.", permissionMode=mode)
    other = codex.another(live.model, folder=live.folder)
    other.turn("Stay here")
    live.send("Go")
    if mode == "default":
        live.reply(live.until("permission.requested"), "once")
    eventually(lambda: bool(waiting(live)), "the command runs")
    live.terminate()
    assert waiting(live) == []
    assert live.events()[-1]["type"] == "session.ended"
    live.conforms()
    other.conforms()


def test_an_interrupt_ends_the_commands_of_the_turn(codex: Bench) -> None:
    live = codex.session(calls(run(WAIT, yield_time_ms=300)), "Done.", permissionMode="bypass")
    live.send("Go")
    eventually(lambda: bool(waiting(live)), "the command runs")
    live.interrupt()
    live.until("turn.ended")
    eventually(lambda: not waiting(live), "the command ends")
    (live.workspace / "go").touch()
    live.model.script("Here I am.")
    assert said(live.turn("Still there?")) == ["Here I am."]
    assert not (live.workspace / "gone.txt").exists()
    live.conforms()


def test_a_daemon_that_stops_withdraws_what_is_asked(tmp_path: Path) -> None:
    command(ADAPTER)
    with running(tmp_path / "data", env=chosen(ADAPTER)) as daemon, bench(
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
