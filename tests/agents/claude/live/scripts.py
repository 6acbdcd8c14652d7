"""What the model is scripted to do, in a word."""

from __future__ import annotations

from typing import Any


def tool(name: str, **given: Any) -> dict[str, Any]:
    """A call of a tool."""
    return {"tool": name, "input": given}


def bash(command: str, **given: Any) -> dict[str, Any]:
    """A command; one that changes something is asked for."""
    return tool("Bash", command=command, description="Run it", **given)
