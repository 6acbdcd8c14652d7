"""A session whose agent takes its time to come up says so."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.test_old_versions import CLAUDE, HOOKS, KNOWN, SUBAGENTS
from tests.cases.common import eventually
from tests.daemon import Daemon, running
from tests.installable_agent import executable


class Slow:
    """A daemon whose Claude Code is silent until it is let go on."""

    def __init__(self, daemon: Daemon, gate: Path) -> None:
        self.daemon = daemon
        self._gate = gate

    def go_on(self) -> None:
        """Let the agent come up."""
        self._gate.write_text("go\n")

    def listed(self, status: str) -> list[str]:
        """The sessions of a status."""
        found = self.daemon.get(f"/sessions?status={status}")["sessions"]
        assert all(each["status"] == status for each in found)
        return sorted(each["sessionId"] for each in found)


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Slow]:
    """Its agent has been started, and has not said a word."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    flags = (*KNOWN, HOOKS, SUBAGENTS)
    text = CLAUDE.format(python=sys.executable, version="9.0.0", flags=flags)
    claude = executable(tmp_path / "claude", text)
    wait = f'read line < {shlex.quote(str(gate))}; exec {shlex.quote(str(claude))} "$@"'
    command = shlex.join(["sh", "-c", wait, "claude"])
    with running(tmp_path / "data", env={"DRAGOMAN_CLAUDE_COMMAND": command}) as daemon:
        daemon.create("slow", agent="claude")
        daemon.create("other")
        daemon.send("slow", "Hello")
        eventually(
            lambda: daemon.get("/sessions/slow")["status"] == "starting", "its agent is started"
        )
        yield Slow(daemon, gate)


def test_a_session_whose_agent_comes_up_is_starting(slow: Slow) -> None:
    """Before, it was idle with a message that waits, for as long as the agent took."""
    info = slow.daemon.get("/sessions/slow")
    assert (info["status"], info["pendingCount"]) == ("starting", 1)
    assert (slow.listed("starting"), slow.listed("idle")) == (["slow"], ["other"])
    counts = slow.daemon.get("/status")["sessions"]
    assert counts == {"idle": 1, "starting": 1, "running": 0, "waiting": 0, "ended": 0}
    slow.go_on()
    slow.daemon.wait_for("slow", "turn.ended")
    assert slow.daemon.get("/sessions/slow")["status"] == "idle"
    assert slow.listed("starting") == []


def test_a_session_that_is_starting_can_be_ended(slow: Slow) -> None:
    assert slow.daemon.request("POST", "/sessions/slow/terminate").status == 204
    assert slow.daemon.get("/sessions/slow")["status"] == "ended"
