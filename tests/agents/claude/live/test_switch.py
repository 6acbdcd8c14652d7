"""Model, effort and modes, switched in a running session and between processes."""

from __future__ import annotations

from typing import Any

from tests.agents.claude.live.scripts import tool
from tests.agents.live import Bench, Live, calls
from tests.agents.watch import kill
from tests.testing.story import of_type


def asked(live: Live, number: int) -> Any:
    """What the model was asked with the n-th request."""
    return live.model.mains[number - 1].body


def test_to_plan_in_a_running_session(claude: Bench) -> None:
    live = claude.session("One.", "Two.", "Three.")
    live.turn("1")
    assert live.patch(agentMode="plan")["agentMode"] == "plan"
    live.turn("2")
    assert live.info["agentMode"] == "plan"
    assert "Plan mode is active" in str(asked(live, 2))
    assert live.patch(agentMode="build")["agentMode"] == "build"
    live.turn("3")
    assert live.info["agentMode"] == "build"
    assert live.info["permissionMode"] == "default"
    live.conforms()


def test_who_stops_planning_works_as_before(claude: Bench) -> None:
    live = claude.session("One.", calls(tool("Write", file_path="a.txt", content="a")), "Written.")
    live.turn("1")
    live.patch(permissionMode="acceptEdits")
    live.patch(agentMode="plan")
    live.patch(agentMode="build")
    events = live.turn("Write it")
    assert of_type(events, "permission.requested") == []
    assert (live.workspace / "a.txt").exists()
    assert live.info["permissionMode"] == "acceptEdits"
    live.conforms()


def test_modes_that_follow_each_other_at_once_do_not_come_back(claude: Bench) -> None:
    live = claude.session("One.", "Two.")
    before = live.turn("1")[-1]
    live.patch(permissionMode="acceptEdits")
    live.patch(agentMode="plan")
    live.turn("2")
    updates = of_type(live.since(before), "session.updated")
    assert [update["mode"] for update in updates if "mode" in update] == ["plan"]
    modes = [update["permission_mode"] for update in updates if "permission_mode" in update]
    assert modes == ["acceptEdits", "plan"]
    live.conforms()


def test_a_plan_that_was_approved_is_left_for_good(claude: Bench) -> None:
    live = claude.session(calls(tool("ExitPlanMode")), "I begin.", "I go on.", agentMode="plan")
    live.send("Plan it")
    live.answer(live.until("question.requested"), ["Approve"])
    live.until("turn.ended")
    assert (live.info["agentMode"], live.info["permissionMode"]) == ("build", "default")
    kill(live)
    live.turn("Go on")
    assert (live.info["agentMode"], live.info["permissionMode"]) == ("build", "default")
    live.conforms()
