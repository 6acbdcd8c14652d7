"""`dragoman sessions prune`: delete what nobody has touched for long."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.connect import AsJson, DataDir, Url, daemon, say
from dragoman.cli.durations import seconds
from dragoman.errors import Conflict, SessionNotFound

if TYPE_CHECKING:
    from dragoman.client import Client

app = typer.Typer(help="Many sessions at once.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Many sessions at once."""


@app.command()
def prune(
    older_than: Annotated[
        str, typer.Option(metavar="AGE", help="Untouched for so long, e.g. 30d, 12h, 8w.")
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list what would be deleted.")
    ] = False,
    url: Url = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Delete sessions that are idle or have ended, and were not touched for long."""
    before_ms = int((time.time() - seconds(older_than, "--older-than")) * 1000)
    deleted: list[str] = []
    with daemon(url, data_dir, as_json) as client:
        for session_id in _old(client, before_ms):
            if not dry_run and not _delete(client, session_id, before_ms):
                continue
            if not as_json:
                typer.echo(session_id)
            deleted.append(session_id)
    if as_json:
        say({"sessionIds": deleted, "deleted": not dry_run})
    else:
        did = "would be deleted" if dry_run else "deleted"
        typer.echo(f"{len(deleted)} sessions {did}", err=True)


def _delete(client: Client, session_id: str, before_ms: int) -> bool:
    """Delete a session, unless somebody came back to it, or was faster."""
    try:
        client.delete(session_id, quiet_since=before_ms)
    except (Conflict, SessionNotFound):
        return False
    return True


def _old(client: Client, before_ms: int) -> list[str]:
    return [
        each.session_id
        for status in ("ended", "idle")
        for each in client.sessions(status=status).sessions
        if each.updated_at < before_ms and not each.pending_count
    ]
