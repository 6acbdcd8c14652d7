"""What the model is scripted to do, and extensions that a user of Pi may have."""

from __future__ import annotations

from typing import Any

from dragoman.agents.pi.probes import ASK_EXTENSION

ASKS = ASK_EXTENSION
"""A tool by which the model asks a person."""


def tool(name: str, **given: Any) -> dict[str, Any]:
    """A call of a tool."""
    return {"tool": name, "input": given}


def bash(command: str) -> dict[str, Any]:
    """A command; it is asked for."""
    return tool("bash", command=command)
