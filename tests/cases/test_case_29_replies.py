"""Case 29: of many replies to one request exactly one reaches the agent."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.cases import puppet
from tests.cases.common import assert_conforms
from tests.daemon import Daemon, Reply, running

REPLIES = 100
STATUS = {"once": "accept", "always": "accept_for_session", "reject": "reject"}


def at_once(daemon: Daemon, path: str, bodies: list[Any]) -> list[Reply]:
    """Send many requests at the same time; their answers, in order."""
    with ThreadPoolExecutor(len(bodies)) as pool:
        return list(pool.map(lambda body: daemon.request("POST", path, body), bodies))


def only(daemon: Daemon, session: str, type: str) -> dict[str, Any]:
    (event,) = [event for event in daemon.events(session) if event["type"] == type]
    data: dict[str, Any] = event["data"]
    return data


def last_words(daemon: Daemon, session: str) -> str:
    items = [e["data"]["item"] for e in daemon.events(session) if e["type"] == "item.completed"]
    text: str = items[-1]["content"][0]["text"]
    return text


@pytest.mark.parametrize("attempt", range(3))
def test_case_29_one_of_a_hundred_conflicting_replies_wins(daemon: Daemon, attempt: int) -> None:
    session = f"race-{attempt}"
    daemon.create(session)
    daemon.send(session, "permission")
    permission = daemon.wait_for(session, "permission.requested")["data"]["permission_id"]
    given = [("once", "reject", "always")[n % 3] for n in range(REPLIES)]
    path = f"/sessions/{session}/permissions/{permission}/reply"
    answers = at_once(daemon, path, [{"reply": reply} for reply in given])

    daemon.wait_for(session, "turn.ended")
    winner = only(daemon, session, "permission.resolved")
    for reply, answer in zip(given, answers, strict=True):
        if STATUS[reply] == winner["status"]:
            assert answer.status == 204, answer.body
        else:
            assert answer.status == 409, answer.body
            assert answer.json["details"]["winner"] == {
                "status": winner["status"],
                "approver": winner["approver"],
            }
    declined = last_words(daemon, session).startswith("You declined")
    assert declined is (winner["status"] == "reject")
    results = [e for e in daemon.events(session) if e["type"] == "item.completed"
               and e["data"]["item"]["kind"] == "tool_result"]  # fmt: skip
    assert len(results) == 1, "the agent acted once"


def test_case_29_a_hundred_same_replies_are_all_204_and_resolve_once(daemon: Daemon) -> None:
    daemon.create("same")
    daemon.send("same", "permission")
    permission = daemon.wait_for("same", "permission.requested")["data"]["permission_id"]
    path = f"/sessions/same/permissions/{permission}/reply"
    answers = at_once(daemon, path, [{"reply": "once"}] * REPLIES)
    assert Counter(answer.status for answer in answers) == {204: REPLIES}
    daemon.wait_for("same", "turn.ended")
    assert only(daemon, "same", "permission.resolved")["status"] == "accept"


def test_case_29_one_of_a_hundred_conflicting_answers_wins(daemon: Daemon) -> None:
    daemon.create("answers")
    daemon.send("answers", "questions")
    question = daemon.wait_for("answers", "question.requested")["data"]["question_id"]
    given = [[["Red", "Blue"][n % 2 : n % 2 + 1], ["Pear"]] for n in range(REPLIES)]
    path = f"/sessions/answers/questions/{question}/reply"
    answers = at_once(daemon, path, [{"answers": answer} for answer in given])
    daemon.wait_for("answers", "turn.ended")
    winner = only(daemon, "answers", "question.resolved")
    for sent, answer in zip(given, answers, strict=True):
        assert answer.status == (204 if sent == winner["answers"] else 409)
        if answer.status == 409:
            assert answer.json["details"]["winner"]["answers"] == winner["answers"]
    assert winner["answers"][0][0] in last_words(daemon, "answers")


def test_case_29_replies_that_race_the_end_are_answered_or_gone(daemon: Daemon) -> None:
    daemon.create("end")
    daemon.send("end", "permission")
    permission = daemon.wait_for("end", "permission.requested")["data"]["permission_id"]
    reply = f"/sessions/end/permissions/{permission}/reply"
    with ThreadPoolExecutor(40) as pool:
        replies = [pool.submit(daemon.request, "POST", reply, {"reply": "once"}) for _ in range(20)]
        end = pool.submit(daemon.request, "POST", "/sessions/end/terminate")
        replies += [
            pool.submit(daemon.request, "POST", reply, {"reply": "once"}) for _ in range(19)
        ]
        assert end.result().status == 204
        assert {future.result().status for future in replies} <= {204, 410}
    assert only(daemon, "end", "permission.resolved")["permission_id"] == permission
    assert daemon.events("end")[-1]["type"] == "session.ended"
    assert daemon.request("POST", reply, {"reply": "once"}).status == 410


def test_case_29_the_winner_is_known_after_a_restart(daemon: Daemon) -> None:
    daemon.create("restart")
    daemon.send("restart", "permission")
    permission = daemon.wait_for("restart", "permission.requested")["data"]["permission_id"]
    path = f"/sessions/restart/permissions/{permission}/reply"
    assert daemon.request("POST", path, {"reply": "once"}).status == 204
    daemon.kill()
    daemon.start()
    assert daemon.request("POST", path, {"reply": "once"}).status == 204
    refused = daemon.request("POST", path, {"reply": "reject"})
    assert (refused.status, refused.json["details"]["winner"]["status"]) == (409, "accept")


def test_case_29_an_answer_that_cannot_be_written_leaves_the_question_open(data_dir: Path) -> None:
    ask = puppet.line("ask_permission", key="p1", action="bash")
    deaf = puppet.prompt(["deaf"], *puppet.write(puppet.BEGIN + ask), ["stay"])
    env = {**puppet.ENV, "DRAGOMAN_INTERRUPT_DEADLINE_S": "0.2"}
    with running(data_dir, env=env) as daemon:
        daemon.create("deaf")
        daemon.send("deaf", deaf)
        permission = daemon.wait_for("deaf", "permission.requested")["data"]["permission_id"]
        path = f"/sessions/deaf/permissions/{permission}/reply"
        for reply in ("once", "reject", "once"):  # nobody has won: each may try
            failed = daemon.request("POST", path, {"reply": reply})
            assert (failed.status, failed.json["title"]) == (500, "Agent Process Exited")
        pending = daemon.get("/sessions/deaf/pending")["permissions"]
        assert [each["permission_id"] for each in pending] == [permission]
        daemon.request("POST", "/sessions/deaf/interrupt")
        daemon.wait_for("deaf", "turn.ended")
        resolved = only(daemon, "deaf", "permission.resolved")
        assert (resolved["status"], resolved["metadata"]["reason"]) == ("reject", "interrupt")
        assert_conforms(daemon.events("deaf"))
