"""SIGKILL, over and over, while sessions run: nothing that was shown is lost, nothing doubled.

`DRAGOMAN_TEST_KILLS` sets the number of kills, `DRAGOMAN_TEST_SEED` repeats a run.
"""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from dragoman.store import check
from dragoman.testing.conformance import check_lines
from tests.daemon import Daemon
from tests.torture.clients import Reader, Sender, Up, agents_of, free_port, stored

KILLS = int(os.environ.get("DRAGOMAN_TEST_KILLS", "30"))
TURNS = 4 * KILLS
SESSIONS, READERS = 10, 20
LONGEST_LIFE_S = 0.4
STEPS = min(2 * KILLS // 5, 60)
"""How many events of one turn are, each in its own run, the daemon's last."""
PROMPTS = (
    "echo hi", "slow 20", "slow 60", "burst 200 200", "tool", "demo", "markdown", "reasoning",
    "subagent", "status", "error", "unparsed", "usage", "image", "permission", "edit", "garbage",
)  # fmt: skip


class Household:
    """A daemon, its sessions, and everybody who talks to it."""

    def __init__(self, data_dir: Path, dice: random.Random, sessions: int, readers: int) -> None:
        self.daemon = Daemon(data_dir, env={"DRAGOMAN_HEARTBEAT_S": "1"})
        self.daemon.port = free_port(dice)
        self.up = Up()
        names = [f"s{at}" for at in range(sessions)]
        with self.up.down():
            self.daemon.start()
        for name in names:
            self.daemon.create(name, permissionMode="bypass")
        self.senders = [Sender(self.daemon, self.up, name) for name in names]
        self.readers = [Reader(self.daemon, self.up, names[at % sessions]) for at in range(readers)]
        for thread in (*self.senders, *self.readers):
            thread.start()

    def kill_and_start(self) -> None:
        with self.up.down():
            self.daemon.kill()
            self.daemon.start()

    def finish(self) -> None:
        """Let everything be accepted and come to its end, then end the sessions."""
        for sender in self.senders:
            sender.orders.put(None)
        for sender in self.senders:
            sender.join(120)
            assert not sender.is_alive(), f"{sender.session_id} does not take its messages"
            assert sender.failed is None, sender.failed
        for sender in self.senders:
            self._settle(sender.session_id)
            reply = self.daemon.request("POST", f"/sessions/{sender.session_id}/terminate")
            assert reply.status == 204, reply.body
        for reader in self.readers:
            reader.join(60)
            assert reader.refused is None, reader.refused
            assert not reader.is_alive(), f"a reader of {reader.session_id} sees no end"

    def _settle(self, session_id: str) -> None:
        """Wait until nothing runs, and nothing waits."""
        deadline = time.monotonic() + 120
        after = 0
        while time.monotonic() < deadline:
            info = self.daemon.get(f"/sessions/{session_id}")
            if info["status"] == "idle" and not info["pendingCount"]:
                return
            after = self.daemon.wait_for(session_id, "turn.ended", after)["sequence"]
        raise AssertionError(f"{session_id} does not come to rest")


@contextmanager
def household(
    data_dir: Path, dice: random.Random, sessions: int, readers: int
) -> Iterator[Household]:
    """A household whose daemon is gone afterwards, whatever happened."""
    home = Household(data_dir, dice, sessions, readers)
    try:
        yield home
    finally:
        home.up.end()
        for sender in home.senders:
            sender.orders.put(None)
        if home.daemon.process is not None:
            home.daemon.stop()


def judge(home: Household) -> Counter[str]:
    """What must be true of every session, whatever happened; the outcomes of its turns."""
    outcomes: Counter[str] = Counter()
    for sender in home.senders:
        lines = stored(home.daemon, sender.session_id)
        events = [msgspec.json.decode(line) for line in lines]
        numbers = list(range(1, len(lines) + 1))
        assert [event["sequence"] for event in events] == numbers
        assert len({event["event_id"] for event in events}) == len(events)
        assert check_lines(lines) == []
        for reader in home.readers:
            if reader.session_id == sender.session_id:
                assert [sequence for sequence, _ in reader.seen] == numbers
                assert [line for _, line in reader.seen] == lines
        shown = Counter(
            (event["type"], event["data"]["item"]["message_id"])
            for event in events
            if event["type"] in ("item.started", "item.completed")
            and event["data"]["item"].get("message_id")
        )
        wanted = {
            (type, message_id)
            for message_id in sender.accepted.values()
            for type in ("item.started", "item.completed")
        }
        assert shown == Counter(wanted)
        outcomes.update(e["data"]["outcome"] for e in events if e["type"] == "turn.ended")
    return outcomes


def judge_the_dead(home: Household) -> None:
    """Stop the daemon; nothing of ours may live, and the file must be whole."""
    assert home.daemon.stop() == 0
    data_dir = home.daemon.data_dir
    assert agents_of(data_dir) == []
    assert check(data_dir) == []
    assert list(data_dir.glob("*.damaged-*")) == []
    db = sqlite3.connect(data_dir / "dragoman.db")
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    db.close()


def dice_of(capsys: pytest.CaptureFixture[str]) -> random.Random:
    seed = int(os.environ.get("DRAGOMAN_TEST_SEED", "0")) or random.SystemRandom().randrange(
        1 << 32
    )
    with capsys.disabled():
        os.write(2, f"\nDRAGOMAN_TEST_SEED={seed}\n".encode())
    return random.Random(seed)


@pytest.mark.slow
@pytest.mark.timeout(max(120, 5 * KILLS))
def test_case_22_nothing_is_lost_or_doubled_when_the_daemon_is_killed_again_and_again(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dice = dice_of(capsys)
    with household(data_dir, dice, SESSIONS, READERS) as home:
        kill_while_working(home, dice)


def kill_while_working(home: Household, dice: random.Random) -> None:
    orders = [(f"key-{at}", dice.choice(PROMPTS)) for at in range(TURNS)]
    per_kill = TURNS // KILLS
    for at in range(KILLS):
        for key, prompt in orders[at * per_kill : (at + 1) * per_kill]:
            dice.choice(home.senders).orders.put((key, prompt))
        # Wait for something to be seen, by a reader of one's choice, or for a while.
        reader = dice.choice(home.readers)
        reader.wait_for(len(reader.seen) + dice.randrange(1, 60), dice.uniform(0, LONGEST_LIFE_S))
        home.kill_and_start()
    home.finish()
    outcomes = judge(home)
    assert sum(len(sender.accepted) for sender in home.senders) == TURNS
    assert sum(outcomes.values()) == TURNS
    assert outcomes["interrupted"] >= KILLS // 5, "the kills hit nothing that ran"
    assert sum(reader.cuts for reader in home.readers) >= KILLS
    judge_the_dead(home)


@pytest.mark.slow
@pytest.mark.timeout(max(120, 5 * KILLS))
def test_case_22_any_event_may_be_the_last_that_a_daemon_shows(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with household(data_dir, dice_of(capsys), sessions=1, readers=2) as home:
        kill_step_by_step(home)


def kill_step_by_step(home: Household) -> None:
    sender, reader = home.senders[0], home.readers[0]
    assert reader.wait_for(1, 30)
    for step in range(1, STEPS + 1):
        seen = len(reader.seen)
        sender.orders.put((f"key-{step}", "demo" if step % 2 else "tool"))
        # A turn that is shorter than this many events is killed at its end.
        reader.wait_for(seen + step, 1.5 if step < 12 else 0.3)
        home.kill_and_start()
    home.finish()
    outcomes = judge(home)
    assert sum(outcomes.values()) == STEPS
    assert outcomes["interrupted"] >= 5
    judge_the_dead(home)
