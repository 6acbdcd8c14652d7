"""The diffs of Pi before 0.75.5: each line has a number, and `...` stands for what is left out."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LINE = re.compile(r"([ +-]) *(\d{1,9}) (.*)", re.DOTALL)
_LEFT_OUT = re.compile(r" +\.\.\.")


def hunks_of(text: str) -> str | None:
    """The same as hunks of a unified diff; None: it is no such diff."""
    groups: list[list[tuple[str, int, str]]] = [[]]
    for line in text.split("\n"):
        found = _LINE.fullmatch(line)
        if found is not None:
            groups[-1].append((found[1], int(found[2]), found[3]))
        elif _LEFT_OUT.fullmatch(line):
            groups.append([])
        else:
            return None
    return "\n".join(_hunks(groups))


def _hunks(groups: list[list[tuple[str, int, str]]]) -> Iterator[str]:
    shift = 0
    """How much further down a line is now than it was."""
    for group in filter(None, groups):
        added = sum(sign == "+" for sign, _, _ in group)
        removed = sum(sign == "-" for sign, _, _ in group)
        sign, number, _ = group[0]
        # What is added is numbered as it is now, all else as it was.
        start = number - shift if sign == "+" else number
        old, new = _range(start, len(group) - added), _range(start + shift, len(group) - removed)
        yield f"@@ -{old} +{new} @@"
        yield from (f"{sign}{line}" for sign, _, line in group)
        shift += added - removed


def _range(start: int, length: int) -> str:
    # A range without lines is named by the line before it.
    return f"{start}" if length == 1 else f"{start - (length == 0)},{length}"
