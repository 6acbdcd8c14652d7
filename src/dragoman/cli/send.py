"""`dragoman send`: say something to an agent and watch the turn."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dragoman.cli import send_options
from dragoman.cli.connect import AsJson, DataDir, Session, Url, console, daemon, reaching, say
from dragoman.cli.exit_codes import ERROR
from dragoman.cli.message_progress import Watch
from dragoman.cli.sanitize import inert
from dragoman.cli.target_session import NewSession, ensure

if TYPE_CHECKING:
    from dragoman.schema.commands import Attachment
    from dragoman.schema.events import Event


def send(
    session: Session,
    message: send_options.Words,
    agent: send_options.Agent = None,
    directory: send_options.Directory = None,
    model: send_options.Model = None,
    variant: send_options.Variant = None,
    mode: send_options.Mode = None,
    permission_mode: send_options.PermissionMode = None,
    env: send_options.Env = None,
    attach: send_options.Attach = None,
    delivery: send_options.Delivery = "queue",
    wait: send_options.Wait = True,
    url: Url = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Send a message to a session and show its turn until it ends."""
    wish = NewSession(
        agent or "", directory, model, variant, mode, permission_mode, tuple(env or ())
    )
    if not agent and wish != NewSession(""):
        raise typer.BadParameter(
            "what is for a new session goes with --agent; `dragoman set` changes a session"
        )
    text = sys.stdin.read() if message == ["-"] else " ".join(message)
    if not text.strip() and not attach:
        raise typer.BadParameter("a message needs words, or a file with --attach")
    again = reaching(url, data_dir)
    with daemon(url, data_dir, as_json) as client, Watch(client, session, again) as watch:
        if agent:
            ensure(client, session, wish)
        files = [_attachment(path, client.is_local) for path in attach or ()]
        if wait:
            turn = client.stream_turn(
                session, text, attachments=files, delivery=delivery, accepted=watch.accepted
            )
            seen = watch.over(turn)
            completed = _print(seen) if as_json else _show(seen, watch)
        else:
            _print_sent(client.send(session, text, attachments=files, delivery=delivery), as_json)
            completed = True
    if not completed:
        raise typer.Exit(ERROR)


def _attachment(path: str, is_local: bool) -> Attachment:
    from dragoman.schema.commands import Attachment

    if not is_local:
        return Attachment(path=path)  # a path of the daemon's machine, which looks for itself
    file = Path(path).expanduser().absolute()
    if not file.exists():
        raise typer.BadParameter(f"there is no file {file}", param_hint="--attach")
    return Attachment(path=str(file))


def _print(turn: Iterator[Event]) -> bool:
    from dragoman.client import encode_event

    completed = False
    for event in turn:
        typer.echo(inert(encode_event(event)))
        completed = _completes(event)
    return completed


def _show(turn: Iterator[Event], watch: Watch) -> bool:
    from dragoman.cli.transcript import Transcript

    transcript = Transcript(console(), watch.session, watch.options, watch.asks)
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


def _print_sent(message_id: str, as_json: bool) -> None:
    if as_json:
        say({"messageId": message_id})
    else:
        typer.echo(message_id)
