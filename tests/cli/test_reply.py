"""Answering what an agent asks."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Terminal
from tests.client.canned import Answer, Canned

PERMISSION = "/v1/sessions/s1/permissions/p1/reply"
QUESTION = "/v1/sessions/s1/questions/q1/reply"
REJECT = "/v1/sessions/s1/questions/q1/reject"


@pytest.fixture
def asking(daemon: Canned) -> Canned:
    """A daemon with one permission, one question, and one question of two parts."""
    two = [{"prompt": "A?"}, {"prompt": "B?"}]
    pending = {
        "messages": [],
        "permissions": [{"permission_id": "p1", "action": "Bash"}],
        "questions": [
            {"question_id": "q1", "prompt": "A?", "options": ["x", "y"]},
            {"question_id": "q2", "prompt": "A?", "options": [], "questions": two},
        ],
    }
    daemon.on("GET", "/v1/sessions/s1/pending", Answer(body=pending))
    for path in (PERMISSION, QUESTION, REJECT, QUESTION.replace("q1", "q2")):
        daemon.on("POST", path, Answer(204))
    return daemon


@pytest.mark.parametrize("decision", ["once", "always", "reject"])
def test_a_permission_is_decided(asking: Canned, terminal: Terminal, decision: str) -> None:
    terminal.run("reply", "s1", "p1", decision)
    assert asking.seen[-1].path == PERMISSION
    assert asking.seen[-1].json() == {"reply": decision}


def test_a_rejection_can_say_why(asking: Canned, terminal: Terminal) -> None:
    terminal.run("reply", "s1", "p1", "reject", "--message", "too risky")
    assert asking.seen[-1].json() == {"reply": "reject", "message": "too risky"}


def test_several_answers_to_one_question_are_its_list(asking: Canned, terminal: Terminal) -> None:
    done = terminal.run("reply", "s1", "q1", "--answer", "x", "--answer", "y", "--json")
    assert asking.seen[-1].json() == {"answers": [["x", "y"]]}
    assert json.loads(done.stdout) == {"requestId": "q1", "reply": ["x", "y"]}


def test_each_part_of_a_question_gets_its_answer(asking: Canned, terminal: Terminal) -> None:
    terminal.run("reply", "s1", "q2", "--answer", "x", "--answer", "y")
    assert asking.seen[-1].json() == {"answers": [["x"], ["y"]]}


def test_a_question_is_rejected(asking: Canned, terminal: Terminal) -> None:
    terminal.run("reply", "s1", "q1", "reject")
    assert asking.seen[-1].path == REJECT


@pytest.mark.parametrize(
    "args",
    [
        ("p1", "--answer", "x"),
        ("q1", "once"),
        ("q2", "--answer", "x"),
        ("p1", "once", "--answer", "x"),
        ("p1", "perhaps"),
    ],
)
def test_an_answer_of_the_wrong_kind_is_not_sent(
    asking: Canned, terminal: Terminal, args: tuple[str, ...]
) -> None:
    terminal.run("reply", "s1", *args, code=2)
    assert all(seen.method == "GET" for seen in asking.seen)


def test_a_reply_that_comes_too_late_is_told_the_winner(asking: Canned, terminal: Terminal) -> None:
    asking.problem(
        "POST",
        "/v1/sessions/s1/permissions/old/reply",
        409,
        "Already Resolved",
        detail="answered differently before",
        details={"winner": "reject"},
    )
    done = terminal.run("reply", "s1", "old", "once", "--json", code=4)
    assert json.loads(done.stderr)["error"]["details"] == {"winner": "reject"}


def test_rejecting_an_unknown_request_asks_for_both_kinds(
    asking: Canned, terminal: Terminal
) -> None:
    terminal.run("reply", "s1", "gone", "reject", code=4)
    assert [seen.path.split("/")[4] for seen in asking.seen] == [
        "pending",
        "permissions",
        "questions",
    ]
