"""What a session is switched to, as it reaches the model: at once, and for the next process."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agents.live import Bench, Live, calls
from tests.agents.watch import heard, kill, says
from tests.testing.story import of_type, said


def model(live: Live, number: int) -> str:
    """The model that the n-th request was for."""
    return live.agent.model_of(live.model.mains[number - 1].body)


def effort(live: Live, number: int) -> Any:
    return live.agent.effort_of(live.model.mains[number - 1].body)


@pytest.mark.asks_models
@pytest.mark.needs("variants")
def test_a_session_begins_with_its_model_and_effort(bench: Bench) -> None:
    _, other = bench.agent.models
    live = bench.session("One.", model=other, variant="high")
    live.turn("1")
    assert (model(live, 1), effort(live, 1)) == (other, "high")
    assert other in live.info["model"]
    assert live.info["variant"] == "high"
    live.conforms()


@pytest.mark.asks_models
def test_the_model_of_a_running_session(bench: Bench) -> None:
    first, second = bench.agent.models
    live = bench.session("One.", "Two.", "Three.", model=first)
    live.turn("1")
    assert live.patch(model=second)["model"] == second
    live.turn("2")
    live.turn("3")
    assert [model(live, n) for n in (1, 2, 3)] == [first, second, second]
    assert second in live.info["model"]
    live.conforms()


@pytest.mark.asks_models
def test_the_model_in_the_middle_of_a_turn(bench: Bench) -> None:
    first, second = bench.agent.models
    live = bench.session({"text": ["One ", "two"], "gate": "rest"}, "Two.", model=first)
    live.send("1")
    heard(live, says("One"))
    live.patch(model=second)
    live.model.open("rest")
    live.until("turn.ended")
    assert said(live.turn("2")) == ["Two."]
    assert [model(live, n) for n in (1, 2)] == [first, second]
    live.conforms()


@pytest.mark.needs("variants")
def test_an_effort_that_the_agent_does_not_know_is_refused(bench: Bench) -> None:
    """Before, it was accepted, and the next turn failed or took no notice of it."""
    live = bench.session("One.")
    for method, path, body in (
        ("PATCH", f"/sessions/{live.id}", {"variant": "huge"}),
        ("POST", "/sessions", {"agent": bench.agent.adapter.id, "variant": "huge"}),
    ):
        refused = live.daemon.request(method, path, body)
        assert (refused.status, refused.json["details"]["field"]) == (400, "variant")
        assert "known: " in refused.json["detail"]
        assert "low, medium, high" in refused.json["detail"]


@pytest.mark.needs("variants")
def test_the_effort_of_a_running_session(bench: Bench) -> None:
    model = {"model": bench.agent.models[0]} if bench.agent.asks_models else {}
    live = bench.session("One.", "Two.", variant="low", **model)
    live.turn("1")
    assert live.patch(variant="high")["variant"] == "high"
    live.turn("2")
    assert (effort(live, 1), effort(live, 2)) == ("low", "high")
    assert live.info["variant"] == "high"
    live.conforms()


@pytest.mark.asks_models
@pytest.mark.needs("variants", "resume")
def test_what_is_switched_outlives_the_process(bench: Bench) -> None:
    first, second = bench.agent.models
    live = bench.session("One.", "Two.", "Three.", model=first, variant="low")
    live.turn("1")
    live.patch(model=second)
    kill(live)
    live.patch(variant="high")
    live.turn("2")
    assert (model(live, 2), effort(live, 2)) == (second, "high")
    live.conforms()


@pytest.mark.asks_models
@pytest.mark.needs("commandExecution", "variants")
def test_what_is_switched_before_the_first_message(bench: Bench) -> None:
    _, other = bench.agent.models
    live = bench.session(calls(bench.agent.shell("touch a.txt")), "Done.")
    live.patch(model=other, variant="high", permissionMode="bypass")
    events = live.turn("Touch it")
    assert of_type(events, "permission.requested") == []
    assert (model(live, 1), effort(live, 1)) == (other, "high")
    assert (live.workspace / "a.txt").exists()
    live.conforms()


@pytest.mark.needs("commandExecution", "permissions")
def test_bypass_in_a_running_session_asks_nobody(bench: Bench) -> None:
    live = bench.session("One.", calls(bench.agent.shell("touch a.txt")), "Touched.", "Two.")
    live.turn("1")
    assert live.patch(permissionMode="bypass")["permissionMode"] == "bypass"
    events = live.turn("Touch it")
    rules = [each["approver"]["rule"] for each in of_type(events, "permission.resolved")]
    assert set(rules) <= {"mode:bypass"}
    assert (live.workspace / "a.txt").exists()
    live.turn("2")
    assert live.info["permissionMode"] == "bypass"
    live.conforms()


@pytest.mark.needs("commandExecution", "permissions")
def test_bypass_is_left_again_in_a_running_session(bench: Bench) -> None:
    live = bench.session("One.", calls(bench.agent.shell("touch a.txt")), "No.")
    live.turn("1")
    live.patch(permissionMode="bypass")
    live.patch(permissionMode="default")
    live.send("Touch it")
    live.reply(live.until("permission.requested"), "reject")
    live.until("turn.ended")
    assert not (live.workspace / "a.txt").exists()
    live.conforms()


@pytest.mark.needs("fileChanges", "permissions")
def test_to_accept_edits_in_a_running_session(bench: Bench) -> None:
    live = bench.session("One.")
    path = live.workspace / "a.txt"
    live.model.add(calls(bench.agent.write(str(path), "a\n")), "Written.")
    live.turn("1")
    assert live.patch(permissionMode="acceptEdits")["permissionMode"] == "acceptEdits"
    events = live.turn("Write it")
    rules = [each["approver"]["rule"] for each in of_type(events, "permission.resolved")]
    assert set(rules) <= {"mode:acceptEdits"}
    assert path.read_text() == "a\n"
    assert live.info["permissionMode"] == "acceptEdits"
    live.conforms()
