"""Permissions and questions: one answer each, and everybody learns which."""

from __future__ import annotations

from typing import Any

import pytest

from tests.daemon import Daemon, Reply


def ask(daemon: Daemon, session: str, prompt: str, **create: Any) -> dict[str, Any]:
    """Let the agent ask; what it asked."""
    daemon.create(session, **create)
    daemon.send(session, prompt)
    asked: dict[str, Any] = daemon.wait_for(session, f"{prompt.removesuffix('s')}.requested")[
        "data"
    ]
    return asked


def reply(daemon: Daemon, session: str, permission: str, **body: Any) -> Reply:
    return daemon.request("POST", f"/sessions/{session}/permissions/{permission}/reply", body)


def answer(daemon: Daemon, session: str, question: str, answers: Any) -> Reply:
    path = f"/sessions/{session}/questions/{question}/reply"
    return daemon.request("POST", path, {"answers": answers})


def said(daemon: Daemon, session: str) -> str:
    """What the agent said last, once its turn has ended."""
    daemon.wait_for(session, "turn.ended")
    items = [e["data"]["item"] for e in daemon.events(session) if e["type"] == "item.completed"]
    text: str = [i for i in items if i["role"] == "assistant" and i["kind"] == "message"][-1][
        "content"
    ][0]["text"]
    return text


def resolved(daemon: Daemon, session: str, kind: str) -> dict[str, Any]:
    """The only resolution of a session's only request."""
    (event,) = [e for e in daemon.events(session) if e["type"] == f"{kind}.resolved"]
    assert (event["source"], event["synthetic"]) == ("daemon", True)
    data: dict[str, Any] = event["data"]
    return data


# --- Permissions ---


@pytest.mark.parametrize(
    ("given", "status", "heard"),
    [
        ("once", "accept", "You allowed it"),
        ("always", "accept_for_session", "You allowed it"),
        ("reject", "reject", "You declined"),
    ],
)
def test_a_reply_is_204_and_reaches_the_agent(
    daemon: Daemon, given: str, status: str, heard: str
) -> None:
    session = f"reply-{given}"
    asked = ask(daemon, session, "permission")
    assert asked["status"] == "requested"
    assert reply(daemon, session, asked["permission_id"], reply=given).status == 204
    assert said(daemon, session).startswith(heard)
    data = resolved(daemon, session, "permission")
    assert (data["permission_id"], data["status"]) == (asked["permission_id"], status)
    assert data["approver"] == {"token": "default", "scope": "admin"}
    assert data["action"] == asked["action"]


def test_always_is_not_asked_again_in_this_session(daemon: Daemon) -> None:
    asked = ask(daemon, "always", "permission")
    assert reply(daemon, "always", asked["permission_id"], reply="always").status == 204
    daemon.wait_for("always", "turn.ended")
    types = [event["type"] for event in daemon.turn("always", "permission")]
    assert types[-1] == "turn.ended"
    last = [e for e in daemon.events("always") if e["type"] == "permission.resolved"][-1]
    assert last["data"]["approver"]["rule"].startswith("always:")


def test_a_message_is_told_to_the_agent_with_a_rejection(daemon: Daemon) -> None:
    asked = ask(daemon, "told", "permission")
    reply(daemon, "told", asked["permission_id"], reply="reject", message="Use make tidy.")
    assert said(daemon, "told") == "You declined, so I left it: Use make tidy."


def test_a_changed_input_is_used_and_noted(daemon: Daemon) -> None:
    asked = ask(daemon, "changed", "permission")
    changed = {"command": "make tidy"}
    given = reply(daemon, "changed", asked["permission_id"], reply="once", updatedInput=changed)
    assert given.status == 204
    assert said(daemon, "changed") == "You allowed it, so I ran `make tidy`."
    assert resolved(daemon, "changed", "permission")["metadata"]["updated_input"] == changed
    again = reply(daemon, "changed", asked["permission_id"], reply="once", updatedInput=changed)
    assert again.status == 204
    other = reply(daemon, "changed", asked["permission_id"], reply="once")
    assert other.status == 409, "it would have allowed something else"
    assert other.json["details"]["winner"]["updated_input"] == changed


def test_the_same_answer_again_is_204_another_409_with_the_winner(daemon: Daemon) -> None:
    asked = ask(daemon, "twice", "permission")
    permission = asked["permission_id"]
    for _ in range(3):
        assert reply(daemon, "twice", permission, reply="once").status == 204
    for other in ("always", "reject"):
        refused = reply(daemon, "twice", permission, reply=other)
        assert (refused.status, refused.json["title"]) == (409, "Already Resolved")
        winner = refused.json["details"]["winner"]
        assert winner["status"] == "accept"
        assert winner["approver"] == {"token": "default", "scope": "admin"}
    said(daemon, "twice")
    resolved(daemon, "twice", "permission")


def test_an_answer_to_what_was_withdrawn_names_the_reason(daemon: Daemon) -> None:
    asked = ask(daemon, "withdrawn", "permission")
    daemon.request("POST", "/sessions/withdrawn/interrupt")
    daemon.wait_for("withdrawn", "turn.ended")
    late = reply(daemon, "withdrawn", asked["permission_id"], reply="once")
    assert late.status == 409
    assert late.json["details"]["winner"] == {"status": "reject", "reason": "interrupt"}


def test_an_unknown_request_is_404_as_is_one_of_another_session_or_kind(daemon: Daemon) -> None:
    asked = ask(daemon, "right", "permission")
    permission = asked["permission_id"]
    daemon.create("wrong")
    for given in (
        reply(daemon, "right", "perm_none", reply="once"),
        reply(daemon, "wrong", permission, reply="once"),
        answer(daemon, "right", permission, [["x"]]),
        daemon.request("POST", f"/sessions/right/questions/{permission}/reject"),
    ):
        assert (given.status, given.json["title"]) == (404, "Not Found")
    assert daemon.get("/sessions/right")["status"] == "waiting"
    assert len(daemon.events("wrong")) == 1


def test_after_the_end_every_reply_is_410_also_the_winning_one(daemon: Daemon) -> None:
    asked = ask(daemon, "ended", "permission")
    assert reply(daemon, "ended", asked["permission_id"], reply="once").status == 204
    daemon.wait_for("ended", "turn.ended")
    daemon.request("POST", "/sessions/ended/terminate")
    for given in ("once", "reject"):
        late = reply(daemon, "ended", asked["permission_id"], reply=given)
        assert (late.status, late.json["title"]) == (410, "Session Ended")


def test_pending_lists_requests_as_they_were_asked(daemon: Daemon) -> None:
    asked = ask(daemon, "listed", "permission")
    pending = daemon.get("/sessions/listed/pending")
    assert pending == {"messages": [], "permissions": [asked], "questions": []}
    reply(daemon, "listed", asked["permission_id"], reply="once")
    assert daemon.get("/sessions/listed/pending")["permissions"] == []


# --- Questions ---


def test_answers_have_one_list_for_each_question(daemon: Daemon) -> None:
    asked = ask(daemon, "answered", "questions")
    assert asked["prompt"] == asked["questions"][0]["prompt"]
    assert asked["options"] == [o["label"] for o in asked["questions"][0]["options"]]
    assert daemon.get("/sessions/answered/pending")["questions"] == [asked]
    given = answer(daemon, "answered", asked["question_id"], [["Red"], ["Pear"], ["x"]])
    assert (given.status, given.json["details"]["field"]) == (400, "answers")
    assert "2 questions" in given.json["detail"]
    answers = [["something of my own"], ["Apple", "Plum"]]
    assert answer(daemon, "answered", asked["question_id"], answers).status == 204
    heard = "You answered. Colour: something of my own; Fruit: Apple, Plum"
    assert said(daemon, "answered") == heard
    data = resolved(daemon, "answered", "question")
    assert data["status"] == "answered"
    assert (data["answers"], data["response"]) == (answers, "something of my own")
    assert data["approver"] == {"token": "default", "scope": "admin"}


@pytest.mark.parametrize(("given", "heard"), [([], "nothing"), ([["Red"]], "Red")])
def test_questions_without_a_list_are_left_unanswered(
    daemon: Daemon, given: list[list[str]], heard: str
) -> None:
    """Before, clients of 0.1.11, who know only the first question, could not answer several."""
    session = f"first-{heard}"
    question = ask(daemon, session, "questions")["question_id"]
    for _ in range(2):
        assert answer(daemon, session, question, given).status == 204
    assert said(daemon, session) == f"You answered. Colour: {heard}; Fruit: nothing"
    assert resolved(daemon, session, "question")["answers"] == [*given, [], []][:2]


def test_the_mock_asks_one_question_or_several(daemon: Daemon) -> None:
    """Before, both prompts asked two, which clients of 0.1.11 could not answer."""
    asked = ask(daemon, "one", "question")
    assert [each["prompt"] for each in asked["questions"]] == ["Which colour?"]
    assert answer(daemon, "one", asked["question_id"], [["Red"], ["Pear"]]).status == 400
    assert answer(daemon, "one", asked["question_id"], [["Red"]]).status == 204
    assert said(daemon, "one") == "You answered. Colour: Red"
    assert len(ask(daemon, "several", "questions")["questions"]) == 2


def test_the_same_answers_again_are_204_others_409_with_the_winner(daemon: Daemon) -> None:
    asked = ask(daemon, "asked-twice", "questions")
    question, answers = asked["question_id"], [["Red"], ["Pear"]]
    for _ in range(2):
        assert answer(daemon, "asked-twice", question, answers).status == 204
    refused = answer(daemon, "asked-twice", question, [["Blue"], ["Pear"]])
    assert (refused.status, refused.json["title"]) == (409, "Already Resolved")
    assert refused.json["details"]["winner"]["answers"] == answers
    path = f"/sessions/asked-twice/questions/{question}/reject"
    assert daemon.request("POST", path).status == 409
    resolved(daemon, "asked-twice", "question")


def test_a_question_can_be_rejected_and_rejected_again(daemon: Daemon) -> None:
    asked = ask(daemon, "rejected", "question")
    path = f"/sessions/rejected/questions/{asked['question_id']}/reject"
    assert daemon.request("POST", path).status == 204
    assert daemon.request("POST", path).status == 204
    assert said(daemon, "rejected") == "You did not answer."
    data = resolved(daemon, "rejected", "question")
    assert data["status"] == "rejected"
    assert data["approver"] == {"token": "default", "scope": "admin"}
    late = answer(daemon, "rejected", asked["question_id"], [["Red"]])
    assert (late.status, late.json["details"]["winner"]["status"]) == (409, "rejected")


def test_a_changed_input_makes_no_rule(daemon: Daemon) -> None:
    daemon.create("changed-rule")
    daemon.send("changed-rule", "permission")
    asked = daemon.wait_for("changed-rule", "permission.requested")
    path = f"/sessions/changed-rule/permissions/{asked['data']['permission_id']}/reply"
    reply = daemon.request("POST", path, {"reply": "always", "updatedInput": {"command": "ls"}})
    assert reply.status == 400
    assert "once" in reply.json["detail"]
    assert daemon.request("POST", path, {"reply": "once"}).status == 204
