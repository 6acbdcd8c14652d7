"""Going on: after the agent's process, after the daemon, and from another session."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from tests.agents.live import Bench, Live, calls
from tests.agents.watch import asked, done, ended, heard, kill, outcomes, says
from tests.testing.story import items, of_type, outcome, said, text

pytestmark = pytest.mark.needs("resume")

SLOW = "python3 -c 'import time; time.sleep(60)'"
NOT_KEPT = "this version stores nothing until its first answer"
COUNT = {"text": ["One ", "two ", "three"], "gate": "never"}


def test_a_session_goes_on_after_its_idle_process_was_killed(bench: Bench) -> None:
    live = bench.session("My name is Rumpel.", "I said Rumpel.")
    first = live.turn("Who are you?")
    kill(live)
    second = live.turn("What was it?")
    assert said(second) == ["I said Rumpel."]
    assert "My name is Rumpel." in asked(live, 2)
    assert of_type(live.conforms(), "error") == []
    assert first[-1]["native_session_id"] == second[-1]["native_session_id"] is not None


@pytest.mark.needs("streamingDeltas")
def test_a_process_that_dies_in_a_turn_fails_it(bench: Bench) -> None:
    if not bench.agent.keeps_unanswered:
        pytest.skip(NOT_KEPT)
    live = bench.session(COUNT, "I am back.")
    live.send("Count")
    heard(live, says("two"))
    bench.agent.wait_until_kept(live)
    kill(live)
    heard(live, ended("failed"))
    (error,) = of_type(live.events(), "error")
    assert (error["code"], error["details"]["signal"]) == ("process_exit", signal.SIGKILL)
    (answer,) = items(live.events(), "message", "assistant")
    assert (text(answer), answer["status"]) == ("One two ", "failed")
    assert live.info["status"] == "idle"
    assert said(live.turn("Are you there?")) == ["I am back."]
    assert "Count" in asked(live, 2)
    live.conforms()


@pytest.mark.needs("commandExecution", "permissions")
def test_a_process_that_dies_takes_its_question_back(bench: Bench) -> None:
    live = bench.session(calls(bench.agent.shell("touch never.txt")), "I am back.")
    live.send("Touch it")
    live.until("permission.requested")
    bench.agent.wait_until_kept(live)
    kill(live)
    heard(live, ended("failed"))
    (resolved,) = of_type(live.events(), "permission.resolved")
    assert resolved["metadata"]["reason"] == "process_exit"
    (result,) = items(live.events(), "tool_result")
    assert result["status"] == "failed"
    assert said(live.turn("Are you there?")) == ["I am back."]
    assert not (live.workspace / "never.txt").exists()
    live.conforms()


@pytest.mark.needs("commandExecution", "permissions")
def test_a_resumed_session_asks_and_works_as_before(bench: Bench) -> None:
    live = bench.session("Hello.", calls(bench.agent.shell("touch here.txt")), "Touched.")
    live.turn("Hi")
    kill(live)
    live.send("Touch it")
    live.reply(live.until("permission.requested"), "once")
    live.until("turn.ended")
    (result,) = items(live.events(), "tool_result")
    assert result["status"] == "completed"
    assert (live.workspace / "here.txt").exists()
    live.conforms()


def test_a_session_goes_on_after_the_daemon_was_restarted(alone: Live) -> None:
    alone.model.add("My name is Rumpel.", "I said Rumpel.")
    alone.turn("Who are you?")
    before = alone.events()
    alone.daemon.stop()
    assert alone.agent.processes(alone) == []
    alone.daemon.start()
    assert alone.events() == before
    assert said(alone.turn("What was it?")) == ["I said Rumpel."]
    assert "My name is Rumpel." in asked(alone, 2)
    alone.conforms()


@pytest.mark.needs("streamingDeltas")
def test_a_turn_that_a_restart_cuts_is_interrupted(alone: Live) -> None:
    if not alone.agent.keeps_unanswered:
        pytest.skip(NOT_KEPT)
    alone.model.add(COUNT, "I am back.")
    alone.send("Count")
    heard(alone, says("two"))
    alone.daemon.stop()
    alone.daemon.start()
    assert outcome(alone.events()) == "interrupted"
    assert said(alone.turn("Are you there?")) == ["I am back."]
    assert "Count" in asked(alone, 2)
    alone.conforms()


@pytest.mark.needs("commandExecution")
def test_a_daemon_that_is_killed_in_a_turn_goes_on(alone: Live) -> None:
    alone.model.add({**calls(alone.agent.shell(SLOW)), "usage": {"input": 11}}, "I am back.")
    alone.patch(permissionMode="bypass")
    alone.send("Sleep")
    heard(alone, done("tool_call"))
    alone.agent.wait_until_kept(alone)
    before = alone.events()
    alone.daemon.kill()
    alone.daemon.start()
    assert alone.events()[: len(before)] == before
    assert outcomes(alone.events()) == ["interrupted"]
    assert said(alone.turn("Are you there?")) == ["I am back."]
    alone.conforms()


def test_an_id_that_the_agent_does_not_know_ends_the_session(bench: Bench) -> None:
    unknown = bench.agent.unknown_session
    live = bench.session("Never.", resume={"nativeSessionId": unknown})
    live.send("Go on")
    end = live.until("session.ended")
    assert end["data"]["reason"] == "error"
    assert unknown in end["data"]["message"]
    events = live.conforms()
    (error,) = of_type(events, "error")
    assert unknown in error["message"]
    assert outcome(events) == "failed"
    assert [text(item) for item in items(events, "message", "user")] == ["Go on"]
    assert live.model.mains == []


def test_a_conversation_that_vanished_ends_the_session(bench: Bench) -> None:
    live = bench.session("My name is Rumpel.", "Never.")
    live.turn("Who are you?")
    kill(live)
    bench.agent.forget(live)
    live.send("What was it?")
    end = live.until("session.ended")
    assert end["data"]["reason"] == "error"
    events = live.conforms()
    assert [text(item) for item in items(events, "message", "user")][1:] == ["What was it?"]
    (error,) = of_type(events, "error")
    assert error["message"] == end["data"]["message"]


def beside(bench: Bench, live: Live, **resume: Any) -> Live:
    return bench.another(live.model, folder=live.folder, resume={"sessionId": live.id, **resume})


def test_an_ended_session_goes_on_in_another(bench: Bench) -> None:
    live = bench.session("My name is Rumpel.", "I said Rumpel.", "Again.")
    native = live.turn("Who are you?")[-1]["native_session_id"]
    live.terminate()
    other = beside(bench, live)
    events = other.turn("What was it?")
    assert said(events) == ["I said Rumpel."]
    assert "My name is Rumpel." in asked(live, 2)
    assert events[-1]["native_session_id"] == native
    body = {"agent": bench.agent.adapter.id, "resume": {"sessionId": live.id}}
    assert bench.daemon.request("POST", "/sessions", body).status == 409
    kill(other)
    assert said(other.turn("Still there?")) == ["Again."]
    other.conforms()


@pytest.mark.needs("fork")
def test_a_fork_leaves_the_old_session_as_it_is(bench: Bench) -> None:
    live = bench.session("My name is Rumpel.", "I am the fork.", "I am the old one.", "Both.")
    native = live.turn("Who are you?")[-1]["native_session_id"]
    other = beside(bench, live, fork=True)
    events = other.turn("And you?")
    assert said(events) == ["I am the fork."]
    assert "My name is Rumpel." in asked(live, 2)
    forked = events[-1]["native_session_id"]
    assert forked not in (None, native)
    again = live.turn("And you?")
    assert again[-1]["native_session_id"] == native
    assert said(again) == ["I am the old one."]
    assert "I am the fork." not in asked(live, 3)
    kill(other)
    assert other.turn("Still?")[-1]["native_session_id"] == forked
    assert "I am the fork." in asked(live, 4)
    assert "I am the old one." not in asked(live, 4)
    live.conforms()
    other.conforms()
