"""Diffs of Grok's edits, from what it tells of the lines around them."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from dragoman.dialects.acp.native import DiffContent
from dragoman.wire.diff import diff, headed

_RANGES = re.compile(r"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """One place that was changed. What follows in its last line is not told (1.0.41)."""

    old_string: str
    new_string: str
    old_line: int
    new_line: int
    context_before: str = ""
    context_after: str = ""
    line_prefix: str = ""


def diff_of(change: DiffContent) -> str | None:
    """The diff of a change where its places are told; None: only the texts are."""
    meta = change.meta if isinstance(change.meta, dict) else {}
    if not change.old_text or not isinstance(details := meta.get("details"), list):
        return None
    try:
        edits = msgspec.convert(details, list[Edit])
    except msgspec.ValidationError:
        return None
    hunks = "".join(_hunk(each, is_alone=len(edits) == 1) for each in edits)
    return headed(change.path, hunks) if hunks else None


def _hunk(edit: Edit, *, is_alone: bool) -> str:
    """What is around several places may be the same lines: then it is left out."""
    before = edit.context_before if is_alone else ""
    after = edit.context_after if is_alone else ""
    old, new = (
        f"{before}{edit.line_prefix}{_ended(text)}{after}"
        for text in (edit.old_string, edit.new_string)
    )
    hunks = diff("file", old, new).partition("@@ ")
    above = before.count("\n") + 1

    def shift(found: re.Match[str]) -> str:
        first = int(found[1]) + edit.old_line - above, int(found[3]) + edit.new_line - above
        return f"@@ -{first[0]}{found[2] or ''} +{first[1]}{found[4] or ''} @@"

    return _RANGES.sub(shift, hunks[1] + hunks[2])


def _ended(text: str) -> str:
    return text if text.endswith("\n") or not text else f"{text}\n"


def with_diff(raw: msgspec.Raw, change: DiffContent) -> msgspec.Raw:
    """The same content with its diff beside it."""
    text = diff_of(change)
    if text is None:
        return raw
    value: dict[str, Any] = msgspec.json.decode(bytes(raw))
    return msgspec.Raw(msgspec.json.encode({**value, "_meta": {"diff": text}}))
