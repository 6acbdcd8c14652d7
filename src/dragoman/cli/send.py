"""`dragoman send`: say something to an agent and watch the turn."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.connect import AsJson, DataDir, Session, Url, console, daemon, reaching, say
from dragoman.cli.exits import ERROR

if TYPE_CHECKING:
    from dragoman.client import Client
    from dragoman.schema.events import Event


def send(
    session: Session,
    message: Annotated[
        list[str], typer.Argument(metavar="MESSAGE...", help="The message; - reads stdin.")
    ],
    agent: Annotated[
        str | None, typer.Option(help="Create the session with this agent if there is none.")
    ] = None,
    directory: Annotated[
        str | None, typer.Option("--dir", help="Where a new session's agent works; default here.")
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Watch the turn, or only send.")
    ] = True,
    url: Url = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Send a message to a session and show its turn until it ends."""
    text = sys.stdin.read() if message == ["-"] else " ".join(message)
    options = reaching(url, data_dir)
    with daemon(url, data_dir, as_json) as client, _hinting(session, options):
        if agent:
            _ensure(client, session, agent, directory)
        if wait:
            turn = client.stream_turn(session, text)
            completed = _print(turn) if as_json else _show(turn, session, options)
        else:
            _sent(client.send(session, text), as_json)
            completed = True
    if not completed:
        raise typer.Exit(ERROR)


@contextmanager
def _hinting(session: str, options: str) -> Iterator[None]:
    """Say what can be done now, where the daemon cannot know it."""
    from dragoman.errors import SessionNotFound

    try:
        yield
    except SessionNotFound as error:
        error.add_note("add --agent NAME to create it; `dragoman agents` lists them")
        raise
    except KeyboardInterrupt:
        stop = f"dragoman interrupt {shlex.quote(session)}{options}"
        typer.echo(f"\nthe turn goes on; stop it with: {stop}", err=True)
        raise


def _ensure(client: Client, session: str, agent: str, directory: str | None) -> None:
    from dragoman.errors import SessionExists, SessionNotFound
    from dragoman.schema.http import CreateSession

    # On another machine this folder need not exist; there the daemon chooses.
    here = str(Path(directory or ".").absolute()) if directory or client.is_local else None
    try:
        client.get(session)
    except SessionNotFound:
        try:
            client.create(CreateSession(agent=agent, directory=here), session)
        except SessionExists:
            # Somebody was faster, or the id was used before: then the send itself will tell.
            return


def _print(turn: Iterator[Event]) -> bool:
    from dragoman.client import encode_event

    completed = False
    for event in turn:
        typer.echo(encode_event(event))
        completed = _completes(event)
    return completed


def _show(turn: Iterator[Event], session: str, options: str) -> bool:
    from dragoman.cli.transcript import Transcript

    transcript = Transcript(console(), session, options)
    completed = False
    try:
        for event in turn:
            transcript.show(event)
            completed = _completes(event)
    finally:
        transcript.close()
    return completed


def _completes(event: Event) -> bool:
    """Whether a turn that ends with this event was completed."""
    from dragoman.schema.events import SessionEnded, TurnEnded

    match event.data:
        case TurnEnded(outcome=outcome):
            return outcome not in ("failed", "interrupted")
        case SessionEnded(reason=reason):
            return reason == "completed"
        case _:
            return False


def _sent(message_id: str, as_json: bool) -> None:
    if as_json:
        say({"messageId": message_id})
    else:
        typer.echo(message_id)
