"""`dragoman events`: read a session's events, or follow them, or those of all sessions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.connect import AsJson, DataDir, Url, daemon
from dragoman.cli.sanitize import clean, inert, line
from dragoman.errors import InvalidRequest

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
    """Print a session's events, or all sessions', one a line (JSON lines with --json).

    Before each event of all sessions stands its cursor; JSON is {"cursor": …, "event": …} then.
    """
    show = _print if as_json else _show
    with daemon(url, data_dir, as_json) as client, _in_our_words():
        if session is None:
            for cursor, event in client.follow_all(after, include_raw=raw):
                show(event, cursor)
            return
        following = client.follow(session, after or 0, include_raw=raw) if follow else None
        for event in following or _stored(client, session, after or 0, raw):
            show(event)


@contextmanager
def _in_our_words() -> Iterator[None]:
    """A position is a header to the daemon, and an option here."""
    try:
        yield
    except InvalidRequest as error:
        if error.details.get("field") in ("Last-Event-ID", "offset", "cursor"):
            error.details["field"] = "--after"
        raise


def _stored(client: Client, session: str, after: int, raw: bool) -> Iterator[Event]:
    while True:
        page = client.events(session, offset=after, include_raw=raw)
        yield from page.events
        if not page.has_more or not page.events:
            return
        after = page.events[-1].sequence


def _print(event: Event, cursor: int | None = None) -> None:
    from dragoman.client import encode_event

    told = encode_event(event)
    # Among all sessions, the cursor is what the next call goes on from.
    typer.echo(inert(told if cursor is None else b'{"cursor":%d,"event":%b}' % (cursor, told)))


def _show(event: Event, cursor: int | None = None) -> None:
    from dragoman.cli.summary import summary

    clock = line(event.time)[11:19]
    name = "" if cursor is None else f"{cursor} {line(event.session_id):<16} "
    typer.echo(
        f"{name}{event.sequence:>6} {clock} {line(event.type):<20} {summary(event)}".rstrip()
    )
    if event.raw is not None:
        import msgspec

        typer.echo("       " + clean(msgspec.json.encode(event.raw).decode()))
