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
    sizes = [{"label": "S, M"}, {"label": "L"}]
    two = [{"prompt": "A?"}, {"prompt": "B?", "options": sizes, "multi_select": True}]
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


def test_a_part_of_several_gets_several_answers_by_its_number(
    asking: Canned, terminal: Terminal
) -> None:
    terminal.run("reply", "s1", "q2", "-a", "2=S, M", "-a", "1=x=1", "-a", "2=L")
    assert asking.seen[-1].json() == {"answers": [["x=1"], ["S, M", "L"]]}


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        (["1=x"], "question 2 has no answer: add -a 2=ANSWER"),
        (["1=x", "1=y", "2=L"], "question 1 takes one answer, and got 2"),
        (["x", "2=L"], "say which one each answer is for"),
        (["x", "y", "z"], "say which one each answer is for"),
    ],
)
def test_answers_that_do_not_fit_the_questions_are_not_sent(
    asking: Canned, terminal: Terminal, answers: list[str], told: str
) -> None:
    flags = [word for answer in answers for word in ("-a", answer)]
    assert told in terminal.run("reply", "s1", "q2", *flags, code=2).stderr
    assert all(seen.method == "GET" for seen in asking.seen)


def test_a_message_goes_with_a_rejected_permission_only(asking: Canned, terminal: Terminal) -> None:
    for wrong in (("p1", "once"), ("p1", "always"), ("q1", "-a", "x"), ("q1", "reject")):
        told = terminal.run("reply", "s1", *wrong, "--message", "why", code=2).stderr
        assert "--message" in told
    assert all(seen.method == "GET" for seen in asking.seen)


@pytest.mark.parametrize(
    ("winner", "told"),
    [
        ({"status": "accept_for_session"}, "it was always allowed"),
        ({"status": "accept", "approver": {"rule": "mode:bypass"}},
         "it was allowed once by rule mode:bypass"),
        ({"status": "answered", "answers": [["Red"], ["S", "L"]]}, "it was answered: Red; S, L"),
        ({"status": "reject", "reason": "interrupt"}, "it was withdrawn (interrupt)"),
    ],
)  # fmt: skip
def test_a_second_answer_is_told_how_it_was_resolved(
    asking: Canned, terminal: Terminal, winner: dict[str, object], told: str
) -> None:
    path = "/v1/sessions/s1/permissions/old/reply"
    asking.problem("POST", path, 409, "Already Resolved", details={"winner": winner})
    assert terminal.run("reply", "s1", "old", "once", code=4).stderr.splitlines()[-1] == told


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
