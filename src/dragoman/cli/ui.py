"""`dragoman ui`: open the page of a daemon in a browser."""

from __future__ import annotations

from typing import Annotated

import typer

from dragoman.cli.connect import AsJson, DataDir, Url, daemon, say


def ui(
    no_open: Annotated[
        bool, typer.Option("--print", help="Print the address; open no browser.")
    ] = False,
    url: Url = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Open the daemon's page in a browser, with a ticket that is good once and for a minute."""
    with daemon(url, data_dir, as_json) as client:
        made = client.ticket()
        address = f"{client.url}/ui/?ticket={made.ticket}"
    if as_json:
        say({"url": address, "expiresInS": made.expires_in_s})
    elif no_open or not _opened(address):
        typer.echo(address)
    else:
        typer.echo("The page opens in your browser. If it does not: dragoman ui --print")


def _opened(address: str) -> bool:
    import webbrowser

    return webbrowser.open(address)
