"""Unified diffs in git's style."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

CONTEXT = 3
LONGEST = 10_000
"""Lines; where more differ, all of them are replaced: a finer diff would take too long."""
_NO_NEWLINE = "\\ No newline at end of file"
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def diff(path: str, before: str | None, after: str | None) -> str:
    """What git would print; None: there is no such file. Empty: nothing changed."""
    if before == after:
        return ""
    old, new = f"a/{path.lstrip('/')}", f"b/{path.lstrip('/')}"
    head = [f"diff --git {_quoted(old)} {_quoted(new)}"]
    head += ["new file mode 100644"] if before is None else []
    head += ["deleted file mode 100644"] if after is None else []
    body = list(_hunks(lines_of(before or ""), lines_of(after or "")))
    if body:
        head.append("--- /dev/null" if before is None else f"--- {_named(old)}")
        head.append("+++ /dev/null" if after is None else f"+++ {_named(new)}")
    return "\n".join([*head, *body]) + "\n"


def headed(path: str, hunks: str, moved_to: str | None = None) -> str:
    """The same of hunks that somebody else has made; where the file moves, it says so."""
    to = path if moved_to is None else moved_to
    old, new = f"a/{path.lstrip('/')}", f"b/{to.lstrip('/')}"
    head = [f"diff --git {_quoted(old)} {_quoted(new)}"]
    if moved_to is not None:
        head += [f"rename from {_quoted(old[2:])}", f"rename to {_quoted(new[2:])}"]
    head += [f"--- {_named(old)}", f"+++ {_named(new)}"] if hunks else []
    body = hunks if hunks.endswith("\n") or not hunks else f"{hunks}\n"
    return "\n".join(head) + "\n" + body


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


def lines_of(text: str) -> list[str]:
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
