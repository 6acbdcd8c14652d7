"""Unified diffs, applied: a reader of its own, which has nothing in common with their writer."""

from __future__ import annotations

import re

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


def applied(patch: str, before: str) -> str:
    """The text after a patch of one file; fails where the patch does not fit."""
    lines = before.split("\n")
    lines = [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    after: list[str] = []
    at = 0
    rows = patch.removesuffix("\n").split("\n") if patch else []
    starts = [n for n, row in enumerate(rows) if row.startswith("+++ ")]
    for n in range(starts[0] + 1 if starts else len(rows), len(rows)):
        row = rows[n]
        ends = "" if rows[n + 1 : n + 2] == ["\\ No newline at end of file"] else "\n"
        if found := _HUNK.fullmatch(row):
            start = int(found[1]) - (found[2] != "0")
            after += lines[at:start]
            at = start
        elif row[0] == "+":
            after.append(row[1:] + ends)
        elif row[0] in " -":
            assert lines[at] == row[1:] + ends, f"line {at + 1}"
            after += [lines[at]] if row[0] == " " else []
            at += 1
        else:
            assert row[0] == "\\"
    return "".join([*after, *lines[at:]])
