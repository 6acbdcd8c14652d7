"""Subagents of the real Codex: threads of their own, in a turn, beside it, and after it."""

from __future__ import annotations

from typing import Any

from tests.agents.codex.live.scripts import configured, run, spawn, spawn_v1, tool, wait
from tests.agents.live import Bench, calls
from tests.agents.watch import (
    done,
    ended,
    goes_on,
    heard,
    kill,
    labelled,
    labels,
    outcomes,
    says,
    statuses,
)
from tests.testing.story import Event, Item, items, of_type, outcome, parts, said, text

SUBAGENT = {"subagent": True}
MAIN = {"subagent": False}
OLD = configured({"features.multi_agent_v2": False})


def named(name: str) -> dict[str, Any]:
    """Requests of the agent with this path."""
    return {"header": {"x-codex-turn-metadata": f'"agent_name":"{name}",'}}


def of_subagents(events: list[Event]) -> list[Item]:
    return [item for item in items(events) if item.get("subagent_id")]


def main_words(events: list[Event]) -> list[str]:
    messages = items(events, "message", "assistant")
    return [text(item) for item in messages if not item.get("subagent_id")]


def asks(event: Event) -> bool:
    return bool(event["type"] == "permission.requested")


def assert_beneath(inner: list[Item], start: str) -> None:
    """A subagent's messages are under what started it, its tools under its own messages."""
    tools = [item for item in inner if item["kind"] in ("tool_call", "tool_result")]
    (looking,) = [item for item in inner if text(item) == "Looking."]
    assert {item["parent_id"] for item in tools} == {looking["item_id"]}
    assert {item["parent_id"] for item in inner if item not in tools} == {start}


def test_a_subagent_works_inside_the_turn_and_asks(codex: Bench) -> None:
    live = codex.session(
        {**calls(spawn("Count apples"), text="I ask."), "when": MAIN},
        {**calls(run("echo counted"), text="Looking."), "when": SUBAGENT},
        {"text": "Three.", "when": SUBAGENT},
        {**calls(wait()), "when": MAIN},
        {"text": "It says three.", "when": MAIN},
    )
    live.send("Ask somebody")
    permission = heard(live, asks)
    live.reply(permission, "once")
    heard(live, ended())
    events = live.conforms()
    (begun,) = statuses(events, "subagent.started")
    assert begun["content"][0]["detail"] == "/root/helper"
    inner = of_subagents(events)
    (name,) = {item["subagent_id"] for item in inner}
    assert permission["data"]["metadata"]["subagent_id"] == name
    assert_beneath(inner, begun["item_id"])
    assert [text(item) for item in inner if item["kind"] == "message"] == ["Looking.", "Three."]
    (result,) = [item for item in inner if item["kind"] == "tool_result"]
    assert parts(result, "tool_result")[0]["output"] == "counted\n"
    (work,) = statuses(events, "subagent")
    assert (work["status"], work["subagent_id"]) == ("completed", name)
    assert main_words(events) == ["I ask.", "It says three."]
    assert outcome(events) == "completed"


def test_a_subagent_of_the_older_kind_is_under_the_call_that_spawned_it(codex: Bench) -> None:
    live = codex.session(
        {**calls(spawn_v1("Count apples"), text="I ask."), "when": MAIN},
        {**calls(run("echo counted"), text="Looking."), "when": SUBAGENT},
        {"text": "Three.", "when": SUBAGENT},
        {"text": "They count.", "when": MAIN},
        environ=OLD,
    )
    live.send("Ask somebody")
    permission = heard(live, asks)
    live.reply(permission, "once")
    heard(live, labelled("subagent"))
    events = live.conforms()
    call = next(
        item for item in items(events, "tool_call") if item["content"][0]["name"] == "spawnAgent"
    )
    assert "Count apples" in call["content"][0]["arguments"]
    inner = of_subagents(events)
    assert_beneath(inner, call["item_id"])
    assert [text(item) for item in inner if item["kind"] == "message"] == ["Looking.", "Three."]
    assert [text(item) for item in inner if item["kind"] == "system"] == ["Count apples"]
    assert main_words(events) == ["I ask.", "They count."]


def test_a_wait_of_the_older_kind_brings_what_was_said(codex: Bench) -> None:
    live = codex.session(
        {**calls(spawn_v1("Count apples")), "when": MAIN},
        {"text": "Three apples.", "when": SUBAGENT, "gate_before": "counted"},
        {"text": "They count.", "when": MAIN},
        environ=OLD,
    )
    over = live.turn("Ask somebody")[-1]
    begun = heard(live, labelled("subagent", "item.started"))["data"]["item"]
    waiting = tool("wait_agent", "multi_agent_v1", targets=[begun["subagent_id"]])
    live.model.add({**calls(waiting), "when": MAIN}, {"text": "It says three.", "when": MAIN})
    live.send("And?")
    heard(live, done("tool_call"), after=over)
    live.model.open("counted")
    heard(live, ended(), after=over)
    events = live.conforms()
    result = items(events, "tool_result")[-1]
    assert parts(result, "tool_result")[0]["output"] == "Three apples."
    assert main_words(events) == ["They count.", "It says three."]


def test_a_subagent_outlives_the_turn_and_still_asks(codex: Bench) -> None:
    live = codex.session(
        {**calls(spawn("Touch it")), "when": MAIN},
        {**calls(run("touch sub.txt")), "when": SUBAGENT, "gate_before": "later"},
        {"text": "They are at it.", "when": MAIN},
        {"text": "Touched.", "when": SUBAGENT},
    )
    over = live.turn("Have it touched")[-1]
    live.model.open("later")
    permission = heard(live, asks, after=over)
    assert live.info["status"] == "waiting"
    live.reply(permission, "once")
    end = heard(live, labelled("subagent"), after=over)
    assert (live.workspace / "sub.txt").exists()
    assert said(live.since(over)) == ["Touched."]
    assert end["data"]["item"]["status"] == "completed"
    assert outcomes(live.conforms()) == ["completed"]
    goes_on(live)


def test_what_a_subagent_uses_after_the_turn_is_counted_in_the_next(codex: Bench) -> None:
    live = codex.session(
        {**calls(spawn("Count")), "when": MAIN, "usage": {"input": 10, "output": 1}},
        {"text": "Three.", "when": SUBAGENT, "gate_before": "later",
         "usage": {"input": 200, "output": 20}},
        {"text": "They are at it.", "when": MAIN, "usage": {"input": 3000, "output": 300}},
        {"text": "Good.", "when": MAIN, "usage": {"input": 40000, "output": 4000}},
    )  # fmt: skip
    first = live.turn("Have it counted")
    live.model.open("later")
    heard(live, labelled("subagent"), after=first[-1])
    second = live.turn("And?")
    used = [of_type(events, "turn.ended")[0]["usage"]["input_tokens"] for events in (first, second)]
    assert used == [3010, 40200]
    live.conforms()


def test_several_subagents_are_told_apart(codex: Bench) -> None:
    live = codex.session(
        {**calls(spawn("Count apples", "apples"), spawn("Count pears", "pears")),
         "when": named("/root")},
        {"text": "Three apples.", "when": named("/root/apples"), "gate_before": "apples"},
        {"text": "Five pears.", "when": named("/root/pears"), "gate_before": "pears"},
        {"text": "Both count.", "when": named("/root")},
    )  # fmt: skip
    over = live.turn("Count")[-1]
    live.model.open("pears")
    pears = heard(live, labelled("subagent"), after=over)
    live.model.open("apples")
    apples = heard(live, labelled("subagent"), after=pears)
    events = live.conforms()
    words = {item["subagent_id"]: text(item) for item in of_subagents(events)
             if item["kind"] == "message"}  # fmt: skip
    assert words[pears["data"]["item"]["subagent_id"]] == "Five pears."
    assert words[apples["data"]["item"]["subagent_id"]] == "Three apples."
    begun = {item["item_id"] for item in statuses(events, "subagent.started")}
    assert {item["parent_id"] for item in of_subagents(events)} == begun


def test_a_subagent_of_a_subagent_is_under_it(codex: Bench) -> None:
    live = codex.session(
        {**calls(spawn_v1("Delegate it")), "when": {"contains": "Go"}},
        {**calls(spawn_v1("Work hard")), "when": {"contains": "Delegate"}},
        {"text": "Worked.", "when": {"contains": "Work hard"}, "gate_before": "worked"},
        {"text": "It is done.", "when": {"contains": "Delegate"}},
        {"text": "All done.", "when": {"contains": "Go"}},
        environ=configured({"features.multi_agent_v2": False, "agents.max_depth": 3}),
    )
    live.send("Go")
    delegated = heard(live, labelled("subagent"))
    live.model.open("worked")
    heard(live, labelled("subagent"), after=delegated)
    heard(live, ended())
    events = live.conforms()
    boss, hand = items(events, "tool_call")
    assert hand["parent_id"] == boss["item_id"]
    words = {text(item): item for item in items(events, "message", "assistant")}
    assert words["It is done."]["parent_id"] == boss["item_id"]
    assert words["Worked."]["parent_id"] == hand["item_id"]
    assert words["Worked."]["subagent_id"] != words["It is done."]["subagent_id"]
    assert main_words(events) == ["All done."]


def test_an_interrupt_stops_subagents_and_takes_back_what_they_ask(codex: Bench) -> None:
    live = codex.session(
        {**calls(spawn("Touch it")), "when": MAIN},
        {**calls(run("touch never.txt")), "when": SUBAGENT},
        {**calls(wait()), "when": MAIN},
    )
    live.send("Have it touched")
    heard(live, asks)
    live.interrupt()
    heard(live, ended("interrupted"))
    heard(live, labelled("subagent"))
    live.until("permission.resolved")
    events = live.events()
    (resolved,) = of_type(events, "permission.resolved")
    assert resolved["metadata"]["reason"] == "interrupt"
    (stopped,) = statuses(events, "subagent")
    assert (stopped["status"], stopped["reason"]) == ("failed", "interrupted")
    inner = of_subagents(events)
    assert [i["status"] for i in inner if i["kind"] == "tool_result"] == ["failed"]
    assert not (live.workspace / "never.txt").exists()
    goes_on(live)


def test_an_interrupt_stops_a_subagent_that_speaks(codex: Bench) -> None:
    live = codex.session(
        {**calls(spawn("Count")), "when": MAIN},
        {"text": ["One ", "two ", "three"], "when": SUBAGENT, "gate": "never"},
        {**calls(wait()), "when": MAIN},
    )
    live.send("Have it counted")
    heard(live, says("two"))
    live.interrupt()
    heard(live, ended("interrupted"))
    heard(live, labelled("subagent"))
    (word,) = [item for item in of_subagents(live.events()) if item["kind"] == "message"]
    assert (text(word), word["status"]) == ("One two ", "failed")
    goes_on(live)


def test_a_subagent_ends_with_the_server(codex: Bench) -> None:
    live = codex.session(
        {**calls(spawn("Touch it")), "when": MAIN},
        {**calls(run("touch never.txt")), "when": SUBAGENT, "gate_before": "later"},
        {"text": "Started.", "when": MAIN},
    )
    over = live.turn("Have it touched")[-1]
    live.model.open("later")
    heard(live, asks)
    kill(live)
    stopped = heard(live, labelled("subagent"), after=over)["data"]["item"]
    assert (stopped["status"], stopped["reason"]) == ("failed", "process_exit")
    (resolved,) = of_type(live.events(), "permission.resolved")
    assert resolved["metadata"]["reason"] == "process_exit"
    assert of_type(live.events(), "error") == []
    goes_on(live)


def test_a_subagent_that_fails_says_why(codex: Bench) -> None:
    live = codex.session(
        {**calls(spawn("Count")), "when": MAIN},
        {"error": {"status": 400, "message": "no such luck"}, "when": SUBAGENT},
        {**calls(wait()), "when": MAIN},
        {"text": "It failed.", "when": MAIN},
    )
    events = live.turn("Have it counted")
    (work,) = statuses(events, "subagent")
    assert work["status"] == "failed"
    assert "no such luck" in str(of_subagents(events))
    assert of_type(events, "error") == []
    assert outcome(events) == "completed"
    assert labels(work) == ["subagent"]
    live.conforms()


def test_a_message_to_a_subagent_gives_it_another_turn(codex: Bench) -> None:
    more = tool("followup_task", "collaboration", target="/root/helper", message="And pears")
    live = codex.session(
        {**calls(spawn("Count apples")), "when": MAIN},
        {"text": "Three apples.", "when": SUBAGENT},
        {**calls(wait()), "when": MAIN},
        {**calls(more), "when": MAIN},
        {"text": "Five pears.", "when": SUBAGENT},
        {**calls(wait()), "when": MAIN},
        {"text": "Eight.", "when": MAIN},
    )
    events = live.turn("Count")
    inner = [item for item in of_subagents(events) if item["kind"] == "message"]
    assert [text(item) for item in inner] == ["Three apples.", "Five pears."]
    assert len({item["subagent_id"] for item in inner}) == 1
    assert [item["status"] for item in statuses(events, "subagent")] == ["completed"] * 2
    assert main_words(events) == ["Eight."]
    live.conforms()
