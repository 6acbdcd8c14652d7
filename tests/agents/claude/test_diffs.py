"""What a file is after an edit, as Claude Code tells it."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.agents.claude.diffs import Edit, edited


def hunk(start: int, *lines: str) -> dict[str, Any]:
    old = sum(line[0] in " -" for line in lines)
    new = sum(line[0] in " +" for line in lines)
    return {
        "oldStart": start, "oldLines": old, "newStart": start, "newLines": new, "lines": list(lines)
    }  # fmt: skip


def after(before: str, old: str, new: str, *hunks: Any, everywhere: bool = False) -> str | None:
    told = list(hunks)
    return edited(Edit(before=before, old=old, new=new, everywhere=everywhere, hunks=told))


def test_a_string_is_replaced_once_or_everywhere() -> None:
    assert after("x x", "x", "y", hunk(1, "-x x", "\\ No", "+y x", "\\ No")) == "y x"
    assert after("x\nx\n", "x", "y", everywhere=True) == "y\ny\n"


def test_a_deleted_line_goes_with_its_newline() -> None:
    hunks = hunk(1, " one", "-two", " three")
    assert after("one\ntwo\nthree\n", "two", "", hunks) == "one\nthree\n"


def test_a_deleted_word_leaves_its_line() -> None:
    assert after("one two\n", " two", "", hunk(1, "-one two", "+one")) == "one\n"


def test_quotes_that_stay_curly_are_taken_from_the_hunk() -> None:
    hunks = hunk(1, "-say “hello”", "+say “bye”")
    assert after("say “hello”\n", "“hello”", '"bye"', hunks) == "say “bye”\n"


def test_tabs_survive_though_hunks_show_spaces() -> None:
    hunks = hunk(1, "   if x:", "-    y", "+    z")
    assert after("\tif x:\n\t\ty\n", "\t\ty", "\t\tz", hunks) == "\tif x:\n\t\tz\n"


def test_curly_quotes_in_a_line_with_tabs() -> None:
    hunks = hunk(1, "-  say “hello”", "+  say “bye”")
    assert after("\tsay “hello”\n", "“hello”", '"bye"', hunks) == "\tsay “bye”\n"


def test_an_edit_may_make_a_file() -> None:
    assert after("", "", "made\n", hunk(1, "+made")) == "made\n"


@pytest.mark.parametrize("hunks", [None, [], "x", [{}], [7], [hunk(9, " x")]], ids=repr)
def test_hunks_without_sense_leave_the_strings(hunks: Any) -> None:
    edit = Edit(before="a\n", old="a", new="b", everywhere=False, hunks=hunks)
    assert edited(edit) == "b\n"


def test_an_edit_that_cannot_be_understood_has_no_result() -> None:
    assert after("a\n", "nowhere", "b") is None


@pytest.mark.parametrize(
    "hunks",
    [
        [{"oldStart": 1, "lines": ["-x", 1e30]}],
        [{"oldStart": "1", "lines": ["-x"]}],
        [{"oldStart": -3, "lines": ["-x"]}],
        [{"oldStart": 1, "lines": "-x"}],
        [{"oldStart": 1, "lines": [""]}],
        [{"oldStart": 9, "lines": ["-x"]}],
        [{"oldStart": 1, "lines": ["\\ No newline"]}],
        [None],
        {"oldStart": 1},
    ],
    ids=repr,
)
def test_case_16_hunks_that_make_no_sense_leave_the_strings(hunks: Any) -> None:
    """Before, a line of a hunk that was no text was a defect of the converter's own."""
    told = Edit(before="x\n", old="x", new="y", everywhere=False, hunks=hunks)
    assert edited(told) == "y\n"
