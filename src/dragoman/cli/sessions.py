"""Commands about whole sessions: list, change, interrupt, terminate, remove."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dragoman.cli import table
from dragoman.cli.connect import AsJson, DataDir, Session, Url, daemon, say
from dragoman.cli.sanitize import line

if TYPE_CHECKING:
    from dragoman.client import Client
    from dragoman.schema.http import SessionInfo

Status = Literal["idle", "starting", "running", "waiting", "ended"]
PAGE = 500
HEADS = ("ID", "AGENT", "STATUS", "EVENTS", "AGE", "TITLE")


def ls(
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="Only this agent's.")] = None,
    status: Annotated[
        Status | None,
        typer.Option(metavar="STATE", help="Only idle, starting, running, waiting or ended ones."),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option(
            "--query", "-q", metavar="TEXT", help="A part of the id, title or first words."
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="At most so many.")] = None,
    url: Url = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List the sessions, newest first."""
    with daemon(url, data_dir, as_json) as client:
        size = min(PAGE, limit or PAGE)
        found = tuple(islice(_pages(client, agent, status, query, size), limit))
        if as_json:
            from dragoman.schema.http import SessionList

            say(SessionList(sessions=found))
        elif not found:
            typer.echo("no sessions")
        else:
            now_ms = int(time.time() * 1000)
            table.show(HEADS, [_row(each, now_ms) for each in found], cut_last=True)


def _pages(
    client: Client, agent: str | None, status: Status | None, query: str | None, size: int
) -> Iterator[SessionInfo]:
    cursor = None
    while True:
        page = client.sessions(agent=agent, status=status, q=query, limit=size, cursor=cursor)
        yield from page.sessions
        cursor = page.next_cursor
        if cursor is None:
            return


def change(
    session: Session,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Its name in lists.")] = None,
    model: Annotated[
        str | None, typer.Option(metavar="MODEL", help="See `dragoman models AGENT`.")
    ] = None,
    variant: Annotated[
        str | None, typer.Option(metavar="NAME", help="A variant of the model.")
    ] = None,
    mode: Annotated[str | None, typer.Option(metavar="MODE", help="The agent's own mode.")] = None,
    permission_mode: Annotated[
        Literal["default", "plan", "bypass", "acceptEdits"] | None,
        typer.Option(metavar="MODE", help="default, plan, bypass or acceptEdits."),
    ] = None,
    url: Url = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Rename a session, or change how its agent works from now on."""
    from dragoman.schema.http import PatchSession

    wanted = PatchSession(
        title=title,
        model=model,
        variant=variant,
        agent_mode=mode,
        permission_mode=permission_mode,
    )
    if wanted == PatchSession():
        raise typer.BadParameter("say what to change, e.g. --title, --model or --permission-mode")
    with daemon(url, data_dir, as_json) as client:
        changed = client.patch(session, wanted)
        say(changed) if as_json else typer.echo(_sentence(changed))


def _sentence(session: SessionInfo) -> str:
    about = (
        ("title", session.title),
        ("model", session.model),
        ("variant", session.variant),
        ("mode", session.agent_mode),
        ("permission mode", session.permission_mode),
    )
    told = ", ".join(f"{name} {value}" for name, value in about if value)
    return f"{session.session_id}: {line(told, 400)}"


def interrupt(
    session: Session, url: Url = None, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """Stop the running turn; the session goes on."""
    with daemon(url, data_dir, as_json) as client:
        idle = client.get(session).status == "idle"
        client.interrupt(session)
        if not idle:
            _print_done(session, "interrupted", as_json)
        elif as_json:
            say({"sessionId": session, "interrupted": False})
        else:
            typer.echo(f"{session}: nothing was running")


def terminate(
    session: Session, url: Url = None, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """End a session; its events stay readable."""
    with daemon(url, data_dir, as_json) as client:
        client.terminate(session)
        _print_done(session, "terminated", as_json)


def rm(
    session: Session, url: Url = None, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """End a session and remove its events and files, for good."""
    with daemon(url, data_dir, as_json) as client:
        client.delete(session)
        _print_done(session, "removed", as_json)


def age(since_ms: int, now_ms: int) -> str:
    """How long ago, in one unit."""
    seconds = max(0, now_ms - since_ms) // 1000
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def _print_done(session: str, what: str, as_json: bool) -> None:
    if as_json:
        say({"sessionId": session, what: True})
    else:
        typer.echo(f"{session} {what}")


def _row(session: SessionInfo, now_ms: int) -> tuple[str, ...]:
    waits = f" ({session.pending_count})" if session.pending_count else ""
    return (
        session.session_id,
        session.agent,
        session.status + waits,
        str(session.event_count),
        age(session.updated_at, now_ms),
        session.title or session.preview or "",
    )
