"""Parses durations, e.g. `7d`."""

from __future__ import annotations

import re

import typer

_SPAN = re.compile(r"(\d{1,9})\s*([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def seconds(text: str, option: str) -> int:
    """How many seconds `30d`, `12h` or `8w` are."""
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        raise typer.BadParameter(
            f"{text!r} is no span of time; right is e.g. 90m, 12h, 30d or 8w", param_hint=option
        )
    return int(found[1]) * _SECONDS[found[2]]


def ago(then_ms: int, now_ms: int) -> str:
    """How long ago something was, or in how long it will be, in the largest unit that fits."""
    gone_s = abs(now_ms - then_ms) // 1000
    unit = next((u for u in "wdhm" if gone_s >= 2 * _SECONDS[u]), "s")
    return f"{gone_s // _SECONDS[unit]}{unit}"
