"""Options that all commands share, and the connection to the daemon."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.exit_codes import reporting
from dragoman.cli.sanitize import inert
from dragoman.errors import TokenInvalid

if TYPE_CHECKING:
    from rich.console import Console

    from dragoman.client import Client
    from dragoman.settings import Settings


def _address(url: str | None) -> str | None:
    """Refuse what is no address before anything is done."""
    if url is not None:
        from dragoman.client.locate import DEFAULT_URL, is_address

        if not is_address(url):
            raise typer.BadParameter(f"{url!r} is no address; right is e.g. {DEFAULT_URL}")
    return url


Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        metavar="URL",
        callback=_address,
        help="The daemon's address; else DRAGOMAN_URL, else found.",
    ),
]
DataDir = Annotated[
    str | None,
    typer.Option(
        "--data-dir", metavar="DIR", help="The data folder, which knows address and token."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Session = Annotated[str, typer.Argument(metavar="SESSION", help="The session's id.")]


@contextmanager
def daemon(url: str | None, data_dir: str | None, as_json: bool) -> Iterator[Client]:
    """A client of the daemon; its errors are told and become exit codes."""
    with reporting(as_json):
        from dragoman.client import Client

        settings = known_settings(data_dir)
        with (
            Client(
                url,
                settings.token,
                token_file=settings.token_file,
                data_dir=Path(settings.data_dir),
            ) as client,
            reporting(as_json, asking=True),
        ):
            try:
                yield client
            except TokenInvalid as error:
                raise _needs_token(client, error) from None


def _needs_token(client: Client, refused: TokenInvalid) -> TokenInvalid:
    """The daemon's words are about a header; a person has variables."""
    why = "does not take this token" if client.has_token else "wants a token"
    where = "the daemon keeps its own in the file `token` of its data folder"
    if client.token_given:
        where = (
            "this daemon was given its own by --token or DRAGOMAN_TOKEN, and keeps it in no file"
        )
    told = TokenInvalid(
        f"the daemon at {client.url} {why}: set DRAGOMAN_TOKEN to it, or DRAGOMAN_TOKEN_FILE to a "
        f"file that holds it ({where})"
    )
    told.details = refused.details
    return told


def known_settings(data_dir: str | None) -> Settings:
    """The settings that a daemon started here would have."""
    from dragoman.settings import load

    return load({"data_dir": data_dir}, os.environ)


def settings_of_machine(data_dir: str | None) -> Settings:
    """The same, but where a daemon runs, agents are where it looks for them."""
    import msgspec

    from dragoman.client.locate import agents_dir

    settings = known_settings(data_dir)
    folder = agents_dir(Path(settings.data_dir))
    return msgspec.structs.replace(settings, agents_dir=folder or settings.agents_dir)


def reaching(url: str | None, data_dir: str | None) -> str:
    """The options that reach the same daemon again, for commands shown to a person."""
    options = [("--url", url), ("--data-dir", data_dir)]
    return "".join(f" {name} {shlex.quote(value)}" for name, value in options if value)


def say(document: Any) -> None:
    """Print one JSON document on a line of its own."""
    import msgspec

    typer.echo(inert(msgspec.json.encode(document)))


def console() -> Console:
    """The terminal; what is printed on it is never read as markup."""
    from rich.console import Console

    plain = bool(os.environ.get("NO_COLOR"))
    # Without a colour system Rich writes no bold and no italics either.
    return Console(
        markup=False, highlight=False, emoji=False, color_system=None if plain else "auto"
    )
