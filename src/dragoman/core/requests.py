"""Permissions and questions: how an answer or a withdrawal resolves one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, Struct

from dragoman.core.policy import DEADLINE, rule_of
from dragoman.schema.commands import AnswerPermission, AnswerQuestion
from dragoman.schema.events import (
    PermissionRequested,
    PermissionResolved,
    PermissionStatus,
    Question,
    QuestionRequested,
    QuestionResolved,
)
from dragoman.steps import AskPermission, AskQuestion

MASK = "••••"
STATUS: dict[str, PermissionStatus] = {
    "once": "accept",
    "always": "accept_for_session",
    "reject": "reject",
}


class OpenRequest(Struct, kw_only=True):
    """A request that nobody has answered."""

    key: str
    body: PermissionRequested | QuestionRequested
    detached: bool
    timeout_s: float | None = None
    """The agent waits no longer than this."""

    @property
    def id(self) -> str:
        """Our id of it."""
        body = self.body
        return body.permission_id if isinstance(body, PermissionRequested) else body.question_id


def permission(ask: AskPermission, request_id: str, item_id: str | None) -> PermissionRequested:
    """The request as people see it."""
    metadata: dict[str, Any] = {**ask.metadata, "rule": rule_of(ask)}
    if item_id is not None:
        metadata["item_id"] = item_id
    return PermissionRequested(permission_id=request_id, action=ask.action, metadata=metadata)


def question(ask: AskQuestion, request_id: str) -> QuestionRequested:
    """The request as people see it; the first question also stands in front."""
    first = ask.questions[0] if ask.questions else Question(prompt="")
    return QuestionRequested(
        question_id=request_id,
        prompt=first.prompt,
        options=tuple(option.label for option in first.options),
        questions=ask.questions or (first,),
        metadata=UNSET if ask.metadata is None else dict(ask.metadata),
    )


def resolution(
    asked: PermissionRequested | QuestionRequested, answer: AnswerPermission | AnswerQuestion
) -> PermissionResolved | QuestionResolved | None:
    """The event that an answer makes; None where the two do not belong together."""
    match asked, answer:
        case PermissionRequested(), AnswerPermission():
            metadata = {**(asked.metadata or {}), **_reason(answer)}
            if answer.updated_input is not None:
                metadata["updated_input"] = answer.updated_input
            if answer.message is not None:
                metadata["message"] = answer.message
            return PermissionResolved(
                permission_id=asked.permission_id,
                action=asked.action,
                status=STATUS[answer.reply],
                metadata=metadata,
                approver=answer.approver or UNSET,
            )
        case QuestionRequested(), AnswerQuestion():
            return _answered(asked, answer)
        case _:
            return None


def _answered(asked: QuestionRequested, answer: AnswerQuestion) -> QuestionResolved:
    answers = None if answer.answers is None else masked(asked, answer.answers)
    return QuestionResolved(
        question_id=asked.question_id,
        prompt=asked.prompt,
        options=asked.options,
        response=", ".join(answers[0]) if answers else None,
        status="rejected" if answers is None else "answered",
        questions=asked.questions,
        answers=UNSET if answers is None else answers,
        metadata={**(asked.metadata or {}), **_reason(answer)} or UNSET,
        approver=answer.approver or UNSET,
    )


def _reason(answer: AnswerPermission | AnswerQuestion) -> dict[str, Any]:
    late = answer.approver is not None and answer.approver.rule == DEADLINE
    return {"reason": DEADLINE} if late else {}


def masked(
    asked: QuestionRequested, answers: tuple[tuple[str, ...], ...]
) -> tuple[tuple[str, ...], ...]:
    """The answers as they may be stored: what is secret is not."""
    questions = asked.questions or ()
    return tuple(
        tuple(MASK for _ in given)
        if at < len(questions) and questions[at].secret is True
        else given
        for at, given in enumerate(answers)
    )


def withdrawal(
    asked: PermissionRequested | QuestionRequested, reason: str
) -> PermissionResolved | QuestionResolved:
    """The event of a request that nobody answered in time."""
    about: Mapping[str, Any] = asked.metadata or {}
    metadata = {**about, "reason": reason}
    if isinstance(asked, PermissionRequested):
        return PermissionResolved(
            permission_id=asked.permission_id,
            action=asked.action,
            status="reject",
            metadata=metadata,
        )
    return QuestionResolved(
        question_id=asked.question_id,
        prompt=asked.prompt,
        options=asked.options,
        status="rejected",
        questions=asked.questions,
        metadata=metadata,
    )
