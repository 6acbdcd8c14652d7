"""Case 21, and those around it: whatever an agent does, it harms neither us nor the others."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tests.daemon import Daemon, running
from tests.testing.story import Talk, said

from .common import memory_bytes, wait_for_agent
from .culprits import WORDS, patience
from .puppet import BEGIN, DONE, END, ENV, MESSAGE, Act, prompt, write

FLAT_BYTES = 32 << 20
SMILE = "\N{SMILING FACE WITH OPEN MOUTH}"
SPLIT = b'{"type":"delta","key":"m1","text":"%b"}\n' % SMILE.encode()
IN_TURN = write(BEGIN + MESSAGE + WORDS)
OVER = write(DONE + END)
MANNERS: dict[str, list[Act]] = {
    "exit 0 in mid-turn": [*IN_TURN, ["exit", 0]],
    "crash": [*IN_TURN, ["stderr", "no more\n"], ["exit", 3]],
    "segmentation fault": [*IN_TURN, ["kill", signal.SIGSEGV]],
    "a line of 64 MB": [*IN_TURN, ["huge", 64 << 20], *OVER],
    "a line of 64 MB without an end": [*IN_TURN, ["huge", 64 << 20], ["exit", 0]],
    "invalid UTF-8": [*IN_TURN, *write(b"\xff\xfe\xc3\x28\n"), *OVER],
    "split characters": [*IN_TURN, *write(*(bytes([each]) for each in SPLIT)), *OVER],
    "a flood on stderr": [*IN_TURN, ["flood", 40 << 10], *OVER],
    "a flood on stderr before the end": [*IN_TURN, ["flood", 40 << 10], ["exit", 1]],
    "stops to read": [*IN_TURN, ["deaf"], *OVER, ["stay"]],
}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    env = {**ENV, "DRAGOMAN_STOP_DEADLINE_S": "0.3", "DRAGOMAN_SEND_DEADLINE_S": "1"}
    with running(tmp_path_factory.mktemp("daemon"), env=env) as started:
        Talk(started).turn(patience(1))
        yield started


@pytest.mark.parametrize("manner", MANNERS)
def test_case_21_bad_manners_cost_no_memory_no_process_and_no_other_session(
    daemon: Daemon, manner: str
) -> None:
    other = Talk(daemon)
    other.send(patience(50))
    wait_for_agent(daemon, other.id, "item.delta")
    talk = Talk(daemon)
    talk.turn(patience(1))
    before = memory_bytes(daemon)
    for _ in range(3):  # whoever crashes does it again
        talk.turn(prompt(*MANNERS[manner]))
    assert memory_bytes(daemon) - before < FLAT_BYTES
    assert said(talk.turn(patience(1))) == ["There. "]
    talk.terminate()
    talk.conforms()
    assert talk.processes() == []
    assert other.until("turn.ended")["data"]["outcome"] == "completed"
    assert said(other.conforms()) == ["There. " * 50]
    other.terminate()


def test_case_21_characters_that_are_split_across_writes_are_whole(daemon: Daemon) -> None:
    talk = Talk(daemon)
    turn = talk.turn(prompt(*MANNERS["split characters"]))
    assert said(turn) == [f"There. {SMILE}"]
    talk.terminate()
    assert talk.processes() == []
