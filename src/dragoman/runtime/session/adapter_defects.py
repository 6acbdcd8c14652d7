"""Logs defects of adapters, with file and line, once for many of a kind."""

from __future__ import annotations

import logging
import traceback
from collections import Counter

from dragoman.adapter import Adapter

log = logging.getLogger(__name__)
_counts: Counter[str] = Counter()


def report_defect(adapter: Adapter, error: Exception) -> None:
    """Log where an adapter raised what it may not; at each place the 1st, the 2nd, the 4th.

    Never in which words: they may be a person's. The `agent.unparsed` event has them.
    """
    place = _place(adapter, error)
    _counts[place] += 1
    count = _counts[place]
    if count & (count - 1) == 0:
        log.warning(
            "the adapter of %s has a defect: %s at %s; the message is kept as agent.unparsed",
            adapter.name,
            type(error).__name__,
            place,
            extra={
                "agent": adapter.id,
                "count": count,
                "traceback": "".join(traceback.format_tb(error.__traceback__)),
            },
        )


def _place(adapter: Adapter, error: Exception) -> str:
    """File and line: the last in the adapter's own package, else the last of all."""
    package = adapter.converter.__module__.rpartition(".")[0]
    last = own = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        last = f"{frame.f_code.co_filename}:{line}"
        if frame.f_globals.get("__name__", "").startswith(package):
            own = last
    return own or last or "an unknown place"
