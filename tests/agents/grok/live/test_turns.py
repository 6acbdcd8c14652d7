"""Turns that Grok begins by itself, subagents, commands in the background, compaction."""

from __future__ import annotations

from typing import Any

from tests.agents.grok.live.scripts import command, tool
from tests.agents.live import Bench, Live, calls
from tests.agents.results import output
from tests.agents.watch import asked, heard, kill, labelled, outcomes, says, statuses
from tests.testing.story import items, of_type, said, text

PROMPT = "Count the herons."


def delegate(**more: Any) -> Any:
    return calls(tool("spawn_subagent", prompt=PROMPT, description="Count", **more))


def inner(**step: Any) -> Any:
    """A step for the subagent."""
    return {**step, "when": {"contains": PROMPT}}


def outer(**step: Any) -> Any:
    """A step for the agent itself."""
    return {**step, "when": {"contains": "Delegate"}}


# --- Subagents ---


def test_a_subagent_works_below_its_call(grok: Bench) -> None:
    live = grok.session(
        delegate(run_in_background=False),
        inner(**calls(command("echo seven"), text="I look.")),
        inner(text="Seven."),
        outer(text="There are seven."),
        permissionMode="bypass",
    )
    events = live.turn("Delegate it")
    (call,) = [each for each in items(events, "tool_call") if "subagent_id" not in each]
    own = [each for each in items(events) if "subagent_id" in each]
    assert {each["parent_id"] for each in own if each["kind"] == "status"} == {call["item_id"]}
    assert [text(each) for each in own if each["kind"] == "message"] == ["I look.", "Seven."]
    (inside,) = [each for each in own if each["kind"] == "tool_result"]
    assert output(inside) == "seven\n"
    (status,) = [each for each in own if each["kind"] == "status"]
    assert (status["status"], status["content"][0]["detail"]) == ("completed", "Count")
    assert said(events)[-1] == "There are seven."
    assert live.info["title"] != "Count"
    live.conforms()


def test_a_subagent_asks_for_permission(grok: Bench) -> None:
    live = grok.session(
        delegate(run_in_background=False),
        inner(**calls(command("rm -f a"))),
        inner(text="Removed."),
        outer(text="Done."),
    )
    live.send("Delegate it")
    first = live.until("permission.requested")
    assert first["data"]["action"] == "spawn_subagent"
    live.reply(first, "once")
    second = live.until("permission.requested")
    about = second["data"]["metadata"]
    assert about["command"] == "rm -f a"
    live.reply(second, "once")
    live.until("turn.ended")
    events = live.conforms()
    own = {each["subagent_id"] for each in items(events) if "subagent_id" in each}
    assert own == {about["subagent_id"]}
    assert said(events)[-1] == "Done."


def test_a_subagent_in_the_background_wakes_the_agent(grok: Bench) -> None:
    live = grok.session(
        delegate(),
        outer(text="It counts."),
        inner(text="Seven.", gate="count"),
        {"text": "They are seven."},
        permissionMode="bypass",
    )
    live.turn("Delegate it")
    live.model.open("count")
    live.until("turn.started")
    live.until("turn.ended")
    events = live.conforms()
    assert said([each for each in events if "subagent_id" not in str(each["data"])]) == [
        "It counts.", "They are seven.",
    ]  # fmt: skip
    assert outcomes(events) == ["completed", "completed"]
    ends = of_type(events, "turn.ended")
    assert ends[1]["usage"]["output_tokens"] == 20
    assert said(live_turn(live, "Thanks")) == ["Welcome."]


def live_turn(live: Live, prompt: str) -> Any:
    live.model.script("Welcome.")
    return live.turn(prompt)


def test_an_interrupt_stops_a_subagent(grok: Bench) -> None:
    live = grok.session(
        delegate(run_in_background=False),
        inner(text=["One ", "two"], gate="never"),
        permissionMode="bypass",
    )
    live.send("Delegate it")
    heard(live, says("One"))
    live.interrupt()
    live.until("turn.ended")
    assert outcomes(live.conforms()) == ["interrupted"]


# --- Commands in the background ---


def test_a_command_in_the_background_wakes_the_agent(grok: Bench) -> None:
    live = grok.session(
        calls(command("sleep 0.5; echo waited", is_background=True)), "It runs.", "It has run.",
        permissionMode="bypass",
    )  # fmt: skip
    live.turn("Start it")
    live.until("turn.started")
    live.until("turn.ended")
    events = live.conforms()
    (ended,) = statuses(events, "background")
    assert ended["content"][1]["json"]["output"] == "waited\n"
    assert said(events) == ["It runs.", "It has run."]


def test_a_turn_of_its_own_is_interrupted(grok: Bench) -> None:
    live = grok.session(
        calls(command("sleep 0.5", is_background=True)),
        "It runs.",
        {"text": ["It ", "has ", "run"], "gate": "never"},
        permissionMode="bypass",
    )
    live.turn("Start it")
    heard(live, says("It "))
    live.until("turn.started")
    live.interrupt()
    live.until("turn.ended")
    assert outcomes(live.conforms()) == ["completed", "interrupted"]


# --- The rest ---


def test_a_conversation_is_compacted(grok: Bench) -> None:
    live = grok.session("Hello.", {"text": "They greeted each other, at length. " * 40}, "After.")
    live.turn("Hi")
    live.turn("/compact")
    events = live.turn("Still there?")
    assert said(events) == ["After."]
    assert "at length" in asked(live, 3)
    assert statuses(live.conforms(), "compacted")


def test_a_compaction_that_fails_fails_its_turn(grok: Bench) -> None:
    live = grok.session("Hello.", {"text": "Too short.", "times": 9})
    live.turn("Hi")
    events = live.turn("/compact")
    (error,) = of_type(events, "error")
    assert "summary" in error["message"]
    assert outcomes(events) == ["failed"]
    assert of_type(events, "turn.ended")[0]["usage"]["output_tokens"] > 0
    live.conforms()


def test_a_command_of_its_own_asks_no_model(grok: Bench) -> None:
    live = grok.session()
    events = live.turn("/session-info")
    assert "Working directory" in said(events)[0]
    assert live.model.mains == []
    (told,) = statuses(live.conforms(), "commands")
    assert "/compact" in told["content"][0]["detail"]


def test_the_title_is_the_sessions(grok: Bench) -> None:
    live = grok.session("Hello.")
    live.turn("Herons and how to count them")
    heard(live, lambda event: event["type"] == "session.updated" and "title" in event["data"])
    assert "Herons" in live.info["title"]
    live.conforms()


def test_a_session_has_an_id_of_our_choice(grok: Bench) -> None:
    live = grok.session("Hello.", "Again.")
    native = live.turn("Hi")[-1]["native_session_id"]
    assert list((live.home / ".grok" / "sessions").glob(f"*/{native}"))
    kill(live)
    assert live.turn("Again")[-1]["native_session_id"] == native
    assert "Hello." in asked(live, 2)
    live.conforms()


def test_a_summary_of_each_turn_can_be_had(grok: Bench) -> None:
    live = grok.session("Hello.", env={"GROK_TURN_SUMMARY": "1"})
    live.turn("Hi")
    heard(live, labelled("summary"))
    assert len(live.model.mains) == 1
    live.conforms()
