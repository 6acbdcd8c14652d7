"""How many may work at once: the rest is refused, or waits in the order in which it asked."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dragoman.runtime.session.concurrency import ConcurrencyLimits
from tests.cases.common import assert_conforms, eventually
from tests.daemon import Daemon, Reply, running
from tests.torture.clients import agents_of


def post(daemon: Daemon, session: str, message: str, key: str | None = None) -> Reply:
    headers = {} if key is None else {"Idempotency-Key": key}
    return daemon.request("POST", f"/sessions/{session}/messages", {"message": message}, headers)


def hang(daemon: Daemon, session: str) -> None:
    """Start a turn that does not end by itself."""
    daemon.create(session)
    daemon.send(session, "hang")
    daemon.wait_for(session, "item.started")


def assert_refused(reply: Reply, limit: str, most: int) -> None:
    assert (reply.status, reply.json["title"]) == (429, "Too Many Requests")
    assert reply.json["details"] == {"limit": limit, "most": most}
    assert int(reply.headers["retry-after"]) > 0


# --- Sessions ---


def test_sessions_beyond_the_limit_are_refused_until_one_has_ended(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_MAX_SESSIONS": "2"}) as daemon:
        daemon.create("one")
        daemon.create("two")
        for path in ("/sessions/three", "/sessions"):
            assert_refused(daemon.request("POST", path, {"agent": "mock"}), "max_sessions", 2)
        assert daemon.request("POST", "/sessions/one", {"agent": "mock"}).status == 409
        assert daemon.request("GET", "/sessions/three").status == 404
        daemon.request("POST", "/sessions/one/terminate")
        daemon.create("three")
        assert_refused(daemon.request("POST", "/sessions", {"agent": "mock"}), "max_sessions", 2)
        daemon.request("DELETE", "/sessions/two")
        daemon.create("four")


def test_of_many_at_once_so_many_sessions_are_made_as_may_be(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_MAX_SESSIONS": "7"}) as daemon:
        with ThreadPoolExecutor(30) as pool:
            replies = list(
                pool.map(
                    lambda _: daemon.request("POST", "/sessions", {"agent": "mock"}), range(30)
                )
            )
        assert Counter(reply.status for reply in replies) == {201: 7, 429: 23}


# --- Turns ---


def test_a_message_beyond_the_turns_is_refused_and_leaves_nothing(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_MAX_TURNS": "1"}) as daemon:
        hang(daemon, "busy")
        daemon.create("other")
        assert_refused(post(daemon, "other", "echo hi"), "max_turns", 1)
        stream = daemon.request("POST", "/sessions/other/messages/stream", {"message": "echo hi"})
        assert_refused(stream, "max_turns", 1)
        assert daemon.get("/sessions/other/pending")["messages"] == []
        assert len(daemon.events("other")) == 1
        daemon.request("POST", "/sessions/busy/interrupt")
        daemon.wait_for("busy", "turn.ended")
        eventually(lambda: post(daemon, "other", "echo hi").status == 204, "there is room")
        daemon.wait_for("other", "turn.ended")


def test_of_many_at_once_so_many_turns_run_as_may(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_MAX_TURNS": "3"}) as daemon:
        names = [f"s{at}" for at in range(20)]
        for name in names:
            daemon.create(name)
        with ThreadPoolExecutor(20) as pool:
            replies = list(pool.map(lambda name: post(daemon, name, "hang"), names))
        assert Counter(reply.status for reply in replies) == {204: 3, 429: 17}
        eventually(lambda: len(agents_of(data_dir)) == 3, "three agents run")


def test_a_message_that_was_accepted_before_is_not_refused_with_its_key(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_MAX_TURNS": "1"}) as daemon:
        daemon.create("s")
        first = post(daemon, "s", "echo hi", "k").headers["dragoman-message-id"]
        daemon.wait_for("s", "turn.ended")
        hang(daemon, "busy")
        again = post(daemon, "s", "echo hi", "k")
        assert (again.status, again.headers["dragoman-message-id"]) == (204, first)
        assert_refused(post(daemon, "s", "echo hi", "l"), "max_turns", 1)


def test_what_was_accepted_waits_for_room_and_is_delivered_in_order(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_MAX_TURNS": "1"}) as daemon:
        hang(daemon, "one")
        queued = [daemon.send("one", f"echo {n}") for n in range(3)]
        daemon.create("two")
        assert post(daemon, "two", "echo hi").status == 429
        queued.append(daemon.send("one", "hang"))
        daemon.kill()
        daemon.start()
        eventually(lambda: daemon.get("/sessions/one")["pendingCount"] == 0, "all is delivered")
        shown = [
            event["data"]["item"]["message_id"]
            for event in daemon.events("one")
            if event["type"] == "item.started" and event["data"]["item"].get("message_id")
        ]
        assert shown[1:] == queued
        assert post(daemon, "two", "echo hi").status == 429
        daemon.request("POST", "/sessions/one/terminate")
        assert_conforms(daemon.events("one"))
        eventually(lambda: post(daemon, "two", "echo hi").status == 204, "there is room")


# --- Messages ---


def test_a_message_beyond_those_that_may_wait_is_refused_until_one_has_left(
    data_dir: Path,
) -> None:
    with running(data_dir, env={"DRAGOMAN_MAX_QUEUED": "2"}) as daemon:
        hang(daemon, "s")
        first, _ = daemon.send("s", "echo 1", "k"), daemon.send("s", "echo 2")
        assert_refused(post(daemon, "s", "echo 3"), "max_queued", 2)
        again = post(daemon, "s", "echo 1", "k")
        assert (again.status, again.headers["dragoman-message-id"]) == (204, first)
        hang(daemon, "other")  # each session has a queue of its own
        daemon.kill()
        daemon.start()
        eventually(lambda: daemon.get("/sessions/s")["pendingCount"] == 0, "all is delivered")
        eventually(lambda: daemon.get("/sessions/s")["status"] == "idle", "it is done")
        seen = daemon.get("/sessions/s")["eventCount"]
        daemon.send("s", "hang")
        daemon.wait_for("s", "item.started", seen)
        first, second = daemon.send("s", "echo 4"), daemon.send("s", "echo 5")
        assert_refused(post(daemon, "s", "echo 6"), "max_queued", 2)
        assert daemon.request("DELETE", f"/sessions/s/pending/{first}").status == 204
        third = daemon.send("s", "echo 6")
        waiting = daemon.get("/sessions/s/pending")["messages"]
        assert [each["messageId"] for each in waiting] == [second, third]


def test_bytes_beyond_those_that_may_wait_are_refused_until_some_have_left(
    data_dir: Path,
) -> None:
    with running(data_dir, env={"DRAGOMAN_MAX_QUEUED_BYTES": "1000"}) as daemon:
        hang(daemon, "s")
        large = daemon.send("s", "é" * 2000)  # alone it may wait, or nobody could ever send it
        assert_refused(post(daemon, "s", "echo hi"), "max_queued_bytes", 1000)
        assert daemon.request("DELETE", f"/sessions/s/pending/{large}").status == 204
        first = daemon.send("s", "é" * 300, "k")
        assert_refused(post(daemon, "s", "é" * 300), "max_queued_bytes", 1000)
        assert post(daemon, "s", "é" * 300, "k").headers["dragoman-message-id"] == first
        assert post(daemon, "s", "x" * 300).status == 204


def test_of_many_bytes_at_once_so_many_are_accepted_as_may_wait(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_MAX_QUEUED_BYTES": "1000"}) as daemon:
        hang(daemon, "s")
        with ThreadPoolExecutor(30) as pool:
            replies = list(pool.map(lambda n: post(daemon, "s", "x" * 200), range(30)))
        assert Counter(each.status for each in replies) == {204: 5, 429: 25}


def test_of_many_messages_at_once_so_many_are_accepted_as_may_wait(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_MAX_QUEUED": "5"}) as daemon:
        hang(daemon, "s")
        with ThreadPoolExecutor(30) as pool:
            replies = list(pool.map(lambda n: post(daemon, "s", f"echo {n}"), range(30)))
        assert Counter(reply.status for reply in replies) == {204: 5, 429: 25}
        assert len(daemon.get("/sessions/s/pending")["messages"]) == 5


def test_sessions_that_wait_take_turns(data_dir: Path) -> None:
    names = ("one", "two", "three")
    with running(data_dir) as daemon:
        for name in names:
            hang(daemon, name)
            for number in range(5):
                daemon.send(name, f"slow {number + 1}")
        daemon.kill()
    with running(
        data_dir, env={"DRAGOMAN_MAX_TURNS": "1", "DRAGOMAN_MAX_PROCESSES": "1"}
    ) as daemon:
        for name in names:
            eventually(
                lambda name=name: (
                    daemon.get(f"/sessions/{name}")["pendingCount"] == 0  # type: ignore[misc]
                    and daemon.get(f"/sessions/{name}")["status"] == "idle"
                ),
                f"{name} has had its turns",
            )
        spans = []
        for name in names:
            events = daemon.events(name)
            assert_conforms(events)
            outcomes = [e["data"]["outcome"] for e in events if e["type"] == "turn.ended"]
            assert outcomes == ["interrupted", *["completed"] * 5]
            turns = [e for e in events if e["type"] in ("turn.started", "turn.ended")][2:]
            spans += [
                (begun["time"], ended["time"], name)
                for begun, ended in zip(turns[::2], turns[1::2], strict=True)
            ]
        spans.sort()
        for before, after in pairwise(spans):
            assert before[1] <= after[0], "one turn at a time"
        assert {name for _, _, name in spans[:3]} == set(names), "nobody goes twice before all went"


# --- Processes ---


def test_an_idle_process_makes_room_and_its_session_goes_on(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_MAX_PROCESSES": "2"}) as daemon:
        for name in ("one", "two", "three", "four"):
            daemon.create(name)
        for _ in range(2):
            for name in ("one", "two", "three", "four"):
                assert daemon.turn(name, "echo hi")[-1]["data"]["outcome"] == "completed"
                assert len(agents_of(data_dir)) <= 2
        for name in ("one", "two", "three", "four"):
            events = daemon.events(name)
            assert_conforms(events)
            assert len({e["native_session_id"] for e in events if e["native_session_id"]}) == 1
            assert not [event for event in events if event["type"] == "error"]


def test_a_message_is_refused_where_every_process_is_at_work(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_MAX_PROCESSES": "2"}) as daemon:
        hang(daemon, "one")
        daemon.create("two")
        daemon.send("two", "permission")
        asked = daemon.wait_for("two", "permission.requested")["data"]["permission_id"]
        daemon.create("three")
        assert_refused(post(daemon, "three", "echo hi"), "max_processes", 2)
        reply = f"/sessions/two/permissions/{asked}/reply"
        assert daemon.request("POST", reply, {"reply": "once"}).status == 204
        daemon.wait_for("two", "turn.ended")
        eventually(lambda: post(daemon, "three", "echo hi").status == 204, "two makes room")
        daemon.wait_for("three", "turn.ended")
        assert len(agents_of(data_dir)) <= 2
        daemon.request("POST", "/sessions/one/terminate")
        assert daemon.turn("two", "echo again")[-1]["data"]["outcome"] == "completed"


# --- The order of places, without a daemon ---


class Guest:
    """Somebody who wants to work."""

    def __init__(self, limits: ConcurrencyLimits, name: str, woken: list[str]) -> None:
        self.limits = limits
        self.name = name
        self.process = False
        self.woken = woken
        self.asked_to_leave = False

    def ask(self) -> bool:
        return self.limits.may_work(self.name, lambda: self.woken.append(self.name))

    def work(self) -> None:
        self.process = True
        self.limits.note(self.name, process=True, turn=True, wants=False, spare=None)

    def rest(self, **more: Any) -> None:
        state = {"process": self.process, "turn": False, "wants": False, "spare": self.leave}
        self.limits.note(self.name, **{**state, **more})

    def leave(self) -> None:
        self.asked_to_leave = True


@pytest.fixture
def woken() -> list[str]:
    return []


def test_places_are_given_in_the_order_of_asking(woken: list[str]) -> None:
    limits = ConcurrencyLimits(0, 1)
    one, two, three = (Guest(limits, name, woken) for name in ("one", "two", "three"))
    assert one.ask()
    one.work()
    assert not two.ask()
    assert not three.ask()
    assert not two.ask(), "to ask again changes nothing"
    one.rest()
    assert woken[-1] == "two"
    assert two.ask()
    assert not three.ask()


def test_a_place_that_is_not_used_goes_to_the_next(woken: list[str]) -> None:
    limits = ConcurrencyLimits(0, 1)
    one, two, three = (Guest(limits, name, woken) for name in ("one", "two", "three"))
    assert one.ask()
    one.work()
    assert not two.ask()
    assert not three.ask()
    one.rest()
    two.rest(spare=None)  # its message was taken back meanwhile
    assert woken[-1] == "three"
    assert three.ask()


def test_nobody_waits_for_what_another_one_holds_who_waits(woken: list[str]) -> None:
    limits = ConcurrencyLimits(1, 1)
    one, two = Guest(limits, "one", woken), Guest(limits, "two", woken)
    assert one.ask()
    one.work()
    assert not two.ask()
    one.rest(wants=True)  # it has more to say, and a process that two needs
    assert one.asked_to_leave
    assert not one.ask()
    one.process = False
    one.rest(wants=True, spare=None)
    assert woken[-1] == "two"
    assert two.ask()
    two.work()
    two.rest()
    assert two.asked_to_leave
    limits.release("two")
    assert one.ask()


def test_one_idle_process_makes_room_for_one(woken: list[str]) -> None:
    limits = ConcurrencyLimits(2, 0)
    idle = [Guest(limits, f"idle-{at}", woken) for at in range(2)]
    for guest in idle:
        assert guest.ask()
        guest.work()
        guest.rest()
    wanting = [Guest(limits, f"new-{at}", woken) for at in range(3)]
    assert limits.claim("new-0", lambda: None) is None
    assert [guest.asked_to_leave for guest in idle] == [True, False]
    assert limits.claim("new-1", lambda: None) is None
    assert [guest.asked_to_leave for guest in idle] == [True, True]
    refused = limits.claim("new-2", lambda: None)
    assert refused is not None
    assert refused.details == {"limit": "max_processes", "most": 2}
    limits.release("idle-0")
    assert wanting[0].ask()
    assert not wanting[1].ask()
