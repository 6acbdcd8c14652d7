"""Diffs of Grok's edits, from the lines that it tells around them."""

from __future__ import annotations

from typing import Any

from dragoman.agents.grok.diffs import diff_of
from dragoman.dialects.acp.native import DiffContent


def change(*details: dict[str, Any]) -> DiffContent:
    meta = {"details": list(details)}
    return DiffContent(path="/w/a.txt", old_text="old", new_text="new", meta=meta)


def edit(line: int, **more: Any) -> dict[str, Any]:
    place = {"old_line": line, "new_line": line}
    return {"old_string": "two", "new_string": "TWO", **place, **more}


def hunks(diff: str | None) -> str:
    assert diff is not None
    head, _, rest = diff.partition("+++ b/w/a.txt\n")
    assert head == "diff --git a/w/a.txt b/w/a.txt\n--- a/w/a.txt\n"
    return rest


def test_a_place_has_its_number_and_the_lines_around_it() -> None:
    around = {"context_before": "a\nb\none\n", "context_after": "three\n", "line_prefix": "  "}
    assert hunks(diff_of(change(edit(40, **around)))) == (
        "@@ -37,5 +37,5 @@\n a\n b\n one\n-  two\n+  TWO\n three\n"
    )


def test_several_places_have_a_hunk_each() -> None:
    second = edit(9, new_line=10, context_before="one\n", new_string="TWO\nand a half")
    assert hunks(diff_of(change(edit(3), second))) == (
        "@@ -3 +3 @@\n-two\n+TWO\n@@ -9 +10,2 @@\n-two\n+TWO\n+and a half\n"
    )


def test_lines_that_are_removed_leave_none() -> None:
    removed = edit(2, old_string="two\n", new_string="", context_before="one\n")
    assert hunks(diff_of(change(removed))) == "@@ -1,2 +1 @@\n one\n-two\n"


def test_without_its_places_there_is_no_diff() -> None:
    assert diff_of(change()) is None
    assert diff_of(change({"old_line": "here"})) is None
    assert diff_of(DiffContent(path="/w/a.txt", new_text="new")) is None
