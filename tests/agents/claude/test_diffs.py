"""Diffs apply, and lead to what is on disk."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.agents.claude.diffs import LONGEST, Edit, diff, edited
from tests.agents.patches import applied

LINES = st.lists(st.sampled_from(["a", "b", "", " c", "\td", "@@ -1 +1 @@", "-e", "\\ f", "g\r"]))
TEXTS = st.builds(lambda lines, end: "\n".join(lines) + end, LINES, st.sampled_from(["", "\n"]))


def applied_by_git(folder: Path, before: str | None, patch: str, name: str = "x") -> str:
    """The file after `git apply`."""
    path = folder / name
    path.unlink(missing_ok=True)
    if before is not None:
        path.write_bytes(before.encode())
    if patch:
        command = ["git", "apply", "--whitespace=nowarn", "-"]
        subprocess.run(command, cwd=folder, input=patch.encode(), check=True)
    return path.read_bytes().decode()


@given(before=st.none() | TEXTS, after=TEXTS)
@settings(max_examples=300)
def test_a_diff_leads_from_one_text_to_the_other(before: str | None, after: str) -> None:
    assert applied(diff("/x", before, after), before or "") == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, "new\n"),
        (None, "no newline"),
        (None, ""),
        ("", "was empty\n"),
        ("emptied\n", ""),
        ("a\nb", "a\nb\n"),
        ("a\nb\n", "a\nb"),
        ("a\r\nb\r\n", "a\r\nc\r\n"),
        ("sep\u2028arator\x0b\n", "sep\u2028arated\x0b\n"),
        ("\n".join(map(str, range(100))), "\n".join(map(str, range(1, 90)))),
    ],
    ids=repr,
)
def test_git_applies_it(tmp_path: Path, before: str | None, after: str) -> None:
    assert applied_by_git(tmp_path, before, diff("/x", before, after)) == after


@pytest.mark.parametrize("name", ["two words", "grün 🐉", 'quo"te', "back\\slash", "new\nline"])
def test_git_finds_the_file_whatever_its_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("one\n")
    patch = diff(f"/{name}", "one\n", "two\n")
    assert applied_by_git(tmp_path, "one\n", patch, name) == "two\n"


def test_nothing_changed_is_no_diff() -> None:
    assert diff("/x", "same", "same") == ""


def test_a_very_long_rewrite_is_one_hunk() -> None:
    before = "".join(f"old {n % 7}\n" for n in range(LONGEST + 1))
    after = "".join(f"new {n % 7}\n" for n in range(LONGEST + 1))
    patch = diff("/x", before, after)
    assert patch.count("@@ -") == 1
    assert applied(patch, before) == after


def test_a_change_in_a_long_file_shows_only_its_surroundings() -> None:
    lines = [f"line {n}\n" for n in range(3 * LONGEST)]
    patch = diff(
        "/x", "".join(lines), "".join([*lines[:LONGEST], "other\n", *lines[LONGEST + 1 :]])
    )
    assert len(patch.splitlines()) == 3 + 1 + 3 + 2 + 3
    assert f"@@ -{LONGEST - 2},7 +{LONGEST - 2},7 @@" in patch


# --- After an edit, as Claude Code tells it ---


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
