"""Permission modes and session rules: what is answered without asking a person."""

from __future__ import annotations

from collections.abc import Collection

from dragoman.schema.commands import AnswerPermission, AnswerQuestion, PermissionMode
from dragoman.schema.events import Approver, PermissionRequested, QuestionRequested
from dragoman.steps import AskPermission

DEADLINE = "deadline"
"""The rule, and the reason, of a request that nobody answered in time."""


def rule_of(ask: AskPermission) -> str:
    """What "always" would allow for the rest of the session."""
    return ask.rule or ask.action


def decide(
    ask: AskPermission, mode: PermissionMode, rules: Collection[str]
) -> AnswerPermission | None:
    """Answer by mode or by rule; None: a person decides."""
    if mode == "bypass":
        return _answer(ask, "once", "mode:bypass")
    if mode == "acceptEdits" and ask.edits_files and not ask.guarded:
        return _answer(ask, "once", "mode:acceptEdits")
    if mode == "plan" and ask.edits_files:
        return _answer(ask, "reject", "mode:plan", "plan mode: nothing is changed")
    if rule_of(ask) in rules:
        return _answer(ask, "once", f"always:{rule_of(ask)}")
    return None


def _answer(
    ask: AskPermission, reply: str, rule: str, message: str | None = None
) -> AnswerPermission:
    return AnswerPermission(
        key=ask.key,
        reply="reject" if reply == "reject" else "once",
        message=message,
        approver=Approver(rule=rule),
    )


def overdue(
    key: str, asked: PermissionRequested | QuestionRequested, seconds: float
) -> AnswerPermission | AnswerQuestion:
    """Say no to what nobody has answered in time."""
    approver = Approver(rule=DEADLINE)
    if isinstance(asked, QuestionRequested):
        return AnswerQuestion(key=key, answers=None, approver=approver)
    message = f"nobody answered within {seconds:g} s"
    return AnswerPermission(key=key, reply="reject", message=message, approver=approver)
