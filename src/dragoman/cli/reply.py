"""`dragoman reply`: answer what an agent asks, a permission or a question."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dragoman.cli.connect import AsJson, DataDir, Session, Url, daemon, say
from dragoman.errors import AlreadyResolved, NotFound, SessionNotFound

if TYPE_CHECKING:
    from dragoman.client import Client
    from dragoman.schema.http import Pending

Decision = Literal["once", "always", "reject"]
_NUMBERED = re.compile(r"(\d{1,3})=(.*)", re.DOTALL)


def reply(
    session: Session,
    request_id: Annotated[str, typer.Argument(metavar="REQUEST_ID", help="What was asked.")],
    decision: Annotated[
        Decision | None,
        typer.Argument(
            metavar="DECISION",
            help="To a permission; reject also refuses a question.",
        ),
    ] = None,
    answer: Annotated[
        list[str] | None,
        typer.Option(
            "--answer",
            "-a",
            metavar="[N=]ANSWER",
            help="To a question. To several questions N=ANSWER, with N from 1. Repeat it where "
            "one takes several answers: -a 1=Red -a 2=S -a 2=L",
        ),
    ] = None,
    message: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Told to the agent; goes with reject."),
    ] = None,
    url: Url = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Answer a permission request or a question."""
    answers = answer or []
    if bool(decision) == bool(answers):
        raise typer.BadParameter("give either once, always or reject, or --answer (repeatable)")
    if message is not None and decision != "reject":
        raise typer.BadParameter("it is told to the agent with reject only", param_hint="--message")
    with daemon(url, data_dir, as_json) as client, _telling_winner():
        pending = client.pending(session)
        kind = _kind(pending, request_id)
        if kind == "permission" and not decision:
            raise typer.BadParameter("this is a permission: answer once, always or reject")
        if kind == "question" and decision in ("once", "always"):
            raise typer.BadParameter("this is a question: use --answer, or reject")
        if kind == "question" and message is not None:
            raise typer.BadParameter("a refused question takes none", param_hint="--message")
        if answers:
            client.reply_question(session, request_id, _lists(pending, request_id, answers))
        elif decision:
            _decide(client, session, request_id, decision, message, kind)
        if as_json:
            say({"requestId": request_id, "reply": decision or answers})
        else:
            typer.echo(f"{request_id} answered")


def _kind(pending: Pending, request_id: str) -> Literal["permission", "question"] | None:
    """What is asked; None where it no longer waits, and the daemon will say what became of it."""
    if any(asked.permission_id == request_id for asked in pending.permissions):
        return "permission"
    if any(asked.question_id == request_id for asked in pending.questions):
        return "question"
    return None


@contextmanager
def _telling_winner() -> Iterator[None]:
    """Say how a request was resolved before us."""
    from dragoman.cli.requests import winner

    try:
        yield
    except AlreadyResolved as error:
        if told := winner(error.details.get("winner")):
            error.add_note(told)
        raise


def _lists(pending: Pending, request_id: str, answers: list[str]) -> list[list[str]]:
    """One list of answers for each part of the question."""
    from dragoman.cli.requests import questions

    asked = (each for each in pending.questions if each.question_id == request_id)
    parts = next((questions(each) for each in asked), None)
    if parts is None:
        return [answers]  # it no longer waits: the daemon says what became of it
    lists = [answers] if len(parts) == 1 else _sorted(answers, len(parts))
    for number, (part, given) in enumerate(zip(parts, lists, strict=True), 1):
        which = f"question {number}" if len(parts) > 1 else "the question"
        if not given:
            raise typer.BadParameter(f"{which} has no answer: add -a {number}=ANSWER")
        if len(given) > 1 and not part.multi_select:
            raise typer.BadParameter(f"{which} takes one answer, and got {len(given)}")
    return lists


def _sorted(answers: list[str], count: int) -> list[list[str]]:
    """Answers by the number of their question; without numbers, one for each in order."""
    found = [_NUMBERED.fullmatch(answer) for answer in answers]
    numbered = [(int(each[1]), each[2]) for each in found if each and 1 <= int(each[1]) <= count]
    if len(numbered) == len(answers):
        return [[text for at, text in numbered if at == number] for number in range(1, count + 1)]
    if numbered or len(answers) != count:
        raise typer.BadParameter(
            f"there are {count} questions: say which one each answer is for, e.g. -a 1=ANSWER"
        )
    return [[answer] for answer in answers]


def _decide(
    client: Client,
    session: str,
    request_id: str,
    decision: Decision,
    message: str | None,
    kind: Literal["permission", "question"] | None,
) -> None:
    if kind == "question":
        client.reject_question(session, request_id)
        return
    try:
        client.reply_permission(session, request_id, decision, message=message)
    except SessionNotFound:
        raise
    except NotFound:
        if kind == "permission" or decision != "reject":
            raise
        client.reject_question(session, request_id)
