"""Going on: after the server, after the daemon, and from another session."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.agents.codex import ADAPTER
from dragoman.testing.model import ScriptedModel
from tests.agents.codex.live.scripts import calls, configured, run
from tests.agents.codex.live.watch import asked, kill, outcomes, servers
from tests.agents.live import Bench, Live, chosen, command
from tests.agents.watch import done, ended, heard, says
from tests.cases.common import eventually
from tests.daemon import running
from tests.testing.story import items, of_type, outcome, said, text

UNKNOWN = "01a1df85-0000-7000-8000-000000000000"


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Live]:
    """A session on a daemon of its own, which may be killed."""
    command(ADAPTER)
    with running(tmp_path / "data", env=chosen(ADAPTER)) as daemon, ScriptedModel(()) as model:
        yield Live(daemon, model, tmp_path, ADAPTER.id, configured())


def test_a_session_goes_on_after_its_idle_server_was_killed(codex: Bench) -> None:
    live = codex.session("My name is Rumpel.", "I said Rumpel.")
    first = live.turn("Who are you?")
    kill(live)
    second = live.turn("What was it?")
    assert said(second) == ["I said Rumpel."]
    assert "My name is Rumpel." in asked(live, 2)
    assert of_type(live.conforms(), "error") == []
    assert first[-1]["native_session_id"] == second[-1]["native_session_id"] is not None


def test_a_server_that_dies_in_a_turn_fails_it(codex: Bench) -> None:
    live = codex.session({"text": ["One ", "two ", "three"], "gate": "never"}, "I am back.")
    live.send("Count")
    heard(live, says("two"))
    kill(live)
    heard(live, ended("failed"))
    (error,) = of_type(live.events(), "error")
    assert (error["code"], error["details"]["signal"]) == ("process_exit", signal.SIGKILL)
    (answer,) = items(live.events(), "message", "assistant")
    assert (text(answer), answer["status"]) == ("One two ", "failed")
    assert said(live.turn("Are you there?")) == ["I am back."]
    assert "Count" in asked(live, 2)
    live.conforms()


def test_a_server_that_dies_takes_its_question_back(codex: Bench) -> None:
    live = codex.session(calls(run("touch never.txt")), "I am back.")
    live.send("Touch it")
    live.until("permission.requested")
    kill(live)
    heard(live, ended("failed"))
    (resolved,) = of_type(live.events(), "permission.resolved")
    assert resolved["metadata"]["reason"] == "process_exit"
    (result,) = items(live.events(), "tool_result")
    assert result["status"] == "failed"
    assert said(live.turn("Are you there?")) == ["I am back."]
    assert not (live.workspace / "never.txt").exists()
    live.conforms()


def test_a_resumed_session_may_still_write_in_its_workspace(codex: Bench) -> None:
    live = codex.session("Hello.", calls(run("touch here.txt")), "Touched.")
    live.turn("Hi")
    kill(live)
    live.send("Touch it")
    live.reply(live.until("permission.requested"), "once")
    live.until("turn.ended")
    (result,) = items(live.events(), "tool_result")
    assert (result["status"], result["exit_code"]) == ("completed", 0)
    assert (live.workspace / "here.txt").exists()
    live.conforms()


def test_a_session_goes_on_after_the_daemon_was_restarted(alone: Live) -> None:
    alone.model.add("My name is Rumpel.", "I said Rumpel.")
    alone.turn("Who are you?")
    before = alone.events()
    alone.daemon.stop()
    assert servers(alone) == []
    alone.daemon.start()
    assert alone.events() == before
    assert said(alone.turn("What was it?")) == ["I said Rumpel."]
    assert "My name is Rumpel." in asked(alone, 2)
    alone.conforms()


def test_a_turn_that_a_restart_cuts_is_interrupted(alone: Live) -> None:
    alone.model.add({"text": ["One ", "two ", "three"], "gate": "never"}, "I am back.")
    alone.send("Count")
    heard(alone, says("two"))
    alone.daemon.stop()
    alone.daemon.start()
    assert outcome(alone.events()) == "interrupted"
    assert said(alone.turn("Are you there?")) == ["I am back."]
    assert "Count" in asked(alone, 2)
    alone.conforms()


def test_a_daemon_that_is_killed_in_a_turn_goes_on(alone: Live) -> None:
    alone.model.add(calls(run("sleep 60")), "I am back.")
    alone.patch(permissionMode="bypass")
    alone.send("Sleep")
    heard(alone, done("tool_call"))
    before = alone.events()
    alone.daemon.kill()
    alone.daemon.start()
    assert alone.events()[: len(before)] == before
    assert outcomes(alone.events()) == ["interrupted"]
    assert said(alone.turn("Are you there?")) == ["I am back."]
    alone.conforms()


def test_a_thread_that_codex_does_not_know_ends_the_session(codex: Bench) -> None:
    live = codex.session("Never.", resume={"nativeSessionId": UNKNOWN})
    live.send("Go on")
    end = live.until("session.ended")
    assert end["data"]["reason"] == "error"
    assert UNKNOWN in end["data"]["message"]
    events = live.conforms()
    (error,) = of_type(events, "error")
    assert error["code"] == "thread_not_found"
    assert UNKNOWN in error["message"]
    assert outcome(events) == "failed"
    assert [text(item) for item in items(events, "message", "user")] == ["Go on"]
    assert live.model.mains == []


def test_a_thread_that_vanished_ends_the_session(codex: Bench) -> None:
    live = codex.session("My name is Rumpel.", "Never.")
    live.turn("Who are you?")
    kill(live)
    for file in live.home.rglob("rollout-*"):
        file.unlink()
    live.send("What was it?")
    end = live.until("session.ended")
    assert end["data"]["reason"] == "error"
    events = live.conforms()
    assert [text(item) for item in items(events, "message", "user")][1:] == ["What was it?"]
    (error,) = of_type(events, "error")
    assert error["message"] == end["data"]["message"]


def beside(codex: Bench, live: Live, **resume: Any) -> Live:
    return codex.another(live.model, folder=live.folder, resume={"sessionId": live.id, **resume})


def test_an_ended_session_goes_on_in_another(codex: Bench) -> None:
    live = codex.session("My name is Rumpel.", "I said Rumpel.")
    native = live.turn("Who are you?")[-1]["native_session_id"]
    live.terminate()
    other = beside(codex, live)
    events = other.turn("What was it?")
    assert said(events) == ["I said Rumpel."]
    assert "My name is Rumpel." in asked(live, 2)
    assert events[-1]["native_session_id"] == native
    other.conforms()


def test_a_session_that_goes_on_with_another_is_as_good_as_any(codex: Bench) -> None:
    live = codex.session("Hello.", "Here I am.")
    live.turn("Hi")
    live.terminate()
    other = codex.another(live.model, folder=live.folder, resume={"sessionId": live.id})
    other.turn("Go on")
    refused = codex.daemon.request(
        "POST", "/sessions", {"agent": "codex", "resume": {"sessionId": live.id}}
    )
    assert refused.status == 409
    live.model.script({"text": "One two three", "gate": "rest"}, "Again.")
    other.send("Count")
    heard(other, says("One"))
    kill(other)
    assert other.until("turn.ended")["data"]["outcome"] == "failed"
    assert said(other.turn("Still there?")) == ["Again."]
    other.conforms()


def test_a_fork_leaves_the_old_session_as_it_is(codex: Bench) -> None:
    live = codex.session("My name is Rumpel.", "I am the fork.", "I am the old one.", "Both.")
    native = live.turn("Who are you?")[-1]["native_session_id"]
    other = beside(codex, live, fork=True)
    events = other.turn("And you?")
    assert said(events) == ["I am the fork."]
    assert "My name is Rumpel." in asked(live, 2)
    forked = events[-1]["native_session_id"]
    assert forked not in (None, native)
    again = live.turn("And you?")
    assert again[-1]["native_session_id"] == native
    assert said(again) == ["I am the old one."]
    assert "I am the fork." not in asked(live, 3)
    kill(live)
    assert other.turn("Still?")[-1]["native_session_id"] == forked
    assert "I am the fork." in asked(live, 4)
    assert "I am the old one." not in asked(live, 4)
    live.conforms()
    other.conforms()


def test_a_fork_may_write_in_its_workspace(codex: Bench) -> None:
    live = codex.session("Hello.", calls(run("touch here.txt")), "Touched.")
    live.turn("Hi")
    other = beside(codex, live, fork=True)
    other.send("Touch it")
    other.reply(other.until("permission.requested"), "once")
    other.until("turn.ended")
    (result,) = items(other.events(), "tool_result")
    assert (result["status"], result["exit_code"]) == ("completed", 0)
    assert (live.workspace / "here.txt").exists()
    other.conforms()


def test_a_server_that_dies_before_the_first_answer_has_kept_the_message(codex: Bench) -> None:
    live = codex.session({"text": "Never.", "gate_before": "never"}, "I am back.")
    live.send("Count")
    live.model.wait_for_request()
    heard(live, done("message", role="user"))
    kill(live)
    heard(live, ended("failed"))
    assert said(live.turn("Are you there?")) == ["I am back."]
    live.conforms()


def test_a_deleted_session_leaves_an_archived_thread(codex: Bench) -> None:
    live = codex.session("Hello.")
    live.turn("Hi")
    (kept,) = live.home.rglob("rollout-*")
    assert codex.daemon.request("DELETE", live.path).status == 204
    eventually(lambda: not kept.exists(), "the thread is archived", 5)
    (archived,) = live.home.rglob("rollout-*")
    assert archived.parent.name == "archived_sessions"
