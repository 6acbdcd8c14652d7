"""Interrupts: wherever one comes, the turn ends, and the session takes the next message."""

from __future__ import annotations

import pytest

from tests.agents.live import Bench, Live, calls
from tests.agents.watch import done, ended, goes_on, heard, outcomes, says
from tests.testing.story import items, of_type, said, text

pytestmark = pytest.mark.needs("interrupt")

SLOW = "python3 -c 'import time; time.sleep(60)'"
"""A plain `sleep` is not run by every agent."""


def counting(bench: Bench) -> Live:
    """A session whose model is in the middle of an answer."""
    live = bench.session({"text": ["One ", "two ", "three"], "gate": "never"})
    live.send("Count")
    heard(live, says("two"))
    return live


@pytest.mark.needs("streamingDeltas")
def test_interrupt_while_streaming(bench: Bench) -> None:
    live = counting(bench)
    live.interrupt()
    heard(live, ended("interrupted"))
    (answer,) = items(live.events(), "message", "assistant")
    assert (text(answer), answer["status"]) == ("One two ", "failed")
    assert answer["reason"] == "interrupted"
    assert of_type(live.events(), "error") == []
    goes_on(live)


@pytest.mark.needs("streamingDeltas")
def test_interrupt_twice_ends_one_turn(bench: Bench) -> None:
    live = counting(bench)
    live.interrupt()
    live.interrupt()
    heard(live, ended("interrupted"))
    live.interrupt()
    assert outcomes(live.events()) == ["interrupted"]
    assert of_type(live.events(), "error") == []
    goes_on(live)


@pytest.mark.needs("commandExecution")
def test_interrupt_in_a_command(bench: Bench) -> None:
    live = bench.session(calls(bench.agent.shell(SLOW)), permissionMode="bypass")
    live.send("Sleep")
    heard(live, done("tool_call"))
    live.interrupt()
    heard(live, ended("interrupted"))
    (result,) = items(live.events(), "tool_result")
    assert (result["status"], result["reason"]) == ("failed", "interrupted")
    assert of_type(live.events(), "error") == []
    goes_on(live)


@pytest.mark.needs("commandExecution", "permissions")
def test_interrupt_while_asking_for_permission(bench: Bench) -> None:
    live = bench.session(calls(bench.agent.shell("touch never.txt")))
    live.send("Touch it")
    asked = live.until("permission.requested")
    live.interrupt()
    heard(live, ended("interrupted"))
    (resolved,) = of_type(live.events(), "permission.resolved")
    assert resolved["status"] == "reject"
    assert resolved["metadata"]["reason"] == "interrupt"
    (result,) = items(live.events(), "tool_result")
    assert (result["status"], result["reason"]) == ("failed", "interrupted")
    late = live.post(f"/permissions/{asked['data']['permission_id']}/reply", {"reply": "once"})
    assert late.status == 409
    assert not (live.workspace / "never.txt").exists()
    goes_on(live)


@pytest.mark.needs("questions")
def test_interrupt_while_a_question_is_open(bench: Bench) -> None:
    agent = bench.agent
    question = agent.ask(agent.question("colour", "Which?", "Red", "Blue"))
    live = bench.session(calls(question), permissionMode="bypass")
    live.send("Ask me")
    live.until("question.requested")
    live.interrupt()
    heard(live, ended("interrupted"))
    (resolved,) = of_type(live.events(), "question.resolved")
    assert resolved["status"] == "rejected"
    assert resolved["metadata"]["reason"] == "interrupt"
    goes_on(live)


def test_interrupt_when_idle_does_nothing(bench: Bench) -> None:
    live = bench.session("Hello.")
    live.turn("Hi")
    before = live.events()
    live.interrupt()
    assert live.events() == before
    goes_on(live)


def test_interrupt_right_after_sending(bench: Bench) -> None:
    live = bench.session({"text": "Too late.", "gate_before": "never"})
    live.send("Never mind")
    live.interrupt()
    heard(live, ended("interrupted"))
    (message,) = items(live.events(), "message", "user")
    assert text(message) == "Never mind"
    assert said(live.events()) == []
    goes_on(live)


def test_interrupt_right_after_sending_to_an_agent_that_runs(bench: Bench) -> None:
    live = bench.session("Hello.", {"text": "Too late.", "gate_before": "never"})
    live.turn("Hi")
    live.send("Never mind")
    live.interrupt()
    heard(live, ended("interrupted"))
    assert [text(item) for item in items(live.events(), "message", "user")] == ["Hi", "Never mind"]
    goes_on(live)
