"""SIGKILL in the middle: what was running is closed once, and the session goes on.

`tests/torture` does the same many times over.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cases.common import assert_conforms, eventually, wait_for_agent
from tests.daemon import Daemon, running
from tests.torture.clients import agents_of


def killed_and_started(daemon: Daemon) -> None:
    daemon.kill()
    daemon.start()


def ends_of(events: list[dict[str, Any]]) -> list[str]:
    return [event["data"]["outcome"] for event in events if event["type"] == "turn.ended"]


def test_case_22_a_turn_that_was_cut_is_closed_once_as_interrupted(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        daemon.create("s")
        daemon.send("s", "slow 3000")
        wait_for_agent(daemon, "s", "item.delta")
        before = daemon.events("s")
        killed_and_started(daemon)
        after = daemon.events("s")
        assert after[: len(before)] == before
        assert ends_of(after) == ["interrupted"]
        assert after[-1]["type"] == "turn.ended"
        closed = after[-2]
        assert closed["type"] == "item.completed"
        assert closed["data"]["item"]["status"] == "failed"
        assert closed["data"]["item"]["reason"] == "restart"
        spoken = "".join(
            event["data"]["delta"]
            for event in after
            if event["type"] == "item.delta"
            and event["data"]["item_id"] == closed["data"]["item"]["item_id"]
        )
        assert closed["data"]["item"]["content"][0]["text"] == spoken
        assert_conforms(after)
        killed_and_started(daemon)
        assert daemon.events("s") == after, "a second start closes nothing again"


def test_case_22_a_request_that_was_open_is_withdrawn_and_the_turn_ends_after_it(
    data_dir: Path,
) -> None:
    with running(data_dir) as daemon:
        daemon.create("s")
        daemon.send("s", "permission")
        asked = daemon.wait_for("s", "permission.requested")["data"]
        assert daemon.get("/sessions/s")["status"] == "waiting"
        killed_and_started(daemon)
        events = daemon.events("s")
        resolved = [e["data"] for e in events if e["type"] == "permission.resolved"]
        assert [r["permission_id"] for r in resolved] == [asked["permission_id"]]
        assert resolved[0]["status"] == "reject"
        assert resolved[0]["metadata"]["reason"] == "restart"
        assert events[-1]["type"] == "turn.ended"
        assert ends_of(events) == ["interrupted"]
        assert daemon.get("/sessions/s")["status"] == "idle"
        assert daemon.get("/sessions/s/pending")["permissions"] == []
        path = f"/sessions/s/permissions/{asked['permission_id']}/reply"
        reply = daemon.request("POST", path, {"reply": "once"})
        assert reply.status == 409
        assert reply.json["details"]["winner"]["reason"] == "restart"
        assert_conforms(events)


def test_case_22_a_message_that_waited_is_delivered_after_the_restart_once(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        daemon.create("s")
        daemon.send("s", "hang")
        wait_for_agent(daemon, "s", "item.delta")
        waiting = [daemon.send("s", f"echo {word}", key=word) for word in ("one", "two")]
        daemon.wait_for("s", "queue.updated")
        killed_and_started(daemon)
        assert daemon.send("s", "echo one", key="one") == waiting[0]
        after = 0
        for _ in range(3):
            after = daemon.wait_for("s", "turn.ended", after)["sequence"]
        events = daemon.events("s")
        assert ends_of(events) == ["interrupted", "completed", "completed"]
        delivered = [
            event["data"]["item"]["message_id"]
            for event in events
            if event["type"] == "item.started" and "message_id" in event["data"]["item"]
        ]
        assert delivered[1:] == waiting
        shown = [event["data"]["messages"] for event in events if event["type"] == "queue.updated"]
        assert shown[-1] == []
        assert_conforms(events)


def test_case_22_the_session_goes_on_in_the_same_native_session(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        daemon.create("s")
        daemon.turn("s", "echo before")
        native = daemon.get("/sessions/s")["nativeSessionId"]
        assert native
        for prompt in ("slow 3000", "permission"):
            after = daemon.events("s")[-1]["sequence"]
            daemon.send("s", prompt)
            wait_for_agent(daemon, "s", "item.delta", after)
            killed_and_started(daemon)
            turn = daemon.turn("s", "echo after")
            assert turn[-1]["data"]["outcome"] == "completed"
            assert {event["native_session_id"] for event in turn} == {native}
        events = daemon.events("s")
        assert [event["type"] for event in events].count("session.started") == 1
        assert_conforms(events)


@pytest.mark.parametrize("prompt", ["slow 3000", "ignore-sigterm", "spawn-children"])
def test_case_22_no_process_of_a_killed_daemon_outlives_the_next_start(
    data_dir: Path, prompt: str
) -> None:
    with running(data_dir) as daemon:
        daemon.create("s")
        daemon.send("s", prompt)
        wait_for_agent(daemon, "s", "item.delta")
        # Four children and the agent itself.
        wanted = 5 if prompt == "spawn-children" else 1
        eventually(lambda: len(agents_of(data_dir)) == wanted, "the agent has started them")
        killed_and_started(daemon)
        assert agents_of(data_dir) == []


def test_case_22_a_session_that_waits_for_its_first_message_is_not_touched(data_dir: Path) -> None:
    with running(data_dir) as daemon:
        daemon.create("s")
        daemon.create("done")
        daemon.send("done", "end")
        daemon.wait_for("done", "session.ended")
        before = {name: daemon.events(name) for name in ("s", "done")}
        killed_and_started(daemon)
        assert {name: daemon.events(name) for name in ("s", "done")} == before
        assert daemon.request("POST", "/sessions/done/messages", {"message": "x"}).status == 410
