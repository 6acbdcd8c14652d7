"""What the mock agent asks of people, through the real daemon."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.testing.mock.scripts import PATCH
from tests.daemon import Daemon

from .story import Event, Talk, items, of_type, parts, said


def asked(talk: Talk, prompt: str = "permission") -> Event:
    talk.send(prompt)
    return talk.until("permission.requested")


def answered(talk: Talk) -> tuple[Any, list[Event]]:
    """The last resolved permission, and the turn's events, which conform."""
    talk.until("turn.ended")
    events = talk.conforms()
    return of_type(events, "permission.resolved")[-1], events


def test_a_permission_tells_what_it_is_about(daemon: Daemon) -> None:
    talk = Talk(daemon)
    request = asked(talk)
    (call,) = items(talk.events(), "tool_call")
    metadata = request["data"]["metadata"]
    assert request["data"]["action"] == call["content"][0]["name"] == "bash"
    assert request["data"]["status"] == "requested"
    assert metadata["item_id"] == call["item_id"]
    assert metadata["call_id"] == call["content"][0]["call_id"]
    assert metadata["input"] == {"command": "make clean"}
    assert metadata["command"] == "make clean"
    assert metadata["agent_reason"] == "It deletes files."
    assert talk.info["status"] == "waiting"
    pending = daemon.get(f"{talk.path}/pending")
    assert pending["permissions"] == [request["data"]]
    assert talk.info["pendingCount"] == 1
    talk.reply(request, "once")
    talk.until("turn.ended")
    assert daemon.get(f"{talk.path}/pending")["permissions"] == []


def test_once_allows_it_once(daemon: Daemon) -> None:
    talk = Talk(daemon)
    for _ in range(2):
        talk.reply(asked(talk), "once")
        resolved, events = answered(talk)
        assert resolved["status"] == "accept"
        assert resolved["approver"]["scope"]
        assert "rule" not in resolved["approver"]
        assert said(events)[-1] == "You allowed it, so I ran `make clean`."


def test_always_is_not_asked_again_but_still_shown(daemon: Daemon) -> None:
    talk = Talk(daemon)
    talk.reply(asked(talk), "always")
    resolved, _ = answered(talk)
    assert resolved["status"] == "accept_for_session"
    turn = talk.turn("permission")
    (request,), (resolved,) = (
        of_type(turn, "permission.requested"),
        of_type(turn, "permission.resolved"),
    )
    assert request["permission_id"] == resolved["permission_id"]
    assert resolved["status"] == "accept"
    assert resolved["approver"]["rule"] == "always:bash"
    assert said(turn)[-1].startswith("You allowed it")
    assert asked(talk, "edit")["data"]["action"] == "edit"
    talk.terminate()
    talk.conforms()


def test_a_rejection_tells_the_agent_why(daemon: Daemon) -> None:
    talk = Talk(daemon)
    talk.reply(asked(talk), "reject", message="Not on a Sunday.")
    resolved, events = answered(talk)
    assert (resolved["status"], resolved["metadata"]["message"]) == ("reject", "Not on a Sunday.")
    (result,) = items(events, "tool_result")
    assert (result["status"], result["reason"]) == ("failed", "declined")
    assert said(events)[-1] == "You declined, so I left it: Not on a Sunday."


def test_a_changed_input_is_what_the_agent_uses(daemon: Daemon) -> None:
    talk = Talk(daemon)
    talk.reply(asked(talk), "once", updatedInput={"command": "make tidy"})
    resolved, events = answered(talk)
    assert resolved["metadata"]["updated_input"] == {"command": "make tidy"}
    assert said(events)[-1] == "You allowed it, so I ran `make tidy`."


def test_an_edit_shows_its_diff_before_and_its_file_after(daemon: Daemon, tmp_path: Path) -> None:
    talk = Talk(daemon, directory=str(tmp_path))
    request = asked(talk, "edit")
    assert request["data"]["metadata"]["diff"] == PATCH
    assert request["data"]["metadata"]["path"] == str(tmp_path / "greeting.py")
    talk.reply(request, "once")
    _, events = answered(talk)
    (result,) = items(events, "tool_result")
    assert parts(result, "file_ref") == [
        {
            "type": "file_ref",
            "path": str(tmp_path / "greeting.py"),
            "action": "patch",
            "diff": PATCH,
        }
    ]


@pytest.mark.parametrize(
    ("mode", "prompt", "status", "rule"),
    [
        ("bypass", "permission", "accept", "mode:bypass"),
        ("bypass", "edit", "accept", "mode:bypass"),
        ("acceptEdits", "edit", "accept", "mode:acceptEdits"),
        ("plan", "edit", "reject", "mode:plan"),
    ],
)
def test_a_mode_answers_by_itself(
    daemon: Daemon, mode: str, prompt: str, status: str, rule: str
) -> None:
    talk = Talk(daemon, permissionMode=mode)
    turn = talk.turn(prompt)
    (resolved,) = of_type(turn, "permission.resolved")
    assert (resolved["status"], resolved["approver"]["rule"]) == (status, rule)
    assert said(turn)[-1].startswith("You allowed" if status == "accept" else "You declined")
    assert of_type(talk.conforms(), "session.started")[0]["metadata"]["permissionMode"] == mode


@pytest.mark.parametrize(
    ("mode", "prompt"),
    [("default", "permission"), ("default", "edit"), ("plan", "permission"),
     ("acceptEdits", "permission")],
)  # fmt: skip
def test_a_mode_leaves_the_rest_to_people(daemon: Daemon, mode: str, prompt: str) -> None:
    talk = Talk(daemon, permissionMode=mode)
    talk.reply(asked(talk, prompt), "once")
    resolved, _ = answered(talk)
    assert resolved["status"] == "accept"
    assert "rule" not in resolved["approver"]


def test_questions_are_answered_one_list_each(daemon: Daemon) -> None:
    talk = Talk(daemon)
    talk.send("questions")
    request = talk.until("question.requested")["data"]
    assert (request["prompt"], request["options"]) == ("Which colour?", ["Red", "Blue"])
    assert [question["multi_select"] for question in request["questions"]] == [False, True]
    assert request["questions"][0]["options"][0] == {
        "label": "Red",
        "description": "Like a rose.",
    }
    path = f"/questions/{request['question_id']}/reply"
    assert talk.post(path, {"answers": [["Red"], [], []]}).status == 400
    assert talk.post(path, {"answers": [["mauve"], ["Pear", "Plum"]]}).status == 204
    talk.until("turn.ended")
    events = talk.conforms()
    (resolved,) = of_type(events, "question.resolved")
    assert (resolved["status"], resolved["response"]) == ("answered", "mauve")
    assert resolved["answers"] == [["mauve"], ["Pear", "Plum"]]
    assert said(events)[-1] == "You answered. Colour: mauve; Fruit: Pear, Plum"


def test_a_rejected_question_lets_the_agent_go_on(daemon: Daemon) -> None:
    talk = Talk(daemon)
    talk.send("questions")
    request = talk.until("question.requested")["data"]
    assert talk.post(f"/questions/{request['question_id']}/reject").status == 204
    talk.until("turn.ended")
    events = talk.conforms()
    (resolved,) = of_type(events, "question.resolved")
    assert (resolved["status"], resolved["response"]) == ("rejected", None)
    assert "reason" not in (resolved.get("metadata") or {})
    assert said(events)[-1] == "You did not answer."
