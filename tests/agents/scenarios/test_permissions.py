"""What real agents ask leave for, and what they hear."""

from __future__ import annotations

import pytest

from tests.agents.live import Bench, Live, calls
from tests.agents.results import results
from tests.agents.watch import asked, kill
from tests.testing.story import Event, items, of_type, outcome, said

pytestmark = pytest.mark.needs("permissions", "commandExecution")


def names(live: Live) -> list[str]:
    """What is in the workspace."""
    return sorted(path.name for path in live.workspace.iterdir())


def answer(live: Live, reply: str, times: int = 1) -> None:
    """Answer the next requests alike."""
    for _ in range(times):
        live.reply(live.until("permission.requested"), reply)


def assert_unasked(bench: Bench, events: list[Event]) -> None:
    """Nobody was asked, unless a rule answered."""
    if bench.agent.asks_under_bypass:
        rules = {each["approver"]["rule"] for each in of_type(events, "permission.resolved")}
        assert rules == {"mode:bypass"}
    else:
        assert not of_type(events, "permission.requested")


def test_a_command_is_allowed_once(bench: Bench) -> None:
    touch = calls(bench.agent.shell("touch made"))
    live = bench.session(touch, touch, "Done.")
    live.send("Make it")
    request = live.until("permission.requested")
    about = request["data"]["metadata"]
    assert "touch made" in about["command"]
    (call,) = items(live.events(), "tool_call")
    assert about["item_id"] == call["item_id"]
    assert live.info["status"] == "waiting"
    assert names(live) == []
    live.reply(request, "once")
    answer(live, "once")
    live.until("turn.ended")
    events = live.conforms()
    assert names(live) == ["made"]
    assert [each["status"] for each in of_type(events, "permission.resolved")] == ["accept"] * 2
    assert [each["status"] for each in results(events)] == ["completed"] * 2


def test_a_command_is_refused_and_the_turn_goes_on(bench: Bench) -> None:
    live = bench.session(calls(bench.agent.shell("touch made")), "Then not.")
    live.send("Make it")
    answer(live, "reject")
    live.until("turn.ended")
    events = live.conforms()
    (result,) = results(events)
    assert (result["status"], result["reason"]) == ("failed", "declined")
    assert "exit_code" not in result
    answers = [] if bench.agent.ends_refused_turn else ["Then not."]
    assert (said(events), outcome(events)) == (answers, bench.agent.refused_outcome)
    assert names(live) == []


def test_the_model_hears_why_it_was_refused(bench: Bench) -> None:
    live = bench.session(calls(bench.agent.shell("touch made")), "Then mkdir.", "Unasked.")
    live.send("Make it")
    live.reply(live.until("permission.requested"), "reject", message="Use mkdir, please.")
    live.until("turn.ended")
    # With what became of the command, and not after another answer.
    assert len(live.model.mains) == 2
    assert "Use mkdir, please." in asked(live, 2)
    events = live.conforms()
    assert of_type(events, "permission.resolved")[0]["metadata"]["message"] == "Use mkdir, please."
    assert said(events) == ["Then mkdir."]


@pytest.mark.needs("resume")
def test_always_still_holds_for_the_next_process(bench: Bench) -> None:
    touch, remove = (calls(bench.agent.shell(command)) for command in ("touch one", "rm one"))
    live = bench.session(touch, "Done.", touch, remove, "Again.")
    live.send("Make one")
    answer(live, "always")
    live.until("turn.ended")
    kill(live)
    live.send("Make it again, and remove it")
    ours = live.until("permission.resolved")["data"]["approver"]["rule"]
    assert ours.startswith("always:")
    answer(live, "reject")
    live.until("turn.ended")
    events = live.conforms()
    rules = [each["approver"].get("rule") for each in of_type(events, "permission.resolved")]
    assert rules == [None, ours, None]
    assert names(live) == ["one"]


@pytest.mark.needs("fileChanges")
def test_edits_are_accepted_and_commands_are_not(bench: Bench) -> None:
    live = bench.session(permissionMode="acceptEdits")
    inside, outside = live.workspace / "a.txt", live.folder / "out.txt"
    write, shell = bench.agent.write, bench.agent.shell
    live.model.add(
        calls(write(str(inside), "a\n")), calls(write(str(outside), "a\n")),
        calls(shell("python3 -c 'print(1)'")), "Done.",
    )  # fmt: skip
    live.send("Write it")
    while "out.txt" not in str(live.until("permission.requested")["data"]):
        pass  # what the mode answers by itself is asked for, too
    request = of_type(live.events(), "permission.requested")[-1]
    live.reply({"data": request}, "reject", message="Not there.")
    answer(live, "once")
    live.until("turn.ended")
    results = items(live.conforms(), "tool_result")
    assert [each["status"] for each in results] == ["completed", "failed", "completed"]
    assert (inside.exists(), outside.exists()) == (True, False)


@pytest.mark.needs("fileChanges")
def test_bypass_asks_for_nothing(bench: Bench) -> None:
    live = bench.session(permissionMode="bypass")
    path = live.folder / "out.txt"
    live.model.add(
        calls(bench.agent.write(str(path), "a\n")),
        calls(bench.agent.shell(f"rm {path}; touch made")),
        "Done.",
    )
    events = live.turn("Do what you want")
    assert_unasked(bench, events)
    assert [each["status"] for each in results(events)] == ["completed", "completed"]
    assert (path.exists(), names(live)) == (False, ["made"])
    assert live.info["permissionMode"] == "bypass"
    live.conforms()
