"""Ids: ordered by time, unique everywhere, so that logs of many daemons can be merged."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable


def id_maker() -> Callable[[str], str]:
    """Make ids like `evt_19a8b…`: milliseconds, a count within them, and who counted."""
    who = secrets.token_hex(6)
    last = 0
    count = 0

    def new_id(kind: str) -> str:
        nonlocal last, count
        now = time.time_ns() // 1_000_000
        if now > last:
            last, count = now, 0
        else:
            count += 1  # also when the clock went back: ids never do
        return f"{kind}_{last:011x}{count:06x}{who}"

    return new_id


new_id = id_maker()
"""The maker that this process uses."""


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def timestamp(ms: int) -> str:
    """RFC 3339, UTC, with a fraction."""
    seconds, fraction = divmod(ms, 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{fraction:03d}Z"
