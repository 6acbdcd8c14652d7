"""What a scripted model says to make Grok act."""

from __future__ import annotations

from typing import Any

from tests.agents.live import Block


def tool(name: str, **given: Any) -> Block:
    """A call of one of its tools."""
    return {"tool": name, "input": given}


def command(line: str, **more: Any) -> Block:
    """A shell command."""
    return tool("run_terminal_command", command=line, description="Runs it", **more)
