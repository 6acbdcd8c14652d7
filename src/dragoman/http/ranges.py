"""Range and conditional requests (RFC 9110, 13 and 14)."""

from __future__ import annotations

import re
from email.utils import formatdate, parsedate_to_datetime

from starlette.datastructures import Headers

from dragoman.errors import RangeNotSatisfiable

_ONE_RANGE = re.compile(r"bytes=\s*(\d{0,18})-(\d{0,18})\s*", re.ASCII)


def http_date(moment_s: int) -> str | None:
    """A moment as headers say it; None for one that no calendar has."""
    try:
        return formatdate(moment_s, usegmt=True)
    except (ValueError, OverflowError, OSError):
        return None


def is_known(headers: Headers, etag: str, modified_s: int) -> bool:
    """Whether the client has this version already, and only asks."""
    if (known := headers.get("if-none-match")) is not None:
        tags = {tag.strip().removeprefix("W/") for tag in known.split(",")}
        return etag in tags or "*" in tags
    since = headers.get("if-modified-since")
    return since is not None and (moment := _moment(since)) is not None and modified_s <= moment


def part(headers: Headers, size: int, etag: str, modified_s: int) -> tuple[int, int] | None:
    """Begin and end of the one range that is wanted; None for all. Raise RangeNotSatisfiable."""
    found = _ONE_RANGE.fullmatch(headers.get("range", ""))
    if found is None or not _is_still(headers.get("if-range"), etag, modified_s):
        return None  # several ranges, or none that makes sense: all of it is a right answer
    first, last = found.groups()
    if not first:
        if not last:
            return None
        count = min(int(last), size)
        begin, end = size - count, size
    else:
        begin, end = int(first), min(int(last) + 1, size) if last else size
        if last and int(last) < begin:
            return None
    if begin >= size or begin == end:
        raise RangeNotSatisfiable(size)
    return begin, end


def _is_still(condition: str | None, etag: str, modified_s: int) -> bool:
    """Whether a part of this version fits what the client has."""
    if condition is None or condition == etag:
        return True
    return _moment(condition) == modified_s


def _moment(text: str) -> int | None:
    try:
        return int(parsedate_to_datetime(text).timestamp())
    except (ValueError, OverflowError):
        return None
