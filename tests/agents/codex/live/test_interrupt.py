"""Interrupts: wherever one comes, the turn ends, and the session takes the next message."""

from __future__ import annotations

from tests.agents.codex.live.scripts import ask, calls, question, run
from tests.agents.codex.live.watch import goes_on, outcomes
from tests.agents.live import Bench
from tests.agents.watch import done, ended, heard, says
from tests.testing.story import items, of_type, said, text

SLOW = "sleep 60"


def test_interrupt_while_streaming(codex: Bench) -> None:
    live = codex.session({"text": ["One ", "two ", "three"], "gate": "never"})
    live.send("Count")
    heard(live, says("two"))
    live.interrupt()
    heard(live, ended("interrupted"))
    (answer,) = items(live.events(), "message", "assistant")
    assert (text(answer), answer["status"]) == ("One two ", "failed")
    assert answer["reason"] == "interrupted"
    assert of_type(live.events(), "error") == []
    goes_on(live)


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


def test_interrupt_in_a_command(codex: Bench) -> None:
    live = codex.session(calls(run(f"echo begun; {SLOW}")), permissionMode="bypass")
    live.send("Sleep")
    heard(live, done("tool_call"))
    live.interrupt()
    heard(live, ended("interrupted"))
    (result,) = items(live.events(), "tool_result")
    assert (result["status"], result["reason"]) == ("failed", "interrupted")
    assert of_type(live.events(), "error") == []
    goes_on(live)


def test_interrupt_while_asking_for_permission(codex: Bench) -> None:
    live = codex.session(calls(run("touch never.txt")))
    live.send("Touch it")
    live.until("permission.requested")
    live.interrupt()
    heard(live, ended("interrupted"))
    (resolved,) = of_type(live.events(), "permission.resolved")
    assert resolved["status"] == "reject"
    assert resolved["metadata"]["reason"] == "interrupt"
    (result,) = items(live.events(), "tool_result")
    assert (result["status"], result["reason"]) == ("failed", "interrupted")
    assert not (live.workspace / "never.txt").exists()
    goes_on(live)


def test_interrupt_while_a_question_is_open(codex: Bench) -> None:
    live = codex.session(calls(ask(question("colour", "Which?", "Red", "Blue"))))
    live.send("Ask me")
    live.until("question.requested")
    live.interrupt()
    heard(live, ended("interrupted"))
    (resolved,) = of_type(live.events(), "question.resolved")
    assert resolved["status"] == "rejected"
    assert resolved["metadata"]["reason"] == "interrupt"
    goes_on(live)


def test_interrupt_right_after_sending(codex: Bench) -> None:
    live = codex.session({"text": "Too late.", "gate_before": "never"})
    live.send("Never mind")
    live.interrupt()
    heard(live, ended("interrupted"))
    (message,) = items(live.events(), "message", "user")
    assert text(message) == "Never mind"
    assert said(live.events()) == []
    goes_on(live)


def test_interrupt_right_after_sending_in_a_thread_that_is_open(codex: Bench) -> None:
    live = codex.session("Hello.", {"text": "Too late.", "gate_before": "never"})
    live.turn("Hi")
    live.send("Never mind")
    live.interrupt()
    heard(live, ended("interrupted"))
    assert [text(item) for item in items(live.events(), "message", "user")] == ["Hi", "Never mind"]
    goes_on(live)


def test_interrupt_when_idle_does_nothing(codex: Bench) -> None:
    live = codex.session("Hello.")
    live.turn("Hi")
    before = live.events()
    live.interrupt()
    assert live.events() == before
    goes_on(live)


def test_interrupt_twice_ends_one_turn(codex: Bench) -> None:
    live = codex.session({"text": ["One ", "two ", "three"], "gate": "never"})
    live.send("Count")
    heard(live, says("two"))
    live.interrupt()
    live.interrupt()
    heard(live, ended("interrupted"))
    live.interrupt()
    assert outcomes(live.events()) == ["interrupted"]
    assert of_type(live.events(), "error") == []
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
