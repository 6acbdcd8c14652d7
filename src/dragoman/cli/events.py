"""`dragoman events`: read a session's events, or follow them, or those of all sessions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.connect import AsJson, DataDir, Url, daemon
from dragoman.cli.plain import clean, inert, line

if TYPE_CHECKING:
    from dragoman.client import Client
    from dragoman.schema.events import Event


def events(
    session: Annotated[
        str | None,
        typer.Argument(metavar="SESSION", help="The session's id; without: all, as they come."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the session ends.")
    ] = False,
    after: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="N", help="Begin after this sequence; of all sessions, this cursor."
        ),
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Also the agent's own messages.")] = False,
    url: Url = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Print a session's events, or all sessions', one a line (JSON lines with --json)."""
    with daemon(url, data_dir, as_json) as client:
        stream: Iterable[Event]
        if session is None:
            stream = (event for _, event in client.follow_all(after, include_raw=raw))
        elif follow:
            stream = client.follow(session, after or 0, include_raw=raw)
        else:
            stream = _stored(client, session, after or 0, raw)
        for event in stream:
            if as_json:
                from dragoman.client import encode_event

                typer.echo(inert(encode_event(event)))
            else:
                _show(event, named=session is None)


def _stored(client: Client, session: str, after: int, raw: bool) -> Iterator[Event]:
    while True:
        page = client.events(session, offset=after, include_raw=raw)
        yield from page.events
        if not page.has_more or not page.events:
            return
        after = page.events[-1].sequence


def _show(event: Event, *, named: bool) -> None:
    from dragoman.cli.summary import summary

    clock = line(event.time)[11:19]
    name = f"{line(event.session_id):<16} " if named else ""
    typer.echo(
        f"{name}{event.sequence:>6} {clock} {line(event.type):<20} {summary(event)}".rstrip()
    )
    if event.raw is not None:
        import msgspec

        typer.echo("       " + clean(msgspec.json.encode(event.raw).decode()))
