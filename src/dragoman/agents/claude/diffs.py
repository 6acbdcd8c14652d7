"""What a file is after an edit that Claude Code tells about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from dragoman.wire.diff import lines_of

_TABS = re.compile(r"^\t+", re.M)


class Hunk(Struct, frozen=True, kw_only=True, rename="camel"):
    """A piece of a file, with the lines that go and those that come."""

    old_start: Annotated[int, Meta(ge=0)]
    lines: tuple[Annotated[str, Meta(min_length=1)], ...]


class Edit(Struct, frozen=True, kw_only=True):
    """What Claude Code tells about an edit: the strings, and hunks to show to people."""

    before: str
    old: str
    new: str
    everywhere: bool
    hunks: Any


def edited(edit: Edit) -> str | None:
    """The file after an edit; None where what is told about it makes no sense.

    The strings alone do not say it: a deleted line goes with its newline, and curly quotes stay
    curly. Nor do the hunks: there the tabs that lines begin with are spaces. So the strings are
    taken the way that the hunks agree with.
    """
    shown = _patched(edit.before, edit.hunks)
    for after in _candidates(edit):
        if shown is None or _untabbed(after) == _untabbed(shown):
            return after
    return shown


def _candidates(edit: Edit) -> Iterator[str]:
    count = -1 if edit.everywhere else 1
    if edit.old and edit.old in edit.before:
        yield edit.before.replace(edit.old, edit.new, count)
        if not edit.new:
            yield edit.before.replace(f"{edit.old}\n", "", count)


def _patched(before: str, hunks: Any) -> str | None:
    """The file with the hunks applied; None where they are none, or not for this file."""
    try:
        told = msgspec.convert(hunks, tuple[Hunk, ...])
    except msgspec.ValidationError:
        return None
    if not told:
        return None
    lines, at, above = lines_of(before), 0, ""
    after: list[str] = []
    try:
        for hunk in told:
            after += lines[at : hunk.old_start - 1]
            at = hunk.old_start - 1
            for line in _told(hunk.lines):
                if line[0] == "+":
                    after.append(_indented(line[1:], above))
                    continue
                above = lines[at]
                after += [above] if line[0] == " " else []
                at += 1
    except IndexError:
        return None
    return "".join([*after, *lines[at:]])


def _indented(line: str, like: str) -> str:
    """A line whose tabs are told as spaces, with the tabs of the one that it stands for."""
    tabs = like[: len(like) - len(like.lstrip("\t"))]
    shown = _untabbed(tabs)
    return f"{tabs}{line[len(shown) :]}" if line.startswith(shown) else line


def _told(lines: tuple[str, ...]) -> list[str]:
    """A hunk's lines with their newlines, but for one that is said to have none."""
    told: list[str] = []
    for line in lines:
        if line.startswith("\\"):
            told[-1] = told[-1][:-1]
        else:
            told.append(f"{line}\n")
    return told


def _untabbed(text: str) -> str:
    return _TABS.sub(lambda tabs: "  " * len(tabs[0]), text)
