"""`dragoman models`: what an agent can work with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli import table
from dragoman.cli.connect import AsJson, DataDir, Url, daemon, say
from dragoman.cli.sanitize import line

if TYPE_CHECKING:
    from dragoman.schema.http import ModelInfo, ModelList


def models(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="The agent's id.")],
    refresh: Annotated[bool, typer.Option("--refresh", help="Ask the agent again.")] = False,
    url: Url = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List an agent's models and modes."""
    with daemon(url, data_dir, as_json) as client:
        found = client.models(agent, refresh=refresh)
        modes = client.modes(agent).modes
    if as_json:
        import msgspec

        say({**msgspec.to_builtins(found), "modes": modes})
        return
    if found.models:
        table.show(("ID", "VARIANTS", "NAME"), [_row(each, found) for each in found.models])
    else:
        typer.echo(f"{agent} tells no models")
    if modes:
        typer.echo("\nModes:")
        for mode in modes:
            typer.echo(f"  {line(mode.id)}: {line(mode.description, 400)}")


def _row(model: ModelInfo, found: ModelList) -> tuple[str, str, str]:
    variants = (
        f"{name}*" if name == model.default_variant else name for name in model.variants or ()
    )
    default = "(default)" if model.id == found.default_model else ""
    return model.id, " ".join(variants), f"{model.name or ''} {default}".strip()
