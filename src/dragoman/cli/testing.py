"""`dragoman testing`: what adapter authors and tests need."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.exit_codes import reporting
from dragoman.cli.sanitize import line

if TYPE_CHECKING:
    from dragoman.testing.model import ModelRequest

SECRET = ("authorization", "x-api-key", "api-key", "cookie", "proxy-authorization")
STOPS = {signal.SIGINT, signal.SIGTERM}
WIDTH = 100

app = typer.Typer(
    help="For tests and adapter authors.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def root() -> None:
    """For tests and adapter authors."""


@app.command("model")
def model(
    script: Annotated[str, typer.Argument(metavar="SCRIPT", help="A YAML or JSON file of steps.")],
    port: Annotated[
        int,
        typer.Option(metavar="N", help="The port; 0 takes a free one.", min=0, max=65535),
    ] = 0,
    log: Annotated[
        str | None, typer.Option(metavar="FILE", help="Append each request, as a line of JSON.")
    ] = None,
) -> None:
    """Run a model that follows a script, on loopback, until Ctrl-C."""
    if log is not None:
        _append(log, "")
    with reporting():
        from pathlib import Path

        from dragoman.testing.model import ScriptedModel, load

        def on_request(request: ModelRequest) -> None:
            typer.echo(_summary(request))
            if log is not None:
                _append(log, json.dumps(_record(request)) + "\n")

        steps = load(Path(script))
        # Threads inherit the mask: whoever gets the signal, it waits for `sigwait`.
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
        with ScriptedModel(steps, port=port, on_request=on_request) as running:
            typer.echo(_welcome(running.url, len(steps)))
            signal.sigwait(STOPS)


def _welcome(url: str, steps: int) -> str:
    return (
        f"A model with {steps} steps listens on {url}\n"
        f"  Anthropic Messages:         ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY=none\n"
        f"  OpenAI Responses and Chat:  OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY=none"
    )


def _summary(request: ModelRequest) -> str:
    if not request.is_main:
        return line(f"{request.method} {request.path}  no step", WIDTH)
    step = "no step left" if request.step is None else f"step {request.step}"
    return line(f"{request.method} {request.path}  {step}  {request.text!r}", WIDTH)


def _append(path: str, text: str) -> None:
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise typer.BadParameter(f"cannot write to {path}: {error.strerror}") from None


def _record(request: ModelRequest) -> dict[str, Any]:
    headers = {
        name: "(hidden)" if name in SECRET else value for name, value in request.headers.items()
    }
    return {
        "method": request.method,
        "path": request.path,
        "headers": headers,
        "main": request.is_main,
        "step": request.step,
        "body": request.body,
    }
