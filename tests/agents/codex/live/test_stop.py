"""Stopped in the middle: the agent does nothing more, and the turn was interrupted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.agents.codex.live.scripts import run
from tests.agents.live import Bench, Live, calls
from tests.cases.common import eventually
from tests.testing.story import lives, said

WAIT = "while [ ! -e go ]; do sleep .01; done; touch gone.txt"


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
