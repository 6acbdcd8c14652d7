"""Stopped while a subagent works in the background: it does nothing more."""

from __future__ import annotations

from pathlib import Path

from tests.agents.claude.live.agent import CLAUDE
from tests.agents.claude.live.scripts import bash
from tests.agents.claude.live.test_subagents import MAIN, SUBAGENT, agent
from tests.agents.live import Bench, Live, alone, calls
from tests.agents.watch import ended, heard
from tests.testing.story import Event, items

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
    with alone(CLAUDE, tmp_path, *BESIDE) as live:
        before = waits_beside(live)
        asked = len(live.model.requests)
        live.daemon.stop()
        live.daemon.start()
        was_stopped(live, before, asked, "restart")
        live.conforms()
