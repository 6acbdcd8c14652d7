"""Case 17: an agent that does not read its input is told off, and holds nobody up."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.daemon import Daemon, running
from tests.testing.story import Talk, of_type, outcome, said

from .common import wait_for_agent
from .culprits import WORDS, patience
from .puppet import BEGIN, DONE, END, ENV, MESSAGE, prompt, write

DEADLINE_S = 1.0
BUSY = prompt(*write(BEGIN + MESSAGE + WORDS + DONE + END), ["stay"])
LONG = "x" * (1 << 20)
"""More than a pipe holds."""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    env = {
        **ENV,
        "DRAGOMAN_SEND_DEADLINE_S": str(DEADLINE_S),
        "DRAGOMAN_STOP_DEADLINE_S": "0.3",
    }
    with running(tmp_path_factory.mktemp("daemon"), env=env) as started:
        yield started


def test_case_17_a_message_that_nobody_reads_is_accepted_and_its_turn_fails(
    daemon: Daemon,
) -> None:
    talk = Talk(daemon)
    talk.turn(BUSY)
    message_id = talk.send(LONG)
    ended = talk.until("turn.ended")["data"]
    events = talk.conforms()
    (error,) = of_type(events, "error")
    assert (ended["outcome"], error["code"]) == ("failed", "stdin_blocked")
    shown = [data["item"].get("message_id") for data in of_type(events, "item.completed")]
    assert shown.count(message_id) == 1
    assert talk.processes() == []
    assert said(talk.turn(patience(1))) == ["There. "]
    talk.conforms()


def test_case_17_meanwhile_everybody_else_is_served(daemon: Daemon) -> None:
    other = Talk(daemon)
    other.send(patience(100))
    wait_for_agent(daemon, other.id, "item.delta")
    talk = Talk(daemon)
    talk.turn(BUSY)
    began = time.monotonic()
    talk.send(LONG)
    slowest = 0.0
    while time.monotonic() < began + DEADLINE_S:
        asked = time.monotonic()
        daemon.get("/health")
        slowest = max(slowest, time.monotonic() - asked)
    assert slowest < DEADLINE_S / 2
    assert talk.until("error")["data"]["code"] == "stdin_blocked"
    assert other.until("turn.ended")["data"]["outcome"] == "completed"
    assert said(other.conforms()) == ["There. " * 100]


def test_case_17_many_messages_for_one_who_does_not_read_wait_in_the_store(
    daemon: Daemon,
) -> None:
    talk = Talk(daemon)
    talk.turn(BUSY)
    ids = [talk.send(LONG), *(talk.send(patience(1)) for _ in range(20))]
    for _ in ids:
        talk.until("turn.ended")
    events = talk.conforms()
    outcomes = [data["outcome"] for data in of_type(events, "turn.ended")]
    assert outcomes == ["completed", "failed", *["completed"] * 20]


def test_case_17_an_input_that_is_never_read_ends_with_its_session(daemon: Daemon) -> None:
    talk = Talk(daemon)
    assert outcome(talk.turn(BUSY)) == "completed"
    talk.send(LONG)
    talk.terminate()
    assert talk.conforms()[-1]["type"] == "session.ended"
    assert talk.processes() == []
