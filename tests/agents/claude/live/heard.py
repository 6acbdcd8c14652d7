"""What the model behind Claude Code was told."""

from __future__ import annotations

from typing import Any


def told(request: Any) -> str:
    """The last thing that the model was told: the results of its tools, and notes with them."""
    return str(request.body["messages"][-1]["content"])
