"""Permissions and questions in the terminal, with the commands that answer them. Pure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any

from dragoman.cli.sanitize import line, reveal
from dragoman.schema.events import (
    PermissionRequested,
    PermissionResolved,
    Question,
    QuestionOption,
    QuestionRequested,
    QuestionResolved,
)

LONG = 200
"""A longer question is shown line by line, like a plan."""
DECISIONS = {
    "accept": "allowed once",
    "accept_for_session": "always allowed",
    "reject": "rejected",
    "answered": "answered",
    "rejected": "rejected",
}


# --- Permissions ---


def ask_permission(session: str, asked: PermissionRequested, reaching: str) -> list[str]:
    """A permission request, with the command that answers it."""
    key = f"{shlex.quote(session)} {shlex.quote(asked.permission_id)}"
    return [
        f"permission wanted: {line(asked.action)}",
        # Marked, so that no line of an agent's can pass for one of ours.
        *(f"  | {shown}" for shown in _action(_about(asked.metadata))),
        f"  once | always{_rule(_about(asked.metadata))} | reject",
        f"  dragoman reply {key} once{reaching}",
    ]


def _action(about: dict[str, Any]) -> Iterator[str]:
    """What would be done: all of it, for it is what a person approves."""
    shown = next((about[name] for name in ("command", "diff") if about.get(name)), None)
    paths = about.get("paths") or about.get("path")
    for path in paths if isinstance(paths, list) else [paths]:
        # A diff names its file already.
        if path and not (isinstance(shown, str) and str(path) in shown):
            yield _one(str(path))
    if shown is None and not paths:
        shown = about.get("input")
    if shown:
        yield from reveal(shown if isinstance(shown, str) else dense(shown)).rstrip().split("\n")


def _rule(about: dict[str, Any]) -> str:
    rule = about.get("rule")
    return f" ({_one(rule)})" if isinstance(rule, str) and rule else ""


def _one(text: str) -> str:
    """All of a text that a person approves, on one line."""
    return reveal(text).replace("\n", "\\n")


def decided(resolved: PermissionResolved) -> str:
    """How a permission was resolved, and by which rule."""
    reason = _about(resolved.metadata).get("reason")
    if isinstance(reason, str):
        return f"withdrawn ({reason})"
    rule = getattr(resolved.approver, "rule", None)
    if isinstance(rule, str):
        given = "rejected" if resolved.status == "reject" else "allowed"
        return f"{given} by rule {rule}"
    return DECISIONS[resolved.status]


# --- Questions ---


def ask_question(session: str, asked: QuestionRequested, reaching: str) -> list[str]:
    """A question, with the command that answers it."""
    parts = questions(asked)
    key = f"{shlex.quote(session)} {shlex.quote(asked.question_id)}"
    shown = ["question:"]
    for number, part in enumerate(parts, 1):
        shown += _part(part, f"{number}. " if len(parts) > 1 else "")
    answers = " ".join(f"-a {shlex.quote(answer)}" for answer in _examples(parts))
    shown.append(f"  dragoman reply {key} {answers}{reaching}")
    shown.append(f"  (or: dragoman reply {key} reject{reaching})")
    return shown


def _part(part: Question, number: str) -> Iterator[str]:
    header = f"{line(part.header)}: " if isinstance(part.header, str) else ""
    several = " (several)" if part.multi_select else ""
    if "\n" in part.prompt.strip() or len(part.prompt) > LONG:
        yield f"  {number}{header}{several}".rstrip()
        yield from (f"  | {each}" for each in reveal(part.prompt).strip().split("\n"))
    else:
        yield f"  {number}{header}{line(part.prompt, LONG)}{several}"
    for option in part.options:
        yield f"     - {_option(option)}"
    if part.allow_other is True and part.options:
        yield "     - or your own words"


def _option(option: QuestionOption) -> str:
    why = f": {option.description}" if option.description else ""
    return line(f"{option.label}{why}", LONG)


def _examples(parts: tuple[Question, ...]) -> Iterator[str]:
    for number, part in enumerate(parts, 1):
        labels = [line(option.label, LONG) for option in part.options] or ["TEXT"]
        for label in labels[: 2 if part.multi_select else 1]:
            yield f"{number}={label}" if len(parts) > 1 else label


def questions(asked: QuestionRequested | QuestionResolved) -> tuple[Question, ...]:
    """The parts of a question; an older daemon names only the first, and not what it takes."""
    if isinstance(asked.questions, tuple) and asked.questions:
        return asked.questions
    options = tuple(QuestionOption(label=label) for label in asked.options)
    return (Question(prompt=asked.prompt, options=options, multi_select=True),)


def answered(resolved: QuestionResolved) -> str:
    """How a question was resolved: all answers, each with what was asked."""
    reason = _about(resolved.metadata).get("reason")
    if isinstance(reason, str):
        return f"withdrawn ({reason})"
    if resolved.status == "rejected":
        return "rejected"
    if not isinstance(resolved.answers, tuple):
        return f"answered: {resolved.response or ''}".rstrip()
    parts = questions(resolved)
    given = [", ".join(answer) for answer in resolved.answers]
    if len(given) > 1 and len(given) == len(parts):
        given = [f"{_name(part)}: {each}" for part, each in zip(parts, given, strict=True)]
    return "answered: " + "; ".join(given)


def _name(part: Question) -> str:
    return part.header if isinstance(part.header, str) else part.prompt


def winner(told: Any) -> str | None:
    """How a request was resolved, from `details.winner` of a reply that came too late."""
    told = _about(told)
    if isinstance(reason := told.get("reason"), str):
        return line(f"it was withdrawn ({reason})")
    words = DECISIONS.get(str(told.get("status")))
    if words is None:
        return None
    answers = told.get("answers")
    if isinstance(answers, list | tuple) and answers:
        words += ": " + "; ".join(", ".join(map(str, answer)) for answer in answers)
    rule = _about(told.get("approver")).get("rule")
    return line(f"it was {words}" + (f" by rule {rule}" if rule else ""), LONG)


def dense(value: Any) -> str:
    """JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _about(metadata: Any) -> dict[str, Any]:
    return metadata if isinstance(metadata, dict) else {}
