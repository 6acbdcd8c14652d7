"""How long to wait before something is tried again. Pure: chance and time are given."""

from __future__ import annotations

from email.utils import mktime_tz, parsedate_tz

_MAX_DOUBLINGS = 40
_MAX_DIGITS = 9


def retry_delay_s(
    failures: int, *, first_s: float, most_s: float, chance: float, asked_s: float | None = None
) -> float:
    """The wait after so many failures in a row: twice as long each time, up to `most_s`.

    `chance`, from 0 to 1, takes away up to half of it, so that many do not come back at once.
    `asked_s`, what the other side asks for, may only make it longer, and not beyond `most_s`.
    """
    doubled_s = first_s * 2.0 ** min(failures - 1, _MAX_DOUBLINGS)
    delay_s = min(doubled_s, most_s) * (1 - chance / 2)
    return min(max(delay_s, asked_s or 0.0), most_s)


def retry_after_s(value: str | None, now_s: float) -> float | None:
    """What a `Retry-After` header asks for, in seconds from now; None: nothing that makes sense."""
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:_MAX_DIGITS])
    try:
        date = parsedate_tz(value)
        return None if date is None else max(0.0, mktime_tz(date) - now_s)
    except (ValueError, OverflowError, IndexError, TypeError):
        return None
