"""`dragoman pending` and `dragoman cancel`: what waits, and taking a message back."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.connect import AsJson, DataDir, Session, Url, console, daemon, reaching, say

if TYPE_CHECKING:
    from dragoman.schema.http import Pending

WIDTH = 200


def pending(
    session: Session, url: Url = None, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """List what waits: messages, permissions, questions."""
    with daemon(url, data_dir, as_json) as client:
        found = client.pending(session)
        if as_json:
            say(found)
            return
    blocks = list(_blocks(session, found, reaching(url, data_dir)))
    if not blocks:
        typer.echo("nothing waits")
    terminal = console()
    for number, (first, *rest) in enumerate(blocks):
        if number:
            terminal.out("")
        terminal.out(first, style="bold yellow", highlight=False)
        for shown in rest:
            terminal.out(shown, highlight=False)


def _blocks(session: str, found: Pending, options: str) -> Iterator[list[str]]:
    from dragoman.cli.requests import ask_permission, ask_question
    from dragoman.cli.sanitize import line
    from dragoman.cli.sessions import age

    now_ms = int(time.time() * 1000)
    for permission in found.permissions:
        yield ask_permission(session, permission, options)
    for question in found.questions:
        yield ask_question(session, question, options)
    for message in found.messages:
        named = f"{shlex.quote(session)} {shlex.quote(message.message_id)}"
        yield [
            f"message, waiting for {age(message.created_at, now_ms)}: "
            f"{line(message.message, WIDTH)}",
            f"  dragoman cancel {named}{options}",
        ]


def cancel(
    session: Session,
    message_id: Annotated[
        str, typer.Argument(metavar="MESSAGE_ID", help="As `dragoman pending` shows it.")
    ],
    url: Url = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Take back a message that waits for the running turn to end."""
    with daemon(url, data_dir, as_json) as client:
        client.cancel_pending(session, message_id)
        if as_json:
            say({"messageId": message_id, "cancelled": True})
        else:
            typer.echo(f"{message_id} is taken back; the agent never sees it")
