"""A process for each turn, and one for each session that speaks JSON-RPC."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.cases.common import eventually
from tests.shared_agent import SharedAgentDaemon
from tests.testing.story import Talk, lives, of_type, outcome, said


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedAgentDaemon]:
    folder = tmp_path_factory.mktemp("daemon")
    started = SharedAgentDaemon(folder / "data", env={"SHARED_AGENT_HOME": str(folder)})
    started.start()
    try:
        yield started
    finally:
        started.stop()


def song(talk: Talk, prompt: str) -> Any:
    turn = talk.turn(prompt)
    assert outcome(turn) == "completed"
    assert of_type(turn, "error") == []
    (words,) = said(turn)
    return msgspec.json.decode(words)


# --- One process for each turn ---


def test_each_turn_has_a_process_of_its_own_and_one_converter_hears_of_each_end(
    daemon: SharedAgentDaemon,
) -> None:
    talk = Talk(daemon, agent="perturn")
    songs = [song(talk, text) for text in ("one", "two", "three")]
    assert [each["ends"] for each in songs] == [0, 1, 2]
    assert [each["resumed"] for each in songs] == [False, True, True]
    assert len({each["pid"] for each in songs}) == 3
    eventually(lambda: talk.processes() == [], "the last one ended")
    events = talk.conforms()
    assert of_type(events, "error") == of_type(events, "session.ended") == []
    assert talk.info["nativeSessionId"] == "corner-1"


@pytest.mark.parametrize("text", ["fail", "linger", "ignore"])
def test_how_a_process_ends_after_its_turn_does_not_matter(
    daemon: SharedAgentDaemon, text: str
) -> None:
    talk = Talk(daemon, agent="perturn")
    first = song(talk, text)
    talk.send("next")  # it waits until the one before is gone
    talk.until("turn.started")
    assert not lives(first["pid"])
    talk.until("turn.ended")
    events = talk.conforms()
    assert of_type(events, "error") == []
    assert [end["outcome"] for end in of_type(events, "turn.ended")] == ["completed"] * 2


def test_messages_that_wait_have_a_process_each(daemon: SharedAgentDaemon) -> None:
    talk = Talk(daemon, agent="perturn")
    for text in ("one", "two", "three"):
        talk.send(text)
    for _ in range(3):
        talk.until("turn.ended")
    songs = [msgspec.json.decode(words) for words in said(talk.conforms())]
    assert [each["text"] for each in songs] == ["one", "two", "three"]
    assert len({each["pid"] for each in songs}) == 3


def test_an_end_before_the_turns_end_fails_it_and_the_next_one_resumes(
    daemon: SharedAgentDaemon,
) -> None:
    talk = Talk(daemon, agent="perturn")
    song(talk, "one")
    turn = talk.turn("crash")
    assert outcome(turn) == "failed"
    (error,) = of_type(turn, "error")
    assert (error["code"], error["details"]["exit_code"]) == ("process_exit", 3)
    assert song(talk, "two")["resumed"]
    talk.conforms()


# --- One process for each session, in JSON-RPC ---


def test_a_session_with_a_process_of_its_own_greets_it_itself(daemon: SharedAgentDaemon) -> None:
    talks = [Talk(daemon, agent="dedicated") for _ in range(2)]
    pids = {said(talk.turn("pid"))[0] for talk in talks}
    assert len(pids) == 2
    for talk in talks:
        assert said(talk.turn("say la la")) == ["lala"]
        assert talk.conforms()[-1]["raw"] is None
        talk.terminate()
    assert not any(lives(int(pid)) for pid in pids)


def test_both_sides_name_the_protocol(daemon: SharedAgentDaemon) -> None:
    talk = Talk(daemon, agent="dedicated")
    talk.turn("say la")
    raws = [event["raw"] for event in talk.events(raw=True) if event["source"] == "agent"]
    assert raws
    assert all(raw["jsonrpc"] == "2.0" for raw in raws)


def test_a_permission_is_answered_under_the_agents_own_number(daemon: SharedAgentDaemon) -> None:
    talk = Talk(daemon, agent="dedicated")
    for reply in ("once", "reject"):
        talk.send("ask_for tea")
        talk.reply(talk.until("permission.requested"), reply)
        talk.until("turn.ended")
    assert said(talk.conforms()) == ["tea once", "tea reject"]


def test_case_20_an_unknown_request_is_refused_and_kept(daemon: SharedAgentDaemon) -> None:
    talk = Talk(daemon, agent="dedicated")
    assert said(talk.turn("odd")) == ["-32601"]
    (unparsed,) = [event for event in talk.events(raw=True) if event["type"] == "agent.unparsed"]
    assert unparsed["raw"]["method"] == "client/odd"
    talk.conforms()


def test_what_answers_nothing_is_kept(daemon: SharedAgentDaemon) -> None:
    talk = Talk(daemon, agent="dedicated")
    turn = talk.turn("stray")
    assert said(turn) == ["done"]
    told = [each["error"] for each in of_type(turn, "agent.unparsed")]
    assert "never-asked" in told[0]
    assert len(told) == 2
    talk.conforms()


def test_a_request_that_is_not_answered_in_time_fails(daemon: SharedAgentDaemon) -> None:
    talk = Talk(daemon, agent="dedicated")
    turn = talk.turn("mute")
    assert outcome(turn) == "failed"
    assert of_type(turn, "error")[0]["message"] == "no answer in time"
    assert said(talk.turn("say la")) == ["la"]
    talk.conforms()


def test_a_process_of_ones_own_that_dies_resumes(daemon: SharedAgentDaemon) -> None:
    talk = Talk(daemon, agent="dedicated")
    native = talk.turn("say la") and talk.info["nativeSessionId"]
    os.kill(int(said(talk.turn("pid"))[0]), signal.SIGKILL)
    assert said(talk.turn("say lo")) == ["lo"]
    assert outcome(talk.turn("crash 4")) == "failed"
    assert said(talk.turn("say li")) == ["li"]
    assert talk.info["nativeSessionId"] == native
    talk.conforms()
