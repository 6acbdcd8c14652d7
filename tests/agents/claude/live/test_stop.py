"""Stopped in the middle: the agent does nothing more, and the turn was interrupted."""

from __future__ import annotations

from pathlib import Path

from dragoman.agents.claude import ADAPTER
from tests.agents.claude.live.conftest import environ
from tests.agents.claude.live.scripts import bash, calls
from tests.agents.claude.live.test_subagents import MAIN, SUBAGENT, agent
from tests.agents.live import Bench, Live, bench, chosen, command
from tests.agents.watch import done, ended, heard
from tests.daemon import running
from tests.testing.story import Event, items, of_type

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
    command(ADAPTER)
    with running(tmp_path / "data", env=chosen(ADAPTER)) as daemon, bench(
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


BESIDE = (
    {**calls(agent("Touch it")), "when": MAIN},
    {**calls(bash("touch one.txt")), "when": SUBAGENT},
    {"text": "Started.", "when": MAIN},
    {**calls(bash("touch two.txt")), "when": SUBAGENT},
    {"text": "Touched.", "when": SUBAGENT},
    {"text": "It is touched.", "when": MAIN, "times": 2},
)


def waits_beside(live: Live) -> Event:
    """The turn is over, and a subagent waits for a permission; the last event."""
    live.send("Have it touched")
    heard(live, lambda event: event["type"] == "permission.requested")
    heard(live, ended())
    return live.events()[-1]


def was_stopped(live: Live, since: Event, asked: int, reason: str) -> None:
    """What a subagent asked was taken back before anything else; then it did nothing more."""
    first, *others = live.since(since)
    assert (first["type"], first["data"]["metadata"]["reason"]) == ("permission.resolved", reason)
    later = {event["type"] for event in others}
    assert later <= {"item.started", "item.completed", "session.ended"}
    (refused,) = [i for i in items(others, "tool_result") if i.get("subagent_id")]
    assert (refused["status"], refused["reason"]) == ("failed", reason)
    assert len(live.model.requests) == asked
    assert list(live.workspace.iterdir()) == []


def test_terminate_stops_a_subagent_in_the_background_at_once(claude: Bench) -> None:
    live = claude.session(*BESIDE)
    before = waits_beside(live)
    asked = len(live.model.requests)
    live.terminate()
    assert live.conforms()[-1]["type"] == "session.ended"
    was_stopped(live, before, asked, "session_end")


def test_a_daemon_that_stops_stops_a_subagent_in_the_background(tmp_path: Path) -> None:
    command(ADAPTER)
    with running(tmp_path / "data", env=chosen(ADAPTER)) as daemon, bench(
        ADAPTER, environ, daemon, tmp_path, "stopped"
    ) as made:  # fmt: skip
        live = made.session(*BESIDE)
        before = waits_beside(live)
        asked = len(live.model.requests)
        daemon.stop()
        daemon.start()
        was_stopped(live, before, asked, "restart")
        live.conforms()
