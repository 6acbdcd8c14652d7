"""`dragoman token`: make, list and revoke the tokens that open a daemon."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli import table
from dragoman.cli.connect import AsJson, DataDir, Url, daemon, say
from dragoman.cli.durations import ago, seconds

if TYPE_CHECKING:
    from dragoman.schema.access import Scope, TokenInfo

HEADS = ("NAME", "SCOPES", "CREATED", "EXPIRES")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The token's name.")]

app = typer.Typer(help="Make, list and revoke tokens.", rich_markup_mode=None, no_args_is_help=True)


@app.command()
def create(
    name: Annotated[
        str, typer.Option(metavar="NAME", help="Its name, in lists and as an approver.")
    ],
    scope: Annotated[
        list[str], typer.Option(metavar="SCOPE", help="read, write, approve or admin; repeatable.")
    ],
    expires: Annotated[
        str | None, typer.Option(metavar="SPAN", help="When it ends, e.g. 12h, 30d; else never.")
    ] = None,
    url: Url = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Make a token. It is printed this once; the daemon keeps only its hash."""
    scopes = [_scope(each) for each in scope]
    expires_in_s = None if expires is None else seconds(expires, "--expires")
    with daemon(url, data_dir, as_json) as client:
        created = client.create_token(name, scopes, expires_in_s)
    if as_json:
        say(created)
        return
    # The token alone on stdout, for a pipe or a file.
    typer.echo(created.token)
    typer.echo(
        f"This is the token {created.name}. It is not shown again; set DRAGOMAN_TOKEN to it.",
        err=True,
    )


def _scope(given: str) -> Scope:
    match given:
        case "read" | "write" | "approve" | "admin":
            return given
        case _:
            raise typer.BadParameter(
                f"{given!r} is no scope; known: read, write, approve, admin", param_hint="--scope"
            )


@app.command("list")
def show(url: Url = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the tokens. The daemon's own, in the file `token`, is not among them."""
    with daemon(url, data_dir, as_json) as client:
        found = client.tokens()
    if as_json:
        say(found)
    elif found.tokens:
        now_ms = int(time.time() * 1000)
        table.show(HEADS, [_row(each, now_ms) for each in found.tokens])
    else:
        typer.echo("no tokens but the daemon's own")


def _row(token: TokenInfo, now_ms: int) -> tuple[str, ...]:
    if token.expired:
        expires = "expired"
    elif token.expires_at is None:
        expires = "never"
    else:
        expires = f"in {ago(token.expires_at, now_ms)}"
    return token.name, ",".join(token.scopes), f"{ago(token.created_at, now_ms)} ago", expires


@app.command()
def revoke(name: Name, url: Url = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Make a token good for nothing, at once; streams that it opened end."""
    with daemon(url, data_dir, as_json) as client:
        client.revoke_token(name)
    say({"name": name, "revoked": True}) if as_json else typer.echo(f"{name} is revoked.")
