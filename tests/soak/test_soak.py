"""A crowd, for minutes, around a daemon whose agents die and which dies itself: nothing leaks.

The agents have every lifetime there is: one turn, one session, and many sessions at once.

`SOAK_S` sets how long, `DRAGOMAN_TEST_SEED` repeats a run as far as threads allow.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.store import check
from dragoman.testing.conformance import check_lines
from tests.cases.common import eventually, memory_bytes, open_files
from tests.daemon import Daemon
from tests.shared_agent import SharedAgentDaemon
from tests.soak.clients import (
    CAST,
    PEOPLE,
    READERS,
    SESSIONS,
    Person,
    Records,
    SlowReader,
    kill_an_agent,
)
from tests.torture.clients import Up, agents_of, free_port, stored
from tests.torture.test_kill import dice_of

SECONDS = float(os.environ.get("SOAK_S", "12"))
RESTLESS = 0.6
"""The part of the time in which the daemon dies now and then. Then it may show that it is flat."""
LIVES = max(3, int(SECONDS * RESTLESS / 8))
GROWTH_BYTES = 64 << 20
SPARE_FILES = 8
ENV = {
    "DRAGOMAN_HEARTBEAT_S": "1",
    "DRAGOMAN_INTERRUPT_DEADLINE_S": "0.5",
    "DRAGOMAN_SEND_DEADLINE_S": "1",
    "DRAGOMAN_STOP_DEADLINE_S": "0.5",
    "DRAGOMAN_TURN_TIMEOUT_S": "4",
    "DRAGOMAN_HITL_TIMEOUT_S": "3",
    "DRAGOMAN_IDLE_PROCESS_S": "2",
    "DRAGOMAN_MAX_PROCESSES": "24",
    "DRAGOMAN_MAX_TURNS": "16",
}


class Household:
    """A daemon, and the crowd around it."""

    def __init__(self, data_dir: Path, dice: random.Random) -> None:
        self.daemon: Daemon = SharedAgentDaemon(
            data_dir, env=ENV | {"SHARED_AGENT_HOME": str(data_dir.parent)}
        )
        self.daemon.port = free_port(dice)
        self.up = Up()
        self.records = Records()
        self.dice = dice
        with self.up.down():
            self.daemon.start()
        seeds = [dice.randrange(1 << 30) * 1000 + at for at in range(PEOPLE)]
        self.people = [Person(self.daemon, self.up, self.records, seed) for seed in seeds]
        for at in range(SESSIONS):
            assert self.people[at % PEOPLE].create()
        self.readers = [
            SlowReader(self.daemon, self.up, name, dice.randrange(1 << 30))
            for name in self.records.open[:READERS]
        ]
        for thread in (*self.people, *self.readers):
            thread.start()

    def live(self, seconds: float) -> None:
        """Let the crowd be; agents die."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, self.dice.uniform(0.2, 1.0)))
            killed = kill_an_agent(self.daemon, self.dice)
            if killed is not None:
                self.records.acts[killed] += 1

    def restart(self) -> None:
        """The daemon dies, by force or in peace, and is started again."""
        with self.up.down():
            if self.dice.random() < 0.5:
                self.daemon.kill()
            else:
                assert self.daemon.stop() == 0
            self.daemon.start()

    def calm(self) -> None:
        """Let everything come to its end: deadlines see to what nobody answers or stops."""
        self.up.over = True
        for person in self.people:
            person.join(60)
            assert not person.is_alive(), "a request was never answered"
        eventually(lambda: not self._working(), "everything comes to rest", 90)

    def _working(self) -> list[Any]:
        found = self.daemon.get("/sessions")["sessions"]
        return [
            each
            for each in found
            if each["status"] not in ("idle", "ended") or each["pendingCount"]
        ]

    def end(self) -> set[str]:
        """End all sessions; the ids of those that had not ended before."""
        going_on = set()
        for each in self.daemon.get("/sessions")["sessions"]:
            if not each["ended"]:
                going_on.add(each["sessionId"])
                reply = self.daemon.request("POST", f"/sessions/{each['sessionId']}/terminate")
                assert reply.status == 204, reply.body
        for reader in self.readers:
            reader.join(60)
            assert reader.refused is None, reader.refused
            assert not reader.is_alive(), f"a reader of {reader.session_id} sees no end"
        return going_on


def judge(home: Household, going_on: set[str]) -> Counter[tuple[str, str]]:
    """What the streams must say, of all that people were told; how each agent's turns ended."""
    records, outcomes = home.records, Counter[tuple[str, str]]()
    there = {each["sessionId"] for each in home.daemon.get("/sessions")["sessions"]}
    assert there >= going_on
    assert set(records.sessions) - there - records.deleted <= set(records.sessions[SESSIONS:])
    for session in sorted(there):
        lines = stored(home.daemon, session)
        events = [msgspec.json.decode(line) for line in lines]
        # Agents were killed in the middle of a line, and some prompts are for garbage.
        broken = [v for v in check_lines(lines, strict=True) if v.rule != "everything_parsed"]
        assert broken == []
        assert events[-1]["type"] == "session.ended"
        for reader in home.readers:
            if reader.session_id == session:
                assert [line for _, line in reader.seen] == lines
        judge_messages(records, session, events, going_on=session in going_on)
        judge_requests(records, events)
        ends = [event["data"]["outcome"] for event in events if event["type"] == "turn.ended"]
        outcomes.update((records.cast[session], outcome) for outcome in ends)
    return outcomes


def judge_messages(
    records: Records, session: str, events: list[dict[str, Any]], *, going_on: bool
) -> None:
    shown = Counter(
        event["data"]["item"]["message_id"]
        for event in events
        if event["type"] == "item.started" and event["data"]["item"].get("message_id")
    )
    assert all(count == 1 for count in shown.values()), "no message is shown twice"
    accepted = records.accepted[session]
    assert len(set(shown) - accepted) <= records.unsure[session], "nobody sent it"
    if going_on:
        assert accepted - records.cancelled <= set(shown), "what was accepted is shown"


def judge_requests(records: Records, events: list[dict[str, Any]]) -> None:
    asked = [_request(event) for event in events if event["type"].endswith(".requested")]
    resolved = [event for event in events if event["type"].endswith(".resolved")]
    assert sorted(asked) == sorted(map(_request, resolved)), "each is resolved, once"
    for event in resolved:
        request, body = _request(event), event["data"]
        said = body["status"]
        if body.get("answers"):
            said += f" {body['answers'][0][0]}"
        assert records.agreed[request] <= {said}, "only the winner was told that it won"
        assert "approver" in body or "reason" in body["metadata"]


def _request(event: dict[str, Any]) -> str:
    found: str = event["data"].get("permission_id") or event["data"]["question_id"]
    return found


@pytest.mark.slow
@pytest.mark.timeout(SECONDS * 3 + 300)
def test_a_crowd_leaves_nothing_behind(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = Household(data_dir, dice_of(capsys))
    try:
        soak(home)
    finally:
        home.up.over = True
        if home.daemon.process is not None:
            home.daemon.stop()
    assert agents_of(data_dir) == []
    assert check(data_dir) == []


def soak(home: Household) -> None:
    for _ in range(LIVES):
        home.live(SECONDS * RESTLESS / LIVES)
        home.restart()
    files = open_files(home.daemon)
    quiet_s = SECONDS * (1 - RESTLESS)
    home.live(quiet_s / 2)
    memory = memory_bytes(home.daemon)
    home.live(quiet_s / 2)
    home.calm()
    going_on = home.end()
    # What sessions share is not wanted by anybody now, and ends when it has been idle.
    eventually(lambda: agents_of(home.daemon.data_dir) == [], "no process is left", 10)
    eventually(lambda: open_files(home.daemon) <= files + SPARE_FILES, "its files are closed")
    assert memory_bytes(home.daemon) <= memory + GROWTH_BYTES, "its memory is flat"
    assert home.records.surprises == []
    outcomes = judge(home, going_on)
    acts = home.records.acts
    assert set(outcomes) >= {(agent, "completed") for agent in CAST}
    assert {outcome for _, outcome in outcomes} == {"completed", "interrupted", "failed"}
    assert acts["kills of agents"] >= LIVES
    assert acts["kills of servers"] > 0
    assert acts["_reply"] > 0
    assert home.daemon.stop() == 0
