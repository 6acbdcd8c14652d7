"""Requests that a shared process answers too late, or never."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.daemon import Daemon
from tests.shared_agent import house
from tests.testing.story import Talk, of_type, outcome, said


def restarts(daemon: Daemon) -> int:
    agents = {each["id"]: each for each in daemon.get("/agents")["agents"]}
    count: int = agents["shared"]["serverStatus"]["restartCount"]
    return count


@pytest.mark.parametrize("silence", ["mute", "late"])
def test_what_is_not_answered_in_time_costs_its_own_turn_and_no_other(
    tmp_path: Path, silence: str
) -> None:
    with house(tmp_path) as daemon:
        costs_one_turn(daemon, silence)


def costs_one_turn(daemon: Daemon, silence: str) -> None:
    talk, other = Talk(daemon, agent="shared"), Talk(daemon, agent="shared")
    other.send("wait for it")
    other.until("item.delta")
    for _ in range(2):
        turn = talk.turn(silence)
        assert outcome(turn) == "failed"
        assert [error["message"] for error in of_type(turn, "error")] == ["no answer in time"]
    for words in ("la", "lo"):
        turn = talk.turn(f"say {words}")  # before it the agent may answer what it owes
        assert outcome(turn) == "completed"
        assert said(turn) == [words]
    other.interrupt()
    assert other.until("turn.ended")["data"]["outcome"] == "interrupted"
    for each in (talk, other):
        each.conforms()
    assert restarts(daemon) == 0
    logs = (daemon.data_dir / "stderr").glob("server+*")
    late = sum(path.read_text().count("dragoman-") for path in logs)
    assert late == (2 if silence == "late" else 0), "what came too late is kept"


def test_a_turn_that_never_began_is_called_off_and_the_next_one_is_fine(tmp_path: Path) -> None:
    with house(tmp_path, DRAGOMAN_TURN_TIMEOUT_S="0.3") as daemon:
        talk = Talk(daemon, agent="shared")
        turn = talk.turn("late")
        assert outcome(turn) == "interrupted"
        assert [error["code"] for error in of_type(turn, "error")] == ["turn_timeout"]
        assert said(talk.turn("say la")) == ["la"]
        talk.conforms()
        assert restarts(daemon) == 0
