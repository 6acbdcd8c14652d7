"""Token counts and costs as agents report them; impossible ones are dropped."""

from __future__ import annotations

from typing import Any, TypeVar

MOST_TOKENS = 10**12
MOST_USD = 1e9


def tokens(told: Any) -> int | None:
    """So many tokens; None: below zero, no whole number, or more than anybody could use."""
    return told if type(told) is int and 0 <= told <= MOST_TOKENS else None


def usd(told: Any) -> float | None:
    """So much money; None as above."""
    is_number = isinstance(told, int | float) and not isinstance(told, bool)
    return float(told) if is_number and 0 <= told <= MOST_USD else None


N = TypeVar("N", int, float)


def grown(now: N, before: N) -> N:
    """What was added to a total; one that fell began anew from zero."""
    return now - before if now >= before else now
