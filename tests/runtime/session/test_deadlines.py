"""What may not last: turns, requests to people, idle processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases.common import assert_conforms, eventually, types
from tests.cases.puppet import BEGIN, END, ENV, prompt, start, write
from tests.daemon import running
from tests.shared_agent import SharedAgentDaemon
from tests.torture.clients import agents_of

SHORT = "0.3"
ENOUGH = "0.8"
"""For a short turn on a machine that does much else; less than the shared waits for an answer."""


# --- Turns ---


def test_a_turn_that_takes_too_long_is_interrupted_and_says_why(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_TURN_TIMEOUT_S": SHORT}) as daemon:
        daemon.create("s")
        turn = daemon.turn("s", "hang")
        assert turn[-1]["data"]["outcome"] == "interrupted"
        (error,) = [event for event in turn if event["type"] == "error"]
        assert error["data"]["code"] == "turn_timeout"
        assert "0.3 s" in error["data"]["message"]
        assert len(agents_of(data_dir)) == 1, "it heeded the interrupt, and lives on"
        assert daemon.turn("s", "echo on")[-1]["data"]["outcome"] == "completed"
        assert_conforms(daemon.events("s"))


def test_each_turn_has_its_own_time(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_TURN_TIMEOUT_S": "1"}) as daemon:
        daemon.create("s")
        for _ in range(4):
            assert daemon.turn("s", "slow 40")[-1]["data"]["outcome"] == "completed"
        assert "error" not in types(daemon.events("s"))


def test_a_request_is_withdrawn_with_the_turn_that_takes_too_long(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_TURN_TIMEOUT_S": SHORT}) as daemon:
        daemon.create("s")
        turn = daemon.turn("s", "permission")
        (resolved,) = [e["data"] for e in turn if e["type"] == "permission.resolved"]
        assert resolved["metadata"]["reason"] == "interrupt"
        assert turn[-1]["data"]["outcome"] == "interrupted"
        assert_conforms(daemon.events("s"))


def test_an_agent_that_heeds_no_interrupt_loses_its_process(data_dir: Path) -> None:
    env = {"DRAGOMAN_TURN_TIMEOUT_S": SHORT, "DRAGOMAN_INTERRUPT_DEADLINE_S": SHORT,
           "DRAGOMAN_STOP_DEADLINE_S": SHORT}  # fmt: skip
    with running(data_dir, env=env) as daemon:
        daemon.create("s")
        turn = daemon.turn("s", "ignore-sigterm")
        assert [e["data"]["code"] for e in turn if e["type"] == "error"] == ["turn_timeout"]
        assert turn[-1]["data"]["outcome"] == "interrupted"
        assert agents_of(data_dir) == []
        assert daemon.turn("s", "echo on")[-1]["data"]["outcome"] == "completed"
        assert_conforms(daemon.events("s"))


def test_messages_behind_a_turn_that_takes_too_long_have_theirs(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_TURN_TIMEOUT_S": SHORT}) as daemon:
        daemon.create("s")
        daemon.send("s", "hang")
        daemon.send("s", "hang")
        assert daemon.turn("s", "echo on")[-1]["data"]["outcome"] == "completed"
        ended = [e["data"]["outcome"] for e in daemon.events("s") if e["type"] == "turn.ended"]
        assert ended == ["interrupted", "interrupted", "completed"]
        assert_conforms(daemon.events("s"))


def test_a_message_that_is_never_accepted_has_a_turn_that_takes_too_long(data_dir: Path) -> None:
    daemon = SharedAgentDaemon(
        data_dir, env={"SHARED_AGENT_HOME": str(data_dir.parent), "DRAGOMAN_TURN_TIMEOUT_S": ENOUGH}
    )
    daemon.start()
    try:
        daemon.create("s", agent="dedicated")
        daemon.turn("s", "say hello")
        turn = daemon.turn("s", "mute")
        assert types(turn) == ["turn.started", "item.started", "item.delta", "item.completed",
                               "error", "turn.ended"]  # fmt: skip
        assert turn[-2]["data"]["code"] == "turn_timeout"
        assert turn[-1]["data"]["outcome"] == "interrupted"
        assert daemon.turn("s", "say on")[-1]["data"]["outcome"] == "completed"
        assert_conforms(daemon.events("s"))
    finally:
        daemon.stop()


# --- Idle processes ---


def test_an_idle_process_is_ended_and_the_next_message_resumes(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_IDLE_PROCESS_S": SHORT}) as daemon:
        daemon.create("s")
        daemon.turn("s", "echo one")
        before = daemon.events("s")
        eventually(lambda: agents_of(data_dir) == [], "the process is ended")
        assert daemon.events("s") == before, "nothing is written"
        assert daemon.get("/sessions/s")["status"] == "idle"
        assert daemon.turn("s", "echo two")[-1]["data"]["outcome"] == "completed"
        events = daemon.events("s")
        assert len({e["native_session_id"] for e in events if e["native_session_id"]}) == 1
        assert_conforms(events)


@pytest.mark.parametrize("work", ["hang", "permission", "question"])
def test_a_process_at_work_is_not_idle(data_dir: Path, work: str) -> None:
    with running(data_dir, env={"DRAGOMAN_IDLE_PROCESS_S": "0.1"}) as daemon:
        daemon.create("idle")
        daemon.create("busy")
        daemon.send("busy", work)
        daemon.wait_for("busy", "item.started")
        for _ in range(3):  # as long as it takes others to go idle, several times over
            daemon.turn("idle", "echo hi")
            eventually(lambda: len(agents_of(data_dir)) == 1, "only one works")
        assert daemon.get("/sessions/busy")["status"] in ("running", "waiting")


def test_a_subagent_in_the_background_keeps_its_process(data_dir: Path) -> None:
    env = {**ENV, "DRAGOMAN_IDLE_PROCESS_S": "0.1"}
    working = start("sub", "status", {"type": "status", "label": "subagent"})
    with running(data_dir, env=env) as daemon:
        daemon.create("idle")
        daemon.create("busy")
        daemon.turn("busy", prompt(*write(BEGIN + END + working)))
        for _ in range(3):
            daemon.turn("idle", prompt(*write(BEGIN + END)))
            eventually(lambda: len(agents_of(data_dir)) == 1, "one of them is idle")
        assert daemon.get("/sessions/busy")["status"] == "idle"
        assert types(daemon.events("busy"))[-1] == "item.started"


# --- Requests to people ---


@pytest.mark.parametrize(("kind", "status"), [("permission", "reject"), ("question", "rejected")])
def test_a_request_that_nobody_answers_is_rejected_in_time(
    data_dir: Path, kind: str, status: str
) -> None:
    with running(data_dir, env={"DRAGOMAN_HITL_TIMEOUT_S": SHORT}) as daemon:
        daemon.create("s")
        turn = daemon.turn("s", kind)
        assert turn[-1]["data"]["outcome"] == "completed", "the agent goes on with the refusal"
        (resolved,) = [e["data"] for e in turn if e["type"] == f"{kind}.resolved"]
        assert resolved["status"] == status
        assert resolved["approver"]["rule"] == "deadline"
        assert resolved["metadata"]["reason"] == "deadline"
        items = [e["data"]["item"] for e in turn if e["type"] == "item.completed"]
        text = items[-1]["content"][0]["text"]
        assert text.startswith(("You declined", "You did not answer"))
        assert_conforms(daemon.events("s"))
        request = resolved[f"{kind}_id"]
        late = daemon.request(
            "POST", f"/sessions/s/{kind}s/{request}/reply",
            {"reply": "once"} if kind == "permission" else {"answers": [["Red"]]},
        )  # fmt: skip
        assert late.status == 409
        assert late.json["details"]["winner"]["reason"] == "deadline"


def test_a_request_may_wait_on_and_the_log_says_so(data_dir: Path) -> None:
    env = {"DRAGOMAN_HITL_TIMEOUT_S": SHORT, "DRAGOMAN_HITL_ON_TIMEOUT": "wait"}
    log = data_dir / "logs" / "daemon.log"
    with running(data_dir, env=env) as daemon:
        daemon.create("s")
        daemon.send("s", "permission")
        asked = daemon.wait_for("s", "permission.requested")["data"]["permission_id"]
        eventually(lambda: f"nobody has answered {asked}" in log.read_text(), "it is logged")
        path = f"/sessions/s/permissions/{asked}/reply"
        assert daemon.request("POST", path, {"reply": "once"}).status == 204
        assert daemon.wait_for("s", "turn.ended")["data"]["outcome"] == "completed"


def test_an_answer_in_time_is_the_only_one(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_HITL_TIMEOUT_S": "1"}) as daemon:
        daemon.create("s")
        for _ in range(2):
            daemon.send("s", "permission")
            after = daemon.events("s")[-1]["sequence"] - 1
            asked = daemon.wait_for("s", "permission.requested", after)["data"]["permission_id"]
            path = f"/sessions/s/permissions/{asked}/reply"
            assert daemon.request("POST", path, {"reply": "once"}).status == 204
            daemon.wait_for("s", "turn.ended", after)
        daemon.turn("s", "slow 120")
        resolved = [e["data"] for e in daemon.events("s") if e["type"] == "permission.resolved"]
        assert [each["status"] for each in resolved] == ["accept", "accept"]
        assert all(each["approver"]["token"] for each in resolved)


def test_after_a_restart_a_request_is_withdrawn_whatever_its_deadline(data_dir: Path) -> None:
    with running(data_dir, env={"DRAGOMAN_HITL_TIMEOUT_S": "60"}) as daemon:
        daemon.create("s")
        daemon.send("s", "permission")
        daemon.wait_for("s", "permission.requested")
        daemon.kill()
        daemon.start()
        (resolved,) = [e["data"] for e in daemon.events("s") if e["type"] == "permission.resolved"]
        assert (resolved["status"], resolved["metadata"]["reason"]) == ("reject", "restart")
        assert_conforms(daemon.events("s"))
