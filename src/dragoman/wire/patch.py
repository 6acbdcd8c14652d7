"""Unified diffs of whole trees: what of git's output is shown, and what is only named. Pure.

A patch that is shown can be applied, whatever it leaves out: what is named instead (binary files,
files that are not UTF-8, what would make it too large) stands in lines that `git apply` skips.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

FileStatus = Literal["create", "change", "delete", "rename"]

MOST_NAMES = 1000
"""So many files that are left out are named; the rest is counted."""
_STATUS: dict[str, FileStatus] = {"A": "create", "D": "delete", "R": "rename", "C": "create"}
_SECTION = re.compile(rb"^(?=diff --git )", re.MULTILINE)
_BINARY = re.compile(rb"^Binary files .* differ$", re.MULTILINE)
_HUNK = re.compile(rb"^@@ ", re.MULTILINE)


class ChangedFile(Struct, frozen=True, kw_only=True):
    """One file that two trees do not have in common."""

    path: str
    status: FileStatus
    old_path: str | None = None
    """Where a renamed one was."""
    sections: int = 1
    """So many parts of the patch are about it: one that became a link is deleted and made."""


class Patch(Struct, frozen=True, kw_only=True):
    """The difference of two trees."""

    text: str = ""
    files: tuple[ChangedFile, ...] = ()
    truncated: bool = False
    """Something was left out because of its size, or for want of time."""


def parse_raw(output: bytes) -> list[ChangedFile]:
    """The files that `git diff-tree -r -z --raw` lists, in its order."""
    words = output.split(b"\0")
    found = []
    at = 0
    while at + 1 < len(words):
        letter = words[at].rsplit(b" ", 1)[-1][:1].decode()
        renamed = letter in ("R", "C")
        names = [_name(word) for word in words[at + 1 : at + (3 if renamed else 2)]]
        found.append(
            ChangedFile(
                path=names[-1],
                status=_STATUS.get(letter, "change"),
                old_path=names[0] if letter == "R" else None,
                sections=2 if letter == "T" else 1,
            )
        )
        at += 3 if renamed else 2
    return found


def _name(word: bytes) -> str:
    return word.decode(errors="surrogateescape")


def printable(path: str) -> str:
    """A path that fits on one line of any text."""
    text = path.encode(errors="surrogateescape").decode(errors="backslashreplace")
    return text if text.isprintable() else ascii(text)[1:-1]


def assemble(
    files: Sequence[ChangedFile], output: bytes, *, complete: bool, most_bytes: int
) -> Patch:
    """What is shown of the patch that git printed for these files, up to a size."""
    shown: list[str] = []
    left_out: list[str] = []
    room = most_bytes
    for file, text, size in each_file(files, output, complete=complete):
        if text is not None and len(text.encode()) <= room:
            shown.append(text)
            room -= len(text.encode())
        else:
            left_out.append(left_out_line(file.path, size))
    names, rest = left_out[:MOST_NAMES], len(left_out) - MOST_NAMES
    if rest > 0:
        names.append(f"# left out: {rest} more files\n")
    return Patch(text="".join(shown + names), files=tuple(files), truncated=bool(left_out))


def each_file(
    files: Sequence[ChangedFile], output: bytes, *, complete: bool
) -> Iterator[tuple[ChangedFile, str | None, int]]:
    """For each file its part of the patch, None where it was not read, and how large that is."""
    sections = [part for part in _SECTION.split(output) if part.startswith(b"diff --git ")]
    if not complete and sections:
        sections.pop()  # it may be cut
    at = 0
    for file in files:
        parts = sections[at : at + file.sections]
        at += file.sections
        is_whole = len(parts) == file.sections
        yield file, "".join(map(_text, parts)) if is_whole else None, sum(map(len, parts))


def left_out_line(path: str, size: int) -> str:
    """What stands in a patch for a file that has no room in it."""
    how = f"its diff has {size} bytes" if size else "its diff is too large"
    return f"# left out, {how}: {printable(path)}\n"


def _text(part: bytes) -> str:
    binary = _BINARY.search(part)
    if binary is not None and _HUNK.search(part) is None:
        # Without its header: `git apply` would refuse all of the patch for want of the content.
        return f"{binary[0].decode(errors='backslashreplace')}\n"
    try:
        return part.decode()
    except UnicodeDecodeError:
        header = part.split(b"\n", 1)[0].removeprefix(b"diff --git ")
        return f"Binary files differ: {header.decode(errors='backslashreplace')}\n"


def count_lines(patch: str) -> tuple[int, int, int]:
    """How many files a patch is about, how many lines it adds, and how many it removes."""
    files = additions = deletions = 0
    in_hunk = False
    for line in patch.split("\n"):
        if line.startswith(("diff --git ", "Binary files ", "# left out, ")):
            files += 1
            in_hunk = False
        elif line.startswith("@@ "):
            in_hunk = True
        elif in_hunk and line.startswith("+"):
            additions += 1
        elif in_hunk and line.startswith("-"):
            deletions += 1
    return files, additions, deletions
