"""`dragoman events`: read a session's events, or follow them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.connect import AsJson, DataDir, Session, Url, daemon
from dragoman.cli.plain import clean, line

if TYPE_CHECKING:
    from dragoman.client import Client
    from dragoman.schema.events import Event


def events(
    session: Session,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the session ends.")
    ] = False,
    after: Annotated[int, typer.Option(min=0, metavar="N", help="Begin after this sequence.")] = 0,
    raw: Annotated[bool, typer.Option("--raw", help="Also the agent's own messages.")] = False,
    url: Url = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Print a session's events, one a line (JSON lines with --json)."""
    with daemon(url, data_dir, as_json) as client:
        stream = (
            client.follow(session, after, include_raw=raw)
            if follow
            else _stored(client, session, after, raw)
        )
        for event in stream:
            if as_json:
                from dragoman.client import encode_event

                typer.echo(encode_event(event))
            else:
                _show(event)


def _stored(client: Client, session: str, after: int, raw: bool) -> Iterator[Event]:
    while True:
        page = client.events(session, offset=after, include_raw=raw)
        yield from page.events
        if not page.has_more or not page.events:
            return
        after = page.events[-1].sequence


def _show(event: Event) -> None:
    from dragoman.cli.summary import summary

    clock = line(event.time)[11:19]
    typer.echo(f"{event.sequence:>6} {clock} {line(event.type):<20} {summary(event)}".rstrip())
    if event.raw is not None:
        import msgspec

        typer.echo("       " + clean(msgspec.json.encode(event.raw).decode()))
