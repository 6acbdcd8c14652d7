"""Unified diffs in git's style, and what a file is after an edit that Claude Code tells about."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

CONTEXT = 3
LONGEST = 10_000
"""Lines; where more differ, all of them are replaced: a finer diff would take too long."""
_NO_NEWLINE = "\\ No newline at end of file"
_TABS = re.compile(r"^\t+", re.M)
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def diff(path: str, before: str | None, after: str) -> str:
    """What git would print; `before` None: the file is new. Empty: nothing changed."""
    if before == after:
        return ""
    old, new = f"a/{path.lstrip('/')}", f"b/{path.lstrip('/')}"
    lines = [f"diff --git {_quoted(old)} {_quoted(new)}"]
    lines += ["new file mode 100644"] if before is None else []
    body = list(_hunks(_lines(before or ""), _lines(after)))
    if body:
        lines += ["--- /dev/null" if before is None else f"--- {_named(old)}", f"+++ {_named(new)}"]
    return "\n".join([*lines, *body]) + "\n"


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    """The changes, looked for only where the files differ: most edits of a long file are short."""
    same = _alike(old, new)
    rest = _alike(old[same:][::-1], new[same:][::-1])
    start = max(same - CONTEXT, 0)
    old = old[start : len(old) - rest + CONTEXT]
    new = new[start : len(new) - rest + CONTEXT]
    for group in _groups(old, new):
        (_, top, _, new_top, _), (_, _, end, _, new_end) = group[0], group[-1]
        ranges = _range(start + top, end - top), _range(start + new_top, new_end - new_top)
        yield f"@@ -{ranges[0]} +{ranges[1]} @@"
        for kind, i, j, k, m in group:
            if kind == "equal":
                yield from (_ended(" ", line) for line in old[i:j])
            else:
                yield from (_ended("-", line) for line in old[i:j])
                yield from (_ended("+", line) for line in new[k:m])


def _groups(old: list[str], new: list[str]) -> Iterable[list[tuple[str, int, int, int, int]]]:
    if max(len(old), len(new)) > LONGEST:
        return [[("replace", 0, len(old), 0, len(new))]]
    return difflib.SequenceMatcher(None, old, new).get_grouped_opcodes(CONTEXT)


def _alike(old: list[str], new: list[str]) -> int:
    """How many lines are the same at the beginning."""
    differ = (n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)
    return next(differ, min(len(old), len(new)))


def _range(start: int, length: int) -> str:
    # A range without lines is named by the line before it.
    return f"{start + 1}" if length == 1 else f"{start + (length > 0)},{length}"


def _lines(text: str) -> list[str]:
    """Lines with their newlines: the last one that lacks it is another than one that has it."""
    whole = [line + "\n" for line in text.split("\n")]
    last = whole.pop()[:-1]
    return [*whole, last] if last else whole


def _ended(sign: str, line: str) -> str:
    return f"{sign}{line[:-1]}" if line.endswith("\n") else f"{sign}{line}\n{_NO_NEWLINE}"


def _quoted(name: str) -> str:
    if not any(char in _ESCAPES or ord(char) < 32 or char == "\x7f" for char in name):
        return name
    return '"' + "".join(_ESCAPES.get(char) or _octal(char) for char in name) + '"'


def _octal(char: str) -> str:
    return f"\\{ord(char):03o}" if ord(char) < 32 or char == "\x7f" else char


def _named(name: str) -> str:
    # A name with a space ends with a tab, or `patch` takes the rest of it for a time.
    quoted = _quoted(name)
    return f"{quoted}\t" if quoted == name and " " in name else quoted


# --- After an edit ---


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
    if not isinstance(hunks, list) or not hunks:
        return None
    lines, at, above = _lines(before), 0, ""
    after: list[str] = []
    try:
        for hunk in hunks:
            after += lines[at : hunk["oldStart"] - 1]
            at = hunk["oldStart"] - 1
            for line in _told(hunk["lines"]):
                if line[0] == "+":
                    after.append(_indented(line[1:], above))
                    continue
                above = lines[at]
                after += [above] if line[0] == " " else []
                at += 1
    except (KeyError, TypeError, IndexError):
        return None
    return "".join([*after, *lines[at:]])


def _indented(line: str, like: str) -> str:
    """A line whose tabs are told as spaces, with the tabs of the one that it stands for."""
    tabs = like[: len(like) - len(like.lstrip("\t"))]
    shown = _untabbed(tabs)
    return f"{tabs}{line[len(shown) :]}" if line.startswith(shown) else line


def _told(lines: list[str]) -> list[str]:
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
