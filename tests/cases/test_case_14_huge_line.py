"""Case 14: a huge line costs no memory, no other line, and no session."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon import Daemon, running
from tests.testing.story import Talk, outcome, said

from .puppet import unparsed

MAX_LINE = 64 << 10


@pytest.fixture
def daemon(data_dir: Path) -> Iterator[Daemon]:
    with running(data_dir, env={"DRAGOMAN_MAX_LINE_BYTES": str(MAX_LINE)}) as started:
        yield started


def peak_kib(daemon: Daemon) -> int:
    """The most memory that the daemon ever had."""
    assert daemon.process is not None
    status = Path(f"/proc/{daemon.process.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def test_case_14_a_line_of_64_mb_costs_next_to_no_memory_and_harms_nothing(daemon: Daemon) -> None:
    talk = Talk(daemon)
    talk.turn("hello")
    before = peak_kib(daemon)
    turn = talk.turn(f"huge {64 << 20}")
    assert peak_kib(daemon) - before < 16 << 10
    (event,) = unparsed(talk.events(raw=True))
    assert "oversize" in event["data"]["error"]
    assert str(64 << 20) in event["data"]["error"]
    assert said(turn)[-1] == "That was a long line."
    assert outcome(turn) == "completed"
    assert said(talk.turn("hello")) == ["hello"]
    talk.conforms()


def test_case_14_of_an_oversize_line_the_beginning_and_the_hash_of_all_are_kept(
    daemon: Daemon,
) -> None:
    talk = Talk(daemon)
    talk.turn(f"huge {MAX_LINE + 100}")
    (event,) = unparsed(talk.events(raw=True))
    head, tail = b'{"type":"delta","key":"m1","text":"', b'"}'
    whole = head + b"x" * (MAX_LINE + 100 - len(head) - len(tail)) + tail
    assert event["data"]["raw_hash"] == hashlib.sha256(whole).hexdigest()
    assert event["raw"]["encoding"] == "base64"


def test_case_14_a_line_at_the_limit_is_decoded(daemon: Daemon) -> None:
    talk = Talk(daemon)
    turn = talk.turn(f"huge {MAX_LINE}")
    assert unparsed(talk.events()) == []
    assert len(said(turn)[0]) > MAX_LINE - 100


def test_case_14_a_line_that_never_ends_is_known_when_the_agent_is_gone(daemon: Daemon) -> None:
    talk = Talk(daemon)
    talk.turn("hello")
    before = peak_kib(daemon)
    for _ in range(3):
        talk.turn(f"huge {8 << 20}")
    assert peak_kib(daemon) - before < 16 << 10
    assert len(unparsed(talk.events())) == 3
