"""Case 29, at the worst moment: what people want of an agent that dies just then."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dragoman.runtime.processes import linux
from tests.daemon import Daemon, Reply
from tests.shared_agent import house
from tests.testing.story import Talk, lives, of_type, outcome

from .common import eventually, pid_of

ASK = {"mock": "permission", "shared": "ask_for tea", "dedicated": "ask_for tea"}
WORK = {"mock": "hang", "shared": "wait la", "dedicated": "wait la"}
HELLO = {"mock": "echo hi", "shared": "say hi", "dedicated": "say hi"}
AGENTS = tuple(ASK)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with house(tmp_path_factory.mktemp("daemon")) as started:
        yield started


def at_its_death(talk: Talk, wish: Callable[[], Reply]) -> Reply:
    """What a person is told whose wish and the agent's death come to the daemon together."""
    daemon, (agent,) = pid_of(talk.daemon), talk.processes() or servers(talk)
    os.kill(daemon, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool:
        try:
            os.kill(agent, signal.SIGKILL)
            eventually(lambda: linux.state(agent) == "Z", "it is dead")
            told = pool.submit(wish)
            eventually(lambda: told.running(), "it was asked for")
        finally:
            os.kill(daemon, signal.SIGCONT)
        return told.result()


def servers(talk: Talk) -> list[int]:
    """The process that serves this session, and others."""
    mark = f"{linux.mark_of(talk.daemon.data_dir)}:server:{talk.info['agent']}-1"
    return [pid for pid, _ in linux.marked(mark) if lives(pid)]


def asked(talk: Talk) -> str:
    talk.send(ASK[talk.info["agent"]])
    return str(talk.until("permission.requested")["data"]["permission_id"])


def goes_on(talk: Talk) -> None:
    """The death was told once, and the session lives."""
    talk.until("turn.ended")
    (end,) = of_type(talk.conforms(), "turn.ended")[1:]
    assert end["outcome"] == "failed"
    (error,) = of_type(talk.events(), "error")
    assert (error["code"], error["details"]["signal"]) == ("process_exit", 9)
    assert outcome(talk.turn(HELLO[talk.info["agent"]])) == "completed"
    talk.conforms()


@pytest.mark.parametrize(("reply", "status"), [("once", 409), ("reject", 204)])
@pytest.mark.parametrize("agent", AGENTS)
def test_case_29_a_reply_to_an_agent_that_dies_just_then_is_told_how_it_ended(
    daemon: Daemon, agent: str, reply: str, status: int
) -> None:
    talk = Talk(daemon, agent=agent)
    talk.turn(HELLO[agent])
    permission = asked(talk)
    path = f"/permissions/{permission}/reply"
    told = at_its_death(talk, lambda: talk.post(path, {"reply": reply}))
    assert told.status == status, told.body
    if status == 409:
        assert told.json["title"] == "Already Resolved"
        assert told.json["details"]["winner"] == {"status": "reject", "reason": "process_exit"}
    goes_on(talk)
    (resolved,) = of_type(talk.events(), "permission.resolved")
    assert resolved["metadata"]["reason"] == "process_exit"


def test_case_29_a_reply_at_the_death_of_an_agent_that_cannot_resume_is_gone(
    daemon: Daemon,
) -> None:
    talk = Talk(daemon, agent="volatile")
    talk.send("ask_for tea")
    permission = talk.until("permission.requested")["data"]["permission_id"]
    path = f"/permissions/{permission}/reply"
    told = at_its_death(talk, lambda: talk.post(path, {"reply": "reject"}))
    assert (told.status, told.json["title"]) == (410, "Session Ended")
    assert talk.conforms()[-1]["type"] == "session.ended"


@pytest.mark.parametrize("agent", AGENTS)
def test_case_29_an_interrupt_of_an_agent_that_dies_just_then_finds_nothing_to_end(
    daemon: Daemon, agent: str
) -> None:
    talk = Talk(daemon, agent=agent)
    talk.turn(HELLO[agent])
    talk.send(WORK[agent])
    talk.until("turn.started")
    told = at_its_death(talk, lambda: talk.post("/interrupt"))
    assert told.status == 204, told.body
    goes_on(talk)


@pytest.mark.parametrize("agent", AGENTS)
def test_case_29_a_change_while_the_agent_dies_is_for_the_next_process(
    daemon: Daemon, agent: str
) -> None:
    talk = Talk(daemon, agent=agent)
    talk.turn(HELLO[agent])
    talk.send(WORK[agent])
    talk.until("turn.started")
    wanted = {"permissionMode": "bypass"}
    told = at_its_death(talk, lambda: daemon.request("PATCH", talk.path, wanted))
    assert told.status == 200, told.body
    assert told.json["permissionMode"] == "bypass"
    goes_on(talk)


def test_case_29_a_reply_that_could_not_be_written_is_not_counted_as_given(tmp_path: Path) -> None:
    with house(tmp_path, DRAGOMAN_INTERRUPT_DEADLINE_S="0.2") as daemon:
        talk = Talk(daemon, agent="dedicated")
        talk.turn("say hi")
        talk.send("ask_deaf closed")
        permission = talk.until("permission.requested")["data"]["permission_id"]
        for reply in ("once", "reject", "once"):  # nobody has won: each may try
            told = talk.post(f"/permissions/{permission}/reply", {"reply": reply})
            assert (told.status, told.json["title"]) == (500, "Agent Process Exited")
        talk.interrupt()
        assert talk.until("turn.ended")["data"]["outcome"] == "interrupted"
        (resolved,) = of_type(talk.conforms(), "permission.resolved")
        assert resolved["metadata"]["reason"] == "interrupt"


def test_case_29_a_reply_that_the_agent_does_not_read_fails_the_turn(tmp_path: Path) -> None:
    with house(tmp_path, DRAGOMAN_SEND_DEADLINE_S="0.3") as daemon:
        talk = Talk(daemon, agent="dedicated")
        talk.turn("say hi")
        talk.send("ask_deaf tea")
        permission = talk.until("permission.requested")["data"]["permission_id"]
        body: Any = {"reply": "reject", "message": "x" * (1 << 20)}
        told = talk.post(f"/permissions/{permission}/reply", body)
        assert told.status == 204, told.body  # as it was resolved for the agent's end
        talk.until("turn.ended")
        (error,) = of_type(talk.conforms(), "error")
        assert error["code"] == "stdin_blocked"
        assert outcome(talk.turn("say hi")) == "completed"
