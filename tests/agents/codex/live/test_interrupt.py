"""Interrupts in what only Codex has, or streams."""

from __future__ import annotations

from tests.agents.codex.live.scripts import run
from tests.agents.live import Bench, calls
from tests.agents.watch import done, ended, goes_on, heard, says
from tests.testing.story import items

SLOW = "sleep 60"


def test_interrupt_in_a_thought(codex: Bench) -> None:
    live = codex.session(
        {"blocks": [{"thinking": ["Let ", "me ", "see"]}, {"text": "No."}], "gate": "never"}
    )
    live.send("Think")
    heard(live, says("me "))
    live.interrupt()
    heard(live, ended("interrupted"))
    assert {item["status"] for item in items(live.events(), "message", "assistant")} <= {
        "failed", "completed"
    }  # fmt: skip
    goes_on(live)


def test_interrupt_while_two_commands_run(codex: Bench) -> None:
    live = codex.session(calls(run(SLOW), run(f"{SLOW} 1")), permissionMode="bypass")
    live.send("Sleep")
    first = heard(live, done("tool_call"))
    heard(live, done("tool_call"), after=first)
    live.interrupt()
    heard(live, ended("interrupted"))
    results = items(live.events(), "tool_result")
    assert [result["status"] for result in results] == ["failed", "failed"]
    goes_on(live)


def test_interrupt_in_a_review(codex: Bench) -> None:
    live = codex.session({"text": ['{"findings": [], ', '"more": ', "1}"], "gate": "never"})
    live.send("/review")
    live.model.wait_for_request()
    live.interrupt()
    end = heard(live, ended("interrupted"))
    assert "duration_ms" in end["data"]["metadata"]  # Codex says so itself
    goes_on(live)


def test_interrupt_right_after_a_review_was_sent(codex: Bench) -> None:
    live = codex.session("Hello.", {"text": "Too late.", "gate_before": "never"})
    live.turn("Hi")
    live.send("/review")
    live.interrupt()
    end = heard(live, ended("interrupted"))
    assert "duration_ms" in end["data"]["metadata"]
    goes_on(live)
