"""Interrupts, changes, ends, crashes and resumes of the mock agent, through the real daemon."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon import Daemon, running

from .story import Event, Talk, items, lives, of_type, outcome, said, text


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon that does not wait long for agents that do not want to end."""
    env = {"DRAGOMAN_STOP_DEADLINE_S": "0.5"}
    with running(tmp_path_factory.mktemp("daemon"), env=env) as started:
        yield started


def resolved(events: list[Event]) -> list[Event]:
    return of_type(events, "permission.resolved") + of_type(events, "question.resolved")


# --- Interrupts ---


@pytest.mark.parametrize(
    ("prompt", "sign"),
    [
        ("slow 1000", "item.delta"),
        ("hang", "item.delta"),
        ("permission", "permission.requested"),
        ("question", "question.requested"),
        ("spawn-children", "item.delta"),
    ],
)
def test_an_interrupt_ends_the_turn_and_not_the_session(
    daemon: Daemon, prompt: str, sign: str
) -> None:
    talk = Talk(daemon)
    talk.send(prompt)
    talk.until("item.started")
    talk.until(sign)
    talk.interrupt()
    talk.until("turn.ended")
    events = talk.conforms()
    assert outcome(events) == "interrupted"
    assert talk.info["lastOutcome"] == "interrupted"
    for request in resolved(events):
        assert request["status"] in ("reject", "rejected")
        assert request["metadata"]["reason"] == "interrupt"
    assert len(resolved(events)) == ("requested" in sign)
    assert said(talk.turn("hello")) == ["hello"]


def test_what_was_being_said_at_an_interrupt_is_kept_as_failed(daemon: Daemon) -> None:
    talk = Talk(daemon)
    talk.send("hang")
    talk.until("item.delta")
    talk.until("item.delta")
    talk.interrupt()
    talk.until("turn.ended")
    (cut,) = items(talk.conforms(), "message", "assistant")
    assert (cut["status"], cut["reason"], text(cut)) == ("failed", "interrupted", "Wait for it ")


def test_requests_are_withdrawn_before_the_agent_hears_of_the_interrupt(daemon: Daemon) -> None:
    talk = Talk(daemon)
    talk.send("permission")
    talk.until("permission.requested")
    talk.interrupt()
    talk.until("turn.ended")
    types = [event["type"] for event in talk.events()]
    assert types.index("permission.resolved") < types.index("turn.ended")
    call, result = items(talk.events(), "tool_call")[0], items(talk.events(), "tool_result")[0]
    assert (call["status"], result["status"], result["reason"]) == (
        "completed",
        "failed",
        "interrupted",
    )


def test_an_agent_that_does_not_heed_an_interrupt_loses_its_process(daemon: Daemon) -> None:
    talk = Talk(daemon)
    talk.send("ignore-sigterm")
    talk.until("item.started")
    talk.until("item.started")
    talk.until("item.delta")
    (pid,) = talk.processes()
    native = talk.info["nativeSessionId"]
    talk.interrupt()
    talk.until("turn.ended")
    assert outcome(talk.conforms()) == "interrupted"
    assert not lives(pid)
    assert said(talk.turn("hello")) == ["hello"]
    assert talk.info["nativeSessionId"] == native
    talk.conforms()


def test_an_interrupt_without_a_turn_is_no_event(daemon: Daemon) -> None:
    talk = Talk(daemon)
    talk.interrupt()
    assert [event["type"] for event in talk.events()] == ["session.started"]
    talk.turn("hello")
    before = talk.events()
    talk.interrupt()
    assert talk.events() == before


def test_queued_messages_stay_queued_through_an_interrupt(daemon: Daemon) -> None:
    talk = Talk(daemon)
    talk.send("hang")
    talk.until("item.delta")
    talk.send("echo after")
    talk.until("queue.updated")
    talk.interrupt()
    talk.until("turn.ended")
    talk.until("turn.ended")
    events = talk.conforms()
    assert [data["outcome"] for data in of_type(events, "turn.ended")] == [
        "interrupted",
        "completed",
    ]
    assert said(events)[-1] == "after"


# --- Changes ---

CHANGES = {"model": "mock-large", "variant": "high", "agentMode": "plan", "permissionMode": "plan"}
SHOWN = {"model": "mock-large", "variant": "high", "mode": "plan", "permission_mode": "plan"}


def _changed(talk: Talk, state: str) -> list[Event]:
    if state != "new":
        talk.turn("hello")
    if state == "running":
        talk.send("hang")
        talk.until("turn.started")
    before = talk.events()[-1]["sequence"]
    info = talk.patch(title="A title", **CHANGES)
    assert {name: info[name] for name in CHANGES} == CHANGES
    assert info["title"] == "A title"
    later = [event for event in talk.events() if event["sequence"] > before]
    return [event for event in later if event["type"] == "session.updated"]


@pytest.mark.parametrize("state", ["new", "idle", "running"])
def test_a_change_is_an_event_of_ours_and_lasts(daemon: Daemon, state: str) -> None:
    talk = Talk(daemon)
    updates = _changed(talk, state)
    assert {update["source"] for update in updates} == {"daemon"}
    merged = {name: value for update in updates for name, value in update["data"].items()}
    assert merged == {"title": "A title", **SHOWN}
    if state == "running":
        talk.interrupt()
        talk.until("turn.ended")
    turn = talk.turn("edit")
    assert list(turn[-1]["data"]["usage"]["models"]) == ["mock-large"]
    assert of_type(turn, "permission.resolved")[0]["approver"]["rule"] == "mode:plan"
    talk.conforms()


def test_a_title_alone_does_not_reach_the_agent(daemon: Daemon) -> None:
    talk = Talk(daemon)
    talk.turn("hello")
    talk.patch(title="T")
    assert talk.events()[-1]["data"] == {"title": "T"}


def test_a_mode_that_nobody_has_changes_nothing(daemon: Daemon) -> None:
    talk = Talk(daemon)
    reply = daemon.request("PATCH", talk.path, {"agentMode": "nonsense"})
    assert (reply.status, reply.json["title"]) == (400, "Mode Not Supported")
    assert len(talk.events()) == 1


# --- Ends ---


@pytest.mark.parametrize(
    ("prompt", "sign"),
    [
        ("slow 1000", "item.delta"),
        ("hang", "item.delta"),
        ("permission", "permission.requested"),
        ("question", "question.requested"),
        ("ignore-sigterm", "item.delta"),
        ("spawn-children", "item.delta"),
        ("burst 100000 200", "item.delta"),
    ],
)
def test_terminate_ends_everything_at_any_time(daemon: Daemon, prompt: str, sign: str) -> None:
    talk = Talk(daemon)
    talk.send(prompt)
    talk.until("turn.started")
    talk.send("echo never delivered")
    talk.until(sign)
    talk.terminate()
    assert talk.processes() == []
    events = talk.conforms()
    assert events[-1]["data"] == {"reason": "terminated", "terminated_by": "daemon"}
    for request in resolved(events):
        assert request["metadata"]["reason"] == "session_end"
    assert outcome(events) == "interrupted"
    talk.terminate()
    assert talk.events() == events
    assert talk.info["status"] == "ended"


@pytest.mark.parametrize("prompts", [(), ("hello",)])
def test_terminate_between_turns_is_one_event(daemon: Daemon, prompts: tuple[str, ...]) -> None:
    talk = Talk(daemon)
    for prompt in prompts:
        talk.turn(prompt)
    before = talk.events()
    talk.terminate()
    assert talk.processes() == []
    events = talk.conforms()
    assert events[:-1] == before
    assert events[-1]["data"] == {"reason": "terminated", "terminated_by": "daemon"}


def test_terminate_leaves_none_of_the_agents_children(daemon: Daemon) -> None:
    talk = Talk(daemon)
    talk.send("spawn-children")
    while not items(talk.events(), "tool_result"):
        talk.until("item.completed")
    (result,) = items(talk.events(), "tool_result")
    pids = [int(line) for line in result["content"][0]["output"].split()]
    assert len(pids) == 4
    assert all(map(lives, pids))
    talk.terminate()
    assert not any(map(lives, pids))
    assert talk.processes() == []


# --- Crashes ---


def test_after_a_crash_the_next_message_goes_on_in_the_same_native_session(daemon: Daemon) -> None:
    talk = Talk(daemon)
    turn = talk.turn("crash")
    native = talk.info["nativeSessionId"]
    (error,) = of_type(turn, "error")
    assert error["code"] == "process_exit"
    assert error["details"]["exit_code"] == 3
    assert error["details"]["signal"] is None
    assert error["details"]["stderr"] == {
        "head": "mock agent: something terrible happened\nmock agent: exit code 3",
        "truncated": False,
        "total_lines": 2,
    }
    (cut,) = items(turn, "message", "assistant")
    assert (cut["status"], cut["reason"], text(cut)) == (
        "failed",
        "process_exit",
        "I do not feel so w",
    )
    assert outcome(turn) == "failed"
    assert (talk.info["status"], talk.info["ended"]) == ("idle", False)
    assert said(talk.turn("hello")) == ["hello"]
    assert talk.info["nativeSessionId"] == native
    talk.conforms()


def test_a_process_that_counts_from_one_again_confuses_nobody(daemon: Daemon) -> None:
    """A new process uses the keys and call ids of the last one again."""
    talk = Talk(daemon)
    talk.turn("tools")
    assert talk.patch(title="T")["status"] == "idle"
    talk.turn("crash")
    results = items(talk.turn("tools"), "tool_result")
    assert [result["status"] for result in results].count("failed") == 1
    talk.conforms()


# --- What an agent is given ---


@pytest.fixture
def witness(tmp_path: Path) -> Iterator[tuple[Daemon, Path]]:
    """A daemon whose mock agent first writes down what it was given, and that file."""
    given = tmp_path / "given"
    wrapper = tmp_path / "witness"
    wrapper.write_text(
        f"#!/bin/sh\n{{ env -0; printf 'CWD=%s\\0' \"$(pwd)\"; "
        f"printf 'ARG=%s\\0' \"$@\"; }} > {given}\n"
        f'exec {sys.executable} -P -m dragoman.testing.mock.agent "$@"\n'
    )
    wrapper.chmod(0o755)
    env = {"DRAGOMAN_MOCK_COMMAND": str(wrapper), "DRAGOMAN_LOG_LEVEL": "warning"}
    with running(tmp_path / "data", env=env) as daemon:
        yield daemon, given


def test_a_sessions_env_and_directory_reach_the_agent_and_ours_does_not(
    witness: tuple[Daemon, Path], tmp_path: Path
) -> None:
    daemon, given = witness
    work = tmp_path / "work"
    work.mkdir()
    talk = Talk(
        daemon, directory=str(work), env={"GREETING": "hello=you\nthere"}, model="mock-large"
    )
    talk.turn("hello")
    seen = given.read_text().rstrip("\0").split("\0")
    assert "GREETING=hello=you\nthere" in seen
    assert f"CWD={work}" in seen
    assert "ARG=--model=mock-large" in seen
    ours = [value for value in seen if value.startswith("DRAGOMAN_")]
    assert [value.partition("=")[0] for value in ours] == ["DRAGOMAN_MARK"]
    assert daemon.token not in given.read_text()
    assert "GREETING" not in str(talk.info)
    assert "GREETING" not in str(talk.events())


# --- Resumes ---


def test_a_session_goes_on_in_a_new_one(daemon: Daemon) -> None:
    first = Talk(daemon)
    first.turn("hello")
    first.terminate()
    native = first.info["nativeSessionId"]
    for resume in ({"sessionId": first.id}, {"nativeSessionId": native}):
        talk = Talk(daemon, resume=resume)
        assert talk.info["nativeSessionId"] == native
        talk.turn("hello")
        assert _options(talk) >= {f"--session={native}", "--resume"}
        assert talk.info["nativeSessionId"] == native
        talk.terminate()
        talk.conforms()


def test_a_fork_goes_on_under_an_id_of_its_own(daemon: Daemon) -> None:
    first = Talk(daemon)
    first.turn("hello")
    native = first.info["nativeSessionId"]
    talk = Talk(daemon, resume={"sessionId": first.id, "fork": True})
    talk.turn("hello")
    assert _options(talk) >= {f"--session={native}", "--fork"}
    forked = talk.info["nativeSessionId"]
    assert forked != native
    talk.turn("crash")
    talk.turn("hello")
    assert talk.info["nativeSessionId"] == forked
    assert first.info["nativeSessionId"] == native


def _options(talk: Talk) -> set[str]:
    """What the session's process was started with."""
    (pid,) = talk.processes()
    return set(Path(f"/proc/{pid}/cmdline").read_text().split("\0"))


def test_what_never_started_cannot_be_resumed(daemon: Daemon) -> None:
    first = Talk(daemon)
    for resume in ({"sessionId": first.id}, {}):
        reply = daemon.request("POST", "/sessions", {"agent": "mock", "resume": resume})
        assert (reply.status, reply.json["details"]["field"]) == (400, "resume")
    missing = {"agent": "mock", "resume": {"sessionId": "nobody"}}
    assert daemon.request("POST", "/sessions", missing).status == 404
