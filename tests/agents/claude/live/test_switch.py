"""Model, effort and modes, switched in a running session and between processes."""

from __future__ import annotations

from typing import Any

from tests.agents.claude.live.scripts import bash, calls, tool
from tests.agents.live import Bench, Live
from tests.agents.watch import heard, kill, says
from tests.testing.story import of_type, said


def asked(live: Live, number: int) -> Any:
    """What the model was asked with the n-th request."""
    return live.model.mains[number - 1].body


def test_the_model_of_a_running_session(claude: Bench) -> None:
    live = claude.session("One.", "Two.", model="opus")
    live.turn("1")
    assert live.patch(model="sonnet")["model"] == "sonnet"
    live.turn("2")
    assert "opus" in asked(live, 1)["model"]
    assert "sonnet" in asked(live, 2)["model"]
    assert "sonnet" in live.info["model"]
    live.conforms()


def test_an_effort_that_claude_does_not_know_is_refused(claude: Bench) -> None:
    """Before, it was accepted, and the next turn failed or took no notice of it."""
    live = claude.session("One.")
    for method, path, body in (
        ("PATCH", f"/sessions/{live.id}", {"variant": "huge"}),
        ("POST", "/sessions", {"agent": "claude", "variant": "huge"}),
    ):
        refused = live.daemon.request(method, path, body)
        assert (refused.status, refused.json["details"]["field"]) == (400, "variant")
        assert "known: low, medium, high" in refused.json["detail"]


def test_the_effort_of_a_running_session(claude: Bench) -> None:
    live = claude.session("One.", "Two.", model="opus", variant="low")
    live.turn("1")
    assert live.patch(variant="high")["variant"] == "high"
    live.turn("2")
    assert asked(live, 1)["output_config"]["effort"] == "low"
    assert asked(live, 2)["output_config"]["effort"] == "high"
    live.conforms()


def test_the_permission_mode_of_a_running_session(claude: Bench) -> None:
    live = claude.session(
        "One.", calls(tool("Write", file_path="a.txt", content="a\n")), "Written."
    )
    live.turn("1")
    assert live.patch(permissionMode="acceptEdits")["permissionMode"] == "acceptEdits"
    events = live.turn("Write it")
    assert of_type(events, "permission.requested") == []
    assert (live.workspace / "a.txt").read_text() == "a\n"
    assert live.info["permissionMode"] == "acceptEdits"
    live.conforms()


def test_bypass_in_a_running_session_answers_by_itself(claude: Bench) -> None:
    live = claude.session("One.", calls(bash("touch a.txt")), "Touched.", "Two.")
    live.turn("1")
    assert live.patch(permissionMode="bypass")["permissionMode"] == "bypass"
    events = live.turn("Touch it")
    (resolved,) = of_type(events, "permission.resolved")
    assert (resolved["status"], resolved["approver"]["rule"]) == ("accept", "mode:bypass")
    assert (live.workspace / "a.txt").exists()
    assert live.info["permissionMode"] == "bypass"
    live.turn("2")
    assert live.info["permissionMode"] == "bypass"
    live.conforms()


def test_bypass_is_left_again_in_a_running_session(claude: Bench) -> None:
    live = claude.session("One.", calls(bash("touch a.txt")), "No.")
    live.turn("1")
    live.patch(permissionMode="bypass")
    live.patch(permissionMode="default")
    live.send("Touch it")
    live.reply(live.until("permission.requested"), "reject")
    live.until("turn.ended")
    assert not (live.workspace / "a.txt").exists()
    live.conforms()


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


def test_what_is_switched_before_the_first_message(claude: Bench) -> None:
    live = claude.session(calls(bash("touch a.txt")), "Done.")
    live.patch(model="sonnet", variant="high", permissionMode="bypass")
    events = live.turn("Touch it")
    assert of_type(events, "permission.requested") == []
    assert "sonnet" in asked(live, 1)["model"]
    assert asked(live, 1)["output_config"]["effort"] == "high"
    assert (live.workspace / "a.txt").exists()
    live.conforms()


def test_the_model_in_the_middle_of_a_turn(claude: Bench) -> None:
    live = claude.session({"text": ["One ", "two"], "gate": "rest"}, "Two.")
    live.send("1")
    heard(live, says("One"))
    live.patch(model="sonnet")
    live.model.open("rest")
    live.until("turn.ended")
    assert said(live.turn("2")) == ["Two."]
    assert "sonnet" in asked(live, 2)["model"]
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
