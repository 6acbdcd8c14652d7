"""What a session is switched to between turns, as it reaches the model and the sandbox."""

from __future__ import annotations

from typing import Any

from tests.agents.codex.live.scripts import proposed, run
from tests.agents.live import Bench, Live, calls
from tests.agents.watch import kill
from tests.testing.story import items, parts


def asked(live: Live, number: int) -> Any:
    """What the model was asked with the n-th request."""
    return live.model.mains[number - 1].body


def effort(live: Live, number: int) -> Any:
    return (asked(live, number).get("reasoning") or {}).get("effort")


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
