"""Questions and plans: what Grok asks people by methods of its own, and their answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET

from dragoman.agents.grok import native
from dragoman.dialects.acp.profile import OwnRequest, SessionAccess
from dragoman.schema.events import Question, QuestionOption
from dragoman.steps import Step

APPROVE, REFINE = "Approve", "Keep planning"
NO_PLAN = "The agent wants to leave plan mode. It has written no plan."
_CANCELLED = {"outcome": "cancelled"}
Answers = tuple[tuple[str, ...], ...] | None


def ask(key: str, params: native.QuestionParams, session: SessionAccess) -> Iterator[Step]:
    """Questions of the tool `ask_user_question`. Grok knows each answer by the question's text."""
    texts = [each.question for each in params.questions]

    def answer(answers: Answers) -> dict[str, Any]:
        if answers is None:
            return _CANCELLED
        pairs = zip(texts, answers, strict=False)
        return {"outcome": "accepted", "answers": {text: list(given) for text, given in pairs}}

    request = OwnRequest(call_id=params.tool_call_id, answer=answer, cancelled=_CANCELLED)
    return session.ask(key, tuple(map(_question, params.questions)), request)


def _question(asked: native.Question) -> Question:
    return Question(
        header=asked.header or UNSET,
        prompt=asked.question,
        options=tuple(map(_option, asked.options)),
        multi_select=asked.multi_select is True,
        allow_other=True,
    )


def _option(option: native.QuestionOption) -> QuestionOption:
    about = "\n\n".join(filter(None, (option.description, option.preview)))
    return QuestionOption(label=option.label, description=about or None)


def approve(key: str, params: native.PlanParams, session: SessionAccess) -> Iterator[Step]:
    """The plan's question: to go on, to keep planning, or what to plan otherwise."""
    plan = params.plan_content or ""
    question = Question(
        header="Plan",
        prompt=plan if plan.strip() else NO_PLAN,
        options=(QuestionOption(label=APPROVE), QuestionOption(label=REFINE)),
        allow_other=True,
    )
    request = OwnRequest(call_id=params.tool_call_id, answer=_decision, cancelled=_CANCELLED)
    return session.ask(key, (question,), request)


def _decision(answers: Answers) -> dict[str, Any]:
    words = [word for given in answers or () for word in given]
    if words == [APPROVE]:
        return {"outcome": "approved"}
    feedback = " ".join(word for word in words if word != REFINE)
    return {**_CANCELLED, "feedback": feedback} if feedback else _CANCELLED
