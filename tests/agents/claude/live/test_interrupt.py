"""Interrupts: wherever one comes, the turn ends, and the session takes the next message."""

from __future__ import annotations

from tests.agents.claude.live.scripts import bash, calls, tool
from tests.agents.live import Bench, Live
from tests.agents.watch import ended, heard, says
from tests.testing.story import items, of_type, outcome, said, text

SLOW = "python3 -c 'import time; time.sleep(60)'"


def goes_on(live: Live) -> None:
    """The next message is answered."""
    events = live.turn("Go on")
    assert said(events) == ["Here I am."]
    assert outcome(events) == "completed"
    live.conforms()


def test_interrupt_while_streaming(claude: Bench) -> None:
    live = claude.session({"text": ["One ", "two ", "three"], "gate": "never"}, "Here I am.")
    live.send("Count")
    heard(live, says("two"))
    live.interrupt()
    heard(live, ended("interrupted"))
    (answer,) = items(live.events(), "message", "assistant")
    assert (text(answer), answer["status"]) == ("One two ", "failed")
    assert answer["reason"] == "interrupted"
    assert of_type(live.events(), "error") == []
    goes_on(live)


def test_interrupt_in_the_arguments_of_a_tool(claude: Bench) -> None:
    live = claude.session(
        {**calls(bash("touch a_file_with_a_long_name"), text="Let me."), "gate": "never"},
        "Here I am.",
    )
    live.send("Touch it")
    heard(live, lambda event: event["data"].get("content_type") == "arguments")
    live.interrupt()
    heard(live, ended("interrupted"))
    (answer,) = items(live.events(), "message", "assistant")
    (call,) = items(live.events(), "tool_call")
    assert (text(answer), answer["status"]) == ("Let me.", "failed")
    assert (answer["reason"], call["reason"]) == ("interrupted", "interrupted")
    assert "stop_reason" not in answer
    goes_on(live)


def test_interrupt_in_a_tool(claude: Bench) -> None:
    live = claude.session(calls(bash(SLOW)), "Here I am.", permissionMode="bypass")
    live.send("Sleep")
    heard(live, lambda event: event["type"] == "item.completed"
          and event["data"]["item"]["kind"] == "tool_call")  # fmt: skip
    live.interrupt()
    heard(live, ended("interrupted"))
    (result,) = items(live.events(), "tool_result")
    assert (result["status"], result["reason"]) == ("failed", "interrupted")
    goes_on(live)


def test_interrupt_while_asking_for_permission(claude: Bench) -> None:
    live = claude.session(calls(bash("touch never.txt")), "Here I am.")
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


def test_interrupt_while_a_question_is_open(claude: Bench) -> None:
    options = [{"label": "Red", "description": ""}, {"label": "Blue", "description": ""}]
    asking = tool("AskUserQuestion", questions=[
        {"question": "Which?", "header": "Colour", "options": options, "multiSelect": False}
    ])  # fmt: skip
    live = claude.session(calls(asking), "Here I am.")
    live.send("Ask me")
    live.until("question.requested")
    live.interrupt()
    heard(live, ended("interrupted"))
    (resolved,) = of_type(live.events(), "question.resolved")
    assert resolved["status"] == "rejected"
    assert resolved["metadata"]["reason"] == "interrupt"
    goes_on(live)


def test_interrupt_when_idle_does_nothing(claude: Bench) -> None:
    live = claude.session("Hello.", "Here I am.")
    live.turn("Hi")
    before = live.events()
    live.interrupt()
    assert live.events() == before
    goes_on(live)


def test_interrupt_right_after_sending(claude: Bench) -> None:
    live = claude.session({"text": "Too late.", "gate_before": "never"}, "Here I am.")
    live.send("Never mind")
    live.interrupt()
    heard(live, ended("interrupted"))
    (message,) = items(live.events(), "message", "user")
    assert text(message) == "Never mind"
    live.model.script("Here I am.")
    goes_on(live)
