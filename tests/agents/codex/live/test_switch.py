"""What a session is switched to between turns, as it reaches the model and the sandbox."""

from __future__ import annotations

from typing import Any

from tests.agents.codex.live.scripts import added, calls, patch, proposed, run
from tests.agents.codex.live.watch import kill
from tests.agents.live import Bench, Live
from tests.agents.watch import heard, says
from tests.testing.story import items, of_type, outcome, parts, said


def asked(live: Live, number: int) -> Any:
    """What the model was asked with the n-th request."""
    return live.model.mains[number - 1].body


def effort(live: Live, number: int) -> Any:
    return (asked(live, number).get("reasoning") or {}).get("effort")


def test_a_session_begins_with_its_model_and_effort(codex: Bench) -> None:
    live = codex.session("One.", model="gpt-5.4", variant="high")
    live.turn("1")
    assert asked(live, 1)["model"] == "gpt-5.4"
    assert effort(live, 1) == "high"
    assert (live.info["model"], live.info["variant"]) == ("gpt-5.4", "high")
    live.conforms()


def test_the_model_of_a_running_session(codex: Bench) -> None:
    live = codex.session("One.", "Two.", "Three.")
    live.turn("1")
    assert live.info["model"] == "gpt-5.5"
    assert live.patch(model="gpt-5.4")["model"] == "gpt-5.4"
    live.turn("2")
    live.turn("3")
    assert [asked(live, n)["model"] for n in (1, 2, 3)] == ["gpt-5.5", "gpt-5.4", "gpt-5.4"]
    assert live.info["model"] == "gpt-5.4"
    live.conforms()


def test_an_effort_that_codex_does_not_know_is_refused(codex: Bench) -> None:
    """Before, it was accepted, and the next turn failed or took no notice of it."""
    live = codex.session("One.")
    for method, path, body in (
        ("PATCH", f"/sessions/{live.id}", {"variant": "huge"}),
        ("POST", "/sessions", {"agent": "codex", "variant": "huge"}),
    ):
        refused = live.daemon.request(method, path, body)
        assert (refused.status, refused.json["details"]["field"]) == (400, "variant")
        assert "known: low, medium, high" in refused.json["detail"]


def test_the_effort_of_a_running_session(codex: Bench) -> None:
    live = codex.session("One.", "Two.", variant="low")
    live.turn("1")
    assert live.patch(variant="high")["variant"] == "high"
    live.turn("2")
    assert (effort(live, 1), effort(live, 2)) == ("low", "high")
    assert live.info["variant"] == "high"
    live.conforms()


def test_model_and_effort_outlive_the_server(codex: Bench) -> None:
    live = codex.session("One.", "Two.")
    live.turn("1")
    live.patch(model="gpt-5.4", variant="high")
    kill(live)
    live.turn("2")
    assert asked(live, 2)["model"] == "gpt-5.4"
    assert effort(live, 2) == "high"
    live.conforms()


def test_bypass_in_a_running_session_is_asked_for_nothing(codex: Bench) -> None:
    live = codex.session("One.", calls(run("touch ../outside.txt")), "Touched.")
    live.turn("1")
    assert live.patch(permissionMode="bypass")["permissionMode"] == "bypass"
    events = live.turn("Touch it")
    assert of_type(events, "permission.requested") == []
    assert (live.folder / "outside.txt").exists()
    assert live.info["permissionMode"] == "bypass"
    live.conforms()


def test_bypass_is_left_again_in_a_running_session(codex: Bench) -> None:
    live = codex.session("One.", calls(run("touch a.txt")), "No.", permissionMode="bypass")
    live.turn("1")
    live.patch(permissionMode="default")
    live.send("Touch it")
    live.reply(live.until("permission.requested"), "reject")
    live.until("turn.ended")
    assert not (live.workspace / "a.txt").exists()
    live.conforms()


def test_to_accept_edits_in_a_running_session(codex: Bench) -> None:
    live = codex.session("One.", calls(patch(added("a.txt", "a"))), "Written.")
    live.turn("1")
    assert live.patch(permissionMode="acceptEdits")["permissionMode"] == "acceptEdits"
    events = live.turn("Write it")
    (resolved,) = of_type(events, "permission.resolved")
    assert resolved["approver"]["rule"] == "mode:acceptEdits"
    assert (live.workspace / "a.txt").read_text() == "a\n"
    live.conforms()


def test_to_plan_and_back_in_a_running_session(codex: Bench) -> None:
    live = codex.session(
        "One.",
        proposed("# The plan"),
        calls(run("touch b.txt")),
        "Built.",
    )
    live.turn("1")
    assert live.patch(agentMode="plan")["agentMode"] == "plan"
    plan = live.turn("2")
    assert "Plan Mode" in str(asked(live, 2))
    (proposal,) = [item for item in items(plan, "message") if item.get("phase") == "plan"]
    assert "# The plan" in parts(proposal, "text")[0]["text"]
    assert live.info["agentMode"] == "plan"
    assert live.patch(agentMode="build")["agentMode"] == "build"
    live.send("3")
    live.reply(live.until("permission.requested"), "once")
    live.until("turn.ended")
    assert (live.workspace / "b.txt").exists()
    assert live.info["agentMode"] == "build"
    live.conforms()


def test_a_session_that_plans_changes_nothing(codex: Bench) -> None:
    live = codex.session(calls(run("touch a.txt")), "I could not.", agentMode="plan")
    live.turn("Touch it")
    assert not (live.workspace / "a.txt").exists()
    live.conforms()


def test_a_session_that_plans_still_plans_after_its_server_died(codex: Bench) -> None:
    live = codex.session("One.", calls(run("touch a.txt")), "I could not.", agentMode="plan")
    live.turn("1")
    kill(live)
    live.turn("Touch it")
    assert "Plan Mode" in str(asked(live, 2))
    assert not (live.workspace / "a.txt").exists()
    live.conforms()


def test_who_stops_planning_after_the_server_died_works_again(codex: Bench) -> None:
    live = codex.session("One.", calls(run("touch a.txt")), "Done.", agentMode="plan")
    live.turn("1")
    live.patch(agentMode="build")
    kill(live)
    live.send("Touch it")
    live.reply(live.until("permission.requested"), "once")
    live.until("turn.ended")
    assert (live.workspace / "a.txt").exists()
    last = [m for m in asked(live, 2)["input"] if m.get("role") == "developer"][-1]
    assert "Plan Mode" not in str(last) or "Default" in str(last)
    live.conforms()


def test_what_is_switched_before_the_first_message(codex: Bench) -> None:
    live = codex.session(calls(run("touch a.txt")), "Done.")
    live.patch(model="gpt-5.4", variant="high", permissionMode="bypass")
    events = live.turn("Touch it")
    assert of_type(events, "permission.requested") == []
    assert asked(live, 1)["model"] == "gpt-5.4"
    assert effort(live, 1) == "high"
    assert (live.workspace / "a.txt").exists()
    live.conforms()


def test_what_is_switched_while_there_is_no_server(codex: Bench) -> None:
    live = codex.session("One.", "Two.")
    live.turn("1")
    kill(live)
    live.patch(model="gpt-5.4", variant="high")
    live.turn("2")
    assert asked(live, 2)["model"] == "gpt-5.4"
    assert effort(live, 2) == "high"
    live.conforms()


def test_the_model_in_the_middle_of_a_turn(codex: Bench) -> None:
    live = codex.session({"text": ["One ", "two"], "gate": "rest"}, "Two.")
    live.send("1")
    heard(live, says("One"))
    live.patch(model="gpt-5.4")
    live.model.open("rest")
    live.until("turn.ended")
    assert said(live.turn("2")) == ["Two."]
    assert [asked(live, n)["model"] for n in (1, 2)] == ["gpt-5.5", "gpt-5.4"]
    live.conforms()


def test_a_session_works_in_its_directory(codex: Bench) -> None:
    live = codex.session(calls(run("pwd")), "There.", permissionMode="bypass")
    events = live.turn("Where?")
    (result,) = items(events, "tool_result")
    assert parts(result, "tool_result")[0]["output"].strip() == str(live.workspace)
    assert outcome(events) == "completed"
    live.conforms()
