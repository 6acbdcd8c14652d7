"""`dragoman reply`: answer what an agent asks, a permission or a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dragoman.cli.connect import AsJson, DataDir, Session, Url, daemon, say
from dragoman.errors import NotFound, SessionNotFound

if TYPE_CHECKING:
    from dragoman.client import Client
    from dragoman.schema.http import Pending

Decision = Literal["once", "always", "reject"]


def reply(
    session: Session,
    request_id: Annotated[str, typer.Argument(metavar="REQUEST_ID", help="What was asked.")],
    decision: Annotated[
        Decision | None,
        typer.Argument(help="For a permission; reject also refuses a question."),
    ] = None,
    answer: Annotated[
        list[str] | None,
        typer.Option("--answer", "-a", help="An answer to a question; one for each part."),
    ] = None,
    message: Annotated[
        str | None, typer.Option(help="Told to the agent with a rejected permission.")
    ] = None,
    url: Url = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Answer a permission request or a question."""
    answers = answer or []
    if bool(decision) == bool(answers):
        raise typer.BadParameter("give either once, always or reject, or --answer (repeatable)")
    with daemon(url, data_dir, as_json) as client:
        pending = client.pending(session)
        kind = _kind(pending, request_id)
        if kind == "permission" and not decision:
            raise typer.BadParameter("this is a permission: answer once, always or reject")
        if kind == "question" and decision in ("once", "always"):
            raise typer.BadParameter("this is a question: use --answer, or reject")
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


def _lists(pending: Pending, request_id: str, answers: list[str]) -> list[list[str]]:
    """One list for each part of the question: all answers to a single one, else one each."""
    from dragoman.cli.summary import questions

    asked = (each for each in pending.questions if each.question_id == request_id)
    parts = next((len(questions(each)) for each in asked), 1)
    if parts == 1:
        return [answers]
    if parts != len(answers):
        raise typer.BadParameter(f"{parts} questions need {parts} times --answer, in order")
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
