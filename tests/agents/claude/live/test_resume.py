"""Going on: after the process, after the daemon, and from another session."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.agents.claude import ADAPTER
from dragoman.testing.model import ScriptedModel
from tests.agents.claude.live.conftest import environ
from tests.agents.claude.live.scripts import bash, calls
from tests.agents.live import Bench, Live, chosen, command
from tests.agents.watch import done, ended, heard, kill, says
from tests.daemon import running
from tests.testing.story import items, of_type, outcome, said, text

SLOW = "python3 -c 'import time; time.sleep(60)'"
UNKNOWN = "11111111-2222-4333-8444-555555555555"


def asked(live: Live, number: int) -> str:
    """All that the model was asked with the n-th request."""
    return json.dumps(live.model.mains[number - 1].body)


def kept(live: Live) -> None:
    """Wait until Claude Code has written the conversation down."""
    while not [*live.home.glob(".claude/projects/*/*.jsonl")]:
        pass


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Live]:
    """A session on a daemon of its own, which may be killed."""
    command(ADAPTER)
    with running(tmp_path / "data", env=chosen(ADAPTER)) as daemon, ScriptedModel(()) as model:
        yield Live(daemon, model, tmp_path, ADAPTER.id, environ)


def test_a_session_goes_on_after_its_idle_process_was_killed(claude: Bench) -> None:
    live = claude.session("My name is Rumpel.", "I said Rumpel.")
    first = live.turn("Who are you?")
    kill(live)
    second = live.turn("What was it?")
    assert said(second) == ["I said Rumpel."]
    assert "My name is Rumpel." in asked(live, 2)
    events = live.conforms()
    assert of_type(events, "error") == []
    assert first[-1]["native_session_id"] == second[-1]["native_session_id"] is not None


def test_a_process_that_dies_in_a_turn_fails_it(claude: Bench) -> None:
    live = claude.session({"text": ["One ", "two ", "three"], "gate": "never"}, "I am back.")
    live.send("Count")
    heard(live, says("two"))
    kept(live)
    kill(live)
    heard(live, ended("failed"))
    (error,) = of_type(live.events(), "error")
    assert error["code"] == "process_exit"
    assert error["details"]["signal"] == signal.SIGKILL
    (answer,) = items(live.events(), "message", "assistant")
    assert (text(answer), answer["status"]) == ("One two ", "failed")
    assert live.info["status"] == "idle"
    assert said(live.turn("Are you there?")) == ["I am back."]
    assert "Count" in asked(live, 2)
    live.conforms()


def test_a_process_that_dies_in_its_first_tool_takes_the_question_back(claude: Bench) -> None:
    live = claude.session(calls(bash("touch never.txt")), "I am back.")
    live.send("Touch it")
    live.until("permission.requested")
    kept(live)
    kill(live)
    heard(live, ended("failed"))
    (resolved,) = of_type(live.events(), "permission.resolved")
    assert resolved["metadata"]["reason"] == "process_exit"
    (result,) = items(live.events(), "tool_result")
    assert result["status"] == "failed"
    assert said(live.turn("Are you there?")) == ["I am back."]
    live.conforms()


def test_a_session_goes_on_after_the_daemon_was_restarted(alone: Live) -> None:
    alone.model.add("My name is Rumpel.", "I said Rumpel.")
    alone.turn("Who are you?")
    before = alone.events()
    alone.daemon.stop()
    assert alone.processes() == []
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
    alone.model.add({**calls(bash(SLOW)), "usage": {"input": 11}}, "I am back.")
    alone.patch(permissionMode="bypass")
    alone.send("Sleep")
    heard(alone, done("tool_call"))
    before = alone.events()
    alone.daemon.kill()
    alone.daemon.start()
    assert alone.events()[: len(before)] == before
    assert outcome(alone.events()) == "interrupted"
    assert said(alone.turn("Are you there?")) == ["I am back."]
    alone.conforms()


def test_an_id_that_claude_does_not_know_ends_the_session(claude: Bench) -> None:
    live = claude.session("Never.", resume={"nativeSessionId": UNKNOWN})
    live.send("Go on")
    end = live.until("session.ended")
    assert end["data"]["reason"] == "error"
    assert UNKNOWN in end["data"]["message"]
    assert end["data"]["exit_code"] == 1
    assert UNKNOWN in end["data"]["stderr"]["head"]
    events = live.conforms()
    (error,) = of_type(events, "error")
    assert UNKNOWN in error["message"]
    assert (error["details"]["exit_code"], error["details"]["signal"]) == (1, None)
    assert error["details"]["stderr"] == end["data"]["stderr"]
    assert outcome(events) == "failed"
    assert [text(item) for item in items(events, "message", "user")] == ["Go on"]
    assert live.model.mains == []


def beside(claude: Bench, live: Live, **resume: Any) -> Live:
    return claude.another(live.model, folder=live.folder, resume={"sessionId": live.id, **resume})


def test_an_ended_session_goes_on_in_another(claude: Bench) -> None:
    live = claude.session("My name is Rumpel.", "I said Rumpel.")
    native = live.turn("Who are you?")[-1]["native_session_id"]
    live.terminate()
    other = beside(claude, live)
    events = other.turn("What was it?")
    assert said(events) == ["I said Rumpel."]
    assert "My name is Rumpel." in asked(live, 2)
    assert events[-1]["native_session_id"] == native
    other.conforms()


def test_a_fork_leaves_the_old_session_as_it_is(claude: Bench) -> None:
    live = claude.session("My name is Rumpel.", "I am the fork.", "I am the old one.")
    native = live.turn("Who are you?")[-1]["native_session_id"]
    other = beside(claude, live, fork=True)
    events = other.turn("And you?")
    assert said(events) == ["I am the fork."]
    assert "My name is Rumpel." in asked(live, 2)
    assert events[-1]["native_session_id"] not in (None, native)
    again = live.turn("And you?")
    assert again[-1]["native_session_id"] == native
    assert said(again) == ["I am the old one."]
    assert "I am the fork." not in asked(live, 3)
    live.conforms()
    other.conforms()


def test_a_conversation_that_vanished_ends_the_session(claude: Bench) -> None:
    live = claude.session("My name is Rumpel.", "Never.")
    live.turn("Who are you?")
    kill(live)
    for file in live.home.glob(".claude/projects/*/*.jsonl"):
        file.unlink()
    live.send("What was it?")
    end = live.until("session.ended")
    assert end["data"]["reason"] == "error"
    events = live.conforms()
    assert [text(item) for item in items(events, "message", "user")][1:] == ["What was it?"]
    (error,) = of_type(events, "error")
    assert error["message"] == end["data"]["message"]
