"""Subagents of the real Claude Code: in a turn, beside it, and after it."""

from __future__ import annotations

from typing import Any

from tests.agents.claude.live.scripts import bash, tool
from tests.agents.live import Bench, calls
from tests.agents.watch import done, ended, heard, kill, labelled, labels, says
from tests.testing.story import Event, Item, items, of_type, outcome, said, text

SUBAGENT = {"subagent": True}
MAIN = {"subagent": False}


def agent(prompt: str = "Look around", **given: Any) -> dict[str, Any]:
    """A call that starts a subagent."""
    return tool("Agent", description="A small job", prompt=prompt,
                subagent_type="general-purpose", **given)  # fmt: skip


def of_subagents(events: list[Event]) -> list[Item]:
    return [item for item in items(events) if item.get("subagent_id")]


def test_a_subagent_in_the_foreground_works_inside_the_turn(claude: Bench) -> None:
    live = claude.session(
        {**calls(agent(run_in_background=False), text="I will ask."), "when": MAIN},
        {**calls(bash("echo inside"), text="Looking."), "when": SUBAGENT},
        {"text": "All is well.", "when": SUBAGENT},
        {"text": "It says all is well.", "when": MAIN},
    )
    events = live.turn("Ask somebody")
    call = next(
        item for item in items(events, "tool_call") if item["content"][0]["name"] == "Agent"
    )
    inner = of_subagents(events)
    assert len({item["subagent_id"] for item in inner}) == 1
    messages = [item for item in inner if item["kind"] == "message"]
    assert [text(item) for item in messages] == ["Looking.", "All is well."]
    assert {item["parent_id"] for item in messages} == {call["item_id"]}
    shell = next(item for item in inner if item["kind"] == "tool_call")
    result = next(item for item in inner if item["kind"] == "tool_result")
    assert shell["parent_id"] == result["parent_id"] == messages[0]["item_id"]
    assert result["content"][0]["output"] == "inside"
    given_back = next(item for item in items(events, "tool_result") if item not in inner)
    assert given_back["content"][0]["call_id"] == call["content"][0]["call_id"]
    assert "All is well." in given_back["content"][0]["output"]
    assert said(events)[-1] == "It says all is well."
    assert outcome(events) == "completed"
    live.conforms()


def test_a_subagent_in_the_background_starts_a_turn_when_it_is_done(claude: Bench) -> None:
    live = claude.session(
        {**calls(agent(), text="I send somebody."), "when": MAIN},
        {"text": "They are at work.", "when": MAIN},
        {"text": "I found it.", "when": SUBAGENT, "gate_before": "found"},
        {"text": "They found it.", "when": MAIN},
    )
    first = live.turn("Find it")
    assert said(first) == ["I send somebody.", "They are at work."]
    opened = heard(live, labelled("subagent", "item.started"))
    assert not any(item["item_id"] == opened["data"]["item"]["item_id"] for item in items(first))
    live.model.open("found")
    second = live.until("turn.started")
    live.until("turn.ended")
    events = live.since(second)
    assert said(events) == ["They found it."]
    assert items(events, "message", "user") == []
    late = [event for event in live.events() if first[-1]["sequence"] < event["sequence"]]
    (word,) = [item for item in of_subagents(late) if item["kind"] == "message"]
    assert text(word) == "I found it."
    closed = next(item for item in items(late, "status") if "subagent" in labels(item))
    assert closed["item_id"] == opened["data"]["item"]["item_id"]
    live.conforms()


def test_a_permission_of_a_subagent_outlives_the_turn(claude: Bench) -> None:
    live = claude.session(
        {**calls(agent("Touch it")), "when": MAIN},
        {**calls(bash("touch sub.txt")), "when": SUBAGENT},
        {"text": "Started.", "when": MAIN},
        {"text": "Touched.", "when": SUBAGENT},
        {"text": "It is touched.", "when": MAIN},
    )
    live.send("Have it touched")
    asked = heard(live, lambda event: event["type"] == "permission.requested")
    over = heard(live, ended())
    assert of_type(live.events(), "permission.resolved") == []
    assert live.info["status"] == "waiting"
    assert asked["data"]["metadata"]["subagent_id"]
    live.reply(asked, "once")
    touched = heard(live, done("tool_result", exit_code=0), after=over)
    assert touched["data"]["item"]["subagent_id"] == asked["data"]["metadata"]["subagent_id"]
    heard(live, ended(), after=touched)
    assert (live.workspace / "sub.txt").exists()
    assert said(live.since(touched)) == ["Touched.", "It is touched."]
    live.conforms()


def test_several_subagents_are_told_apart(claude: Bench) -> None:
    live = claude.session(
        {**calls(agent("Count apples"), agent("Count pears")), "when": MAIN},
        {"text": "Both are counting.", "when": MAIN},
        {"text": "Three apples.", "when": {**SUBAGENT, "contains": "apples"}, "gate_before": "a"},
        {"text": "Five pears.", "when": {**SUBAGENT, "contains": "pears"}, "gate_before": "p"},
        {"text": "Noted.", "when": MAIN, "times": 2},
    )
    over = live.turn("Count")[-1]
    live.model.open("p")
    pears = heard(live, labelled("subagent"), after=over)
    next_over = heard(live, ended(), after=pears)
    live.model.open("a")
    apples = heard(live, labelled("subagent"), after=next_over)
    heard(live, ended(), after=apples)
    words = {item["subagent_id"]: text(item) for item in of_subagents(live.events())
             if item["kind"] == "message"}  # fmt: skip
    assert words[pears["data"]["item"]["subagent_id"]] == "Five pears."
    assert words[apples["data"]["item"]["subagent_id"]] == "Three apples."
    started = {item["item_id"] for item in items(live.events(), "tool_call")}
    assert {item["parent_id"] for item in of_subagents(live.events())} == started
    live.conforms()


def test_the_tokens_of_a_subagent_count_in_the_turn(claude: Bench) -> None:
    live = claude.session(
        {
            **calls(agent(run_in_background=False)),
            "when": MAIN,
            "usage": {"input": 10, "output": 1},
        },
        {"text": "Done.", "when": SUBAGENT, "usage": {"input": 200, "output": 20}},
        {"text": "Good.", "when": MAIN, "usage": {"input": 3000, "output": 300}},
    )
    (end,) = of_type(live.turn("Go"), "turn.ended")
    assert end["usage"]["input_tokens"] == 3210
    assert end["usage"]["output_tokens"] == 321
    assert live.info["usage"]["input_tokens"] == 3210
    live.conforms()


def test_an_interrupt_takes_back_what_a_subagent_asks(claude: Bench) -> None:
    live = claude.session(
        {**calls(agent(run_in_background=False)), "when": MAIN},
        {**calls(bash("touch never.txt")), "when": SUBAGENT},
        {"text": "Here I am.", "when": MAIN},
    )
    live.send("Ask somebody")
    live.until("permission.requested")
    live.interrupt()
    heard(live, ended("interrupted"))
    (resolved,) = of_type(live.events(), "permission.resolved")
    assert resolved["metadata"]["reason"] == "interrupt"
    assert {item["status"] for item in items(live.events(), "tool_result")} == {"failed"}
    assert said(live.turn("Go on")) == ["Here I am."]
    live.conforms()


def test_an_interrupt_stops_subagents_in_the_background(claude: Bench) -> None:
    live = claude.session(
        {**calls(agent()), "when": MAIN},
        {"text": ["They ", "look ", "now"], "when": MAIN, "gate": "never"},
        {"text": "Never.", "when": SUBAGENT, "gate_before": "never"},
        {"text": "Here I am.", "when": MAIN},
    )
    live.send("Find it")
    heard(live, says("look "))
    live.interrupt()
    heard(live, ended("interrupted"))
    (stopped,) = [i for i in items(live.events(), "status") if labels(i) == ["subagent"]]
    assert (stopped["status"], stopped["reason"]) == ("failed", "stopped")
    assert said(live.turn("Go on")) == ["Here I am."]
    live.conforms()


def test_a_subagent_ends_with_the_process(claude: Bench) -> None:
    live = claude.session(
        {**calls(agent("Touch it")), "when": MAIN},
        {**calls(bash("touch never.txt")), "when": SUBAGENT},
        {"text": "Started.", "when": MAIN},
        {"text": "Here I am.", "when": MAIN},
    )
    live.send("Have it touched")
    heard(live, lambda event: event["type"] == "permission.requested")
    over = heard(live, ended())
    kill(live)
    stopped = heard(live, labelled("subagent"), after=over)["data"]["item"]
    assert (stopped["status"], stopped["reason"]) == ("failed", "process_exit")
    (resolved,) = of_type(live.events(), "permission.resolved")
    assert resolved["metadata"]["reason"] == "process_exit"
    assert of_type(live.events(), "error") == []
    assert said(live.turn("Go on")) == ["Here I am."]
    live.conforms()
