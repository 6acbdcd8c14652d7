"""`dragoman agents`: which agents the daemon's machine has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.cli.connect import AsJson, DataDir, Url, console, daemon, say
from dragoman.cli.plain import line

if TYPE_CHECKING:
    from dragoman.schema.http import AgentInfo


def agents(url: Url = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the agents, and whether they can be used."""
    with daemon(url, data_dir, as_json) as client:
        found = client.agents()
        if as_json:
            say(found)
        else:
            _show(found.agents)


def _show(found: tuple[AgentInfo, ...]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table("ID", "NAME", "INSTALLED", "VERSION", "CREDENTIALS", box=None, pad_edge=False)
    for agent in found:
        cells = (
            agent.id,
            agent.name,
            "yes" if agent.installed else "no",
            agent.version or "",
            "yes" if agent.credentials_available else "no",
        )
        table.add_row(*(Text(line(cell)) for cell in cells))
    console().print(table)
