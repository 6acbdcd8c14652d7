"""What a tool was called with and returned, as text. Pure."""

from __future__ import annotations

import re

from dragoman.cli.sanitize import clean, line
from dragoman.cli.summary import gist
from dragoman.schema.items import Item, ToolCall, ToolResult

SHOWN_LINES = 12
"""So many lines of a failure are shown: its end, where the reason mostly is."""
WIDTH = 400

_TELLS_EXIT = re.compile(r"(?i)\A\s*(?:error: )?exit code \d+\n?")


def called(item: Item) -> tuple[str, str]:
    """What is done, exactly; and the agent's own words about it."""
    call = next((part for part in item.content if isinstance(part, ToolCall)), None)
    name = call.name if call is not None else "tool"
    title = item.title if isinstance(item.title, str) else ""
    if isinstance(item.command, str):
        about = f"  {line(title)}" if title and title != item.command else ""
        return line(f"→ {name}: {item.command}", WIDTH), about
    if title:
        # A title is often the tool's name and its object already.
        named = title.lower().startswith(name.lower())
        return line(f"→ {title}" if named else f"→ {name}: {title}", WIDTH), ""
    return line(f"→ {gist(item)}"), ""


def returned(item: Item, name: str = "") -> list[str]:
    """What a tool gave back: a line, and more of it where it failed. With the tool's name, if any.

    It is needed where several tools are called at once.
    """
    whose = f"{line(name)}: " if name else ""
    code = item.exit_code if isinstance(item.exit_code, int) else 0
    if item.status != "failed" and code == 0:
        return [line(f"← {whose}{gist(item)}")]
    reason = item.reason if isinstance(item.reason, str) else "failed"
    head = f"✗ {whose}exit {code}" if code else f"✗ {whose}{line(reason)}"
    output = "".join(part.output for part in item.content if isinstance(part, ToolResult))
    told = _TELLS_EXIT.sub("", clean(output), count=1) if code else clean(output)
    lines = [each.rstrip() for each in told.strip().split("\n") if each.strip()]
    if len(lines) > SHOWN_LINES:
        lines = [f"… {len(lines) - SHOWN_LINES} more lines", *lines[-SHOWN_LINES:]]
    return [head, *(f"  | {each[:WIDTH]}" for each in lines)]
