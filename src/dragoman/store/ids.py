"""Ids ordered by time and unique everywhere."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable


class IdMaker:
    """Makes ids like `evt_19a8b…`: milliseconds, a count within them, and who counted."""

    def __init__(self, clock_ms: Callable[[], int]) -> None:
        self._clock_ms = clock_ms
        self._who = secrets.token_hex(6)
        self._last = 0
        self._count = 0

    def new_ids(self, kind: str, count: int) -> list[bytes]:
        """Make many at once, for what happens at once."""
        now = self._clock_ms()
        if now > self._last:  # else the clock stood still or went back: ids never do
            self._last, self._count = now, 0
        first, self._count = self._count, self._count + count
        prefix, who = f"{kind}_{self._last:011x}".encode(), self._who.encode()
        return [b"%b%06x%b" % (prefix, number, who) for number in range(first, first + count)]

    def new_id(self, kind: str) -> str:
        """Make one."""
        return self.new_ids(kind, 1)[0].decode()


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


_maker = IdMaker(now_ms)
new_id, new_ids = _maker.new_id, _maker.new_ids


def timestamp(ms: int) -> str:
    """RFC 3339, UTC, with a fraction."""
    seconds, fraction = divmod(ms, 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{fraction:03d}Z"
