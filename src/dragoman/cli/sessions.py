"""Commands about whole sessions: list, interrupt, terminate, remove."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dragoman.cli.connect import AsJson, DataDir, Session, Url, console, daemon, say
from dragoman.cli.plain import line

if TYPE_CHECKING:
    from rich.table import Table

    from dragoman.schema.http import SessionInfo

Status = Literal["idle", "running", "waiting", "ended"]


def ls(
    agent: Annotated[str | None, typer.Option(help="Only this agent's.")] = None,
    status: Annotated[Status | None, typer.Option(help="Only those in this state.")] = None,
    query: Annotated[
        str | None, typer.Option("--query", "-q", help="A part of the id or title.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, max=10000, help="At most so many.")] = None,
    url: Url = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List the sessions, newest first."""
    with daemon(url, data_dir, as_json) as client:
        found = client.sessions(agent=agent, status=status, q=query, limit=limit)
        if as_json:
            say(found)
        elif not found.sessions:
            typer.echo("no sessions")
        else:
            console().print(_table(found.sessions, now_ms=int(time.time() * 1000)))


def interrupt(
    session: Session, url: Url = None, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """Stop the running turn; the session goes on."""
    with daemon(url, data_dir, as_json) as client:
        client.interrupt(session)
        _done(session, "interrupted", as_json)


def terminate(
    session: Session, url: Url = None, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """End a session; its events stay readable."""
    with daemon(url, data_dir, as_json) as client:
        client.terminate(session)
        _done(session, "terminated", as_json)


def rm(
    session: Session, url: Url = None, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """End a session and remove its events and files, for good."""
    with daemon(url, data_dir, as_json) as client:
        client.delete(session)
        _done(session, "removed", as_json)


def age(since_ms: int, now_ms: int) -> str:
    """How long ago, in one unit."""
    seconds = max(0, now_ms - since_ms) // 1000
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def _done(session: str, what: str, as_json: bool) -> None:
    if as_json:
        say({"sessionId": session, what: True})
    else:
        typer.echo(f"{session} {what}")


def _table(found: tuple[SessionInfo, ...], now_ms: int) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in ("ID", "AGENT", "STATUS", "TITLE", "EVENTS", "AGE"):
        table.add_column(
            name,
            justify="right" if name in ("EVENTS", "AGE") else "left",
            overflow="ellipsis" if name == "TITLE" else "fold",
            no_wrap=name == "TITLE",
        )
    for session in found:
        waits = f" ({session.pending_count})" if session.pending_count else ""
        cells = (
            session.session_id,
            session.agent,
            session.status + waits,
            session.title or "",
            str(session.event_count),
            age(session.updated_at, now_ms),
        )
        table.add_row(*(Text(line(cell, 160)) for cell in cells))
    return table
