"""Repeated answers to a request: the same again is fine, another one conflicts."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from dragoman.core.requests import STATUS, masked
from dragoman.errors import InvalidRequest
from dragoman.schema.commands import AnswerPermission, AnswerQuestion
from dragoman.schema.events import PermissionResolved, QuestionRequested, QuestionResolved
from dragoman.store import RequestRow


def is_same(row: RequestRow, answer: AnswerPermission | AnswerQuestion) -> bool:
    """Whether a request was resolved as this answer would have."""
    match row.body, answer:
        case PermissionResolved() as body, AnswerPermission():
            changed = (body.metadata or {}).get("updated_input")
            return body.status == STATUS[answer.reply] and changed == answer.updated_input
        case QuestionResolved() as body, AnswerQuestion(answers=None):
            return body.status == "rejected"
        case QuestionResolved() as body, AnswerQuestion(answers=answers):
            asked = QuestionRequested(
                question_id=body.question_id,
                prompt=body.prompt,
                options=body.options,
                questions=body.questions,
            )
            return body.status == "answered" and body.answers == masked(asked, answers or ())
        case _:
            return False


def winner(row: RequestRow) -> dict[str, object]:
    """How a request was resolved, and by whom or why."""
    body = msgspec.to_builtins(row.body)
    wanted = ("status", "response", "answers", "approver")
    known = {name: body[name] for name in wanted if body.get(name) is not None}
    about = body.get("metadata") or {}
    return known | {name: about[name] for name in ("updated_input", "reason") if name in about}


def one_list_each(
    asked: QuestionRequested | QuestionResolved, answer: AnswerQuestion
) -> AnswerQuestion:
    """An answer with a list for each question; raise InvalidRequest where it has more.

    Old clients know only the first question: what they leave out is empty.
    """
    expected = len(asked.questions or ()) or 1
    if answer.answers is None:
        return answer
    missing = expected - len(answer.answers)
    if missing < 0:
        one = f"each of the {expected} questions" if expected > 1 else "the question"
        raise InvalidRequest(f"answers needs one list for {one}", field="answers")
    return replace(answer, answers=(*answer.answers, *((),) * missing))
