"""Requests to people: how they are shown, answered and withdrawn."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from dragoman.core.requests import MASK, permission, question, resolution, withdrawal
from dragoman.schema.commands import AnswerPermission, AnswerQuestion, PermissionReply
from dragoman.schema.events import (
    Approver,
    PermissionResolved,
    Question,
    QuestionOption,
    QuestionResolved,
)
from dragoman.steps import AskPermission, AskQuestion

WHO = Approver(token="t1", scope="approve")
ASKED = permission(AskPermission(key="p", action="bash", metadata={"command": "ls"}), "perm_1", "i")
COLOUR = Question(
    prompt="Which colour?", options=(QuestionOption(label="Red"), QuestionOption(label="Blue"))
)
SECRET = Question(prompt="The password?", secret=True)
QUESTION = question(AskQuestion(key="q", questions=(COLOUR, SECRET)), "qst_1")


def answered(*answers: tuple[str, ...]) -> QuestionResolved:
    body = resolution(QUESTION, AnswerQuestion(key="q", answers=answers, approver=WHO))
    assert isinstance(body, QuestionResolved)
    return body


def replied(
    reply: PermissionReply, message: str | None = None, updated: dict[str, Any] | None = None
) -> PermissionResolved:
    answer = AnswerPermission(
        key="p", reply=reply, message=message, updated_input=updated, approver=WHO
    )
    body = resolution(ASKED, answer)
    assert isinstance(body, PermissionResolved)
    return body


def test_a_permission_says_what_always_would_allow_and_which_item_it_is_about() -> None:
    assert ASKED.status == "requested"
    assert ASKED.metadata == {"command": "ls", "rule": "bash", "item_id": "i"}


def test_the_first_question_also_stands_in_front() -> None:
    assert (QUESTION.prompt, QUESTION.options) == ("Which colour?", ("Red", "Blue"))
    assert QUESTION.questions == (COLOUR, SECRET)


def test_an_ask_without_questions_is_still_one() -> None:
    empty = question(AskQuestion(key="q", questions=()), "qst_1")
    assert (empty.prompt, empty.questions) == ("", (Question(prompt=""),))


def test_each_reply_has_its_status() -> None:
    assert replied("once").status == "accept"
    assert replied("always").status == "accept_for_session"
    assert replied("reject").status == "reject"
    assert replied("once").approver == WHO
    assert "reason" not in (replied("reject").metadata or {})


def test_a_changed_input_and_a_word_of_refusal_are_in_the_metadata() -> None:
    metadata = replied("once", updated={"command": "pwd"}).metadata or {}
    assert metadata["updated_input"] == {"command": "pwd"}
    assert (replied("reject", message="not now").metadata or {})["message"] == "not now"


def test_answers_stand_one_list_for_each_question_and_the_first_joined() -> None:
    body = answered(("Red", "Blue"), ("hunter2",))
    assert (body.status, body.response) == ("answered", "Red, Blue")
    assert body.approver == WHO


def test_a_secret_answer_is_masked() -> None:
    assert answered(("Red",), ("hunter2", "hunter3")).answers == (("Red",), (MASK, MASK))


def test_a_secret_first_answer_is_masked_in_the_response_too() -> None:
    asked = question(AskQuestion(key="q", questions=(SECRET,)), "qst_1")
    body = resolution(asked, AnswerQuestion(key="q", answers=(("hunter2",),)))
    assert isinstance(body, QuestionResolved)
    assert (body.response, body.answers) == (MASK, ((MASK,),))


def test_a_rejected_question_has_no_answers() -> None:
    body = resolution(QUESTION, AnswerQuestion(key="q", answers=None, approver=WHO))
    assert isinstance(body, QuestionResolved)
    assert (body.status, body.response, body.answers) == ("rejected", None, UNSET)


def test_an_empty_answer_is_an_answer() -> None:
    body = answered()
    assert (body.status, body.response, body.answers) == ("answered", None, ())


def test_an_answer_of_the_other_sort_resolves_nothing() -> None:
    assert resolution(QUESTION, AnswerPermission(key="q", reply="once")) is None
    assert resolution(ASKED, AnswerQuestion(key="p", answers=None)) is None


def test_a_withdrawal_refuses_and_says_why_and_nobody_approved() -> None:
    body = withdrawal(ASKED, "deadline")
    assert isinstance(body, PermissionResolved)
    assert (body.status, body.approver) == ("reject", UNSET)
    assert body.metadata == {**(ASKED.metadata or {}), "reason": "deadline"}
    other = withdrawal(QUESTION, "agent")
    assert isinstance(other, QuestionResolved)
    assert (other.status, other.metadata) == ("rejected", {"reason": "agent"})
