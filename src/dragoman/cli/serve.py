"""`dragoman serve`: run the daemon. Loads nothing that the daemon itself does not need."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from dragoman.cli.exit_codes import reporting
from dragoman.cli.hide_token import take_token


def serve(
    host: Annotated[str | None, typer.Option(help="The address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="The port; 0 takes a free one.")] = None,
    token: Annotated[
        str | None, typer.Option(help="The token; visible in ps: prefer --token-file.")
    ] = None,
    token_file: Annotated[str | None, typer.Option(help="A file that holds the token.")] = None,
    no_token: Annotated[
        bool | None, typer.Option("--no-token", help="Serve without a token; loopback only.")
    ] = None,
    data_dir: Annotated[str | None, typer.Option(help="Where everything is kept.")] = None,
    agents_dir: Annotated[str | None, typer.Option(help="Where agents are installed.")] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A further Host to accept, NAME[:PORT]; repeatable.")
    ] = None,
    cors_allow_origin: Annotated[
        list[str] | None,
        typer.Option(help="A web origin whose pages may call the API; repeatable."),
    ] = None,
    roots: Annotated[
        list[str] | None,
        typer.Option("--root", help="A folder that sessions and the file API stay in; repeatable."),
    ] = None,
    log_level: Annotated[
        str | None, typer.Option(help="debug, info, warning or error.", metavar="LEVEL")
    ] = None,
    debug: Annotated[
        list[str] | None,
        typer.Option(help="Log everything of one part: sandbox; repeatable.", metavar="PART"),
    ] = None,
    config: Annotated[str | None, typer.Option(help="A settings file (TOML).")] = None,
) -> None:
    """Run the daemon, until it is stopped."""
    _ensure_one_way(no_token, token, token_file)
    token = take_token(token)
    flags = {
        "host": host,
        "port": port,
        "token": None if no_token else token,
        "token_file": token_file,
        "no_token": no_token,
        "data_dir": data_dir,
        "agents_dir": agents_dir,
        "allow_host": allow_host,
        "cors_allow_origin": cors_allow_origin,
        "roots": roots,
        "log_level": log_level,
        "debug": debug,
    }
    with reporting():
        from dragoman.settings import load

        settings = load(flags, os.environ, config)
        from dragoman.http.server import run

        code = run(settings)
    raise typer.Exit(code)


def _ensure_one_way(no_token: bool | None, token: str | None, token_file: str | None) -> None:
    if no_token and (token is not None or token_file is not None):
        raise typer.BadParameter(
            "it serves without a token, and one is given: drop --no-token, or --token and "
            "--token-file",
            param_hint="--no-token",
        )
