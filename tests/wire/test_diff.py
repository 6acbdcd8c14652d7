"""Diffs apply, and lead to what is on disk."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.wire.diff import LONGEST, diff, headed
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


@pytest.mark.parametrize("before", ["one\n", "no newline", "", "a\nb\n"])
def test_git_deletes_a_file(tmp_path: Path, before: str) -> None:
    path = tmp_path / "x"
    path.write_text(before)
    patch = diff("/x", before, None).encode()
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=patch, check=True)
    assert not path.exists()


@pytest.mark.parametrize("hunks", ["@@ -1 +1 @@\n-one\n+two\n", "@@ -1 +1 @@\n-one\n+two"])
def test_git_applies_hunks_of_somebody_else(tmp_path: Path, hunks: str) -> None:
    assert applied_by_git(tmp_path, "one\n", headed("/x", hunks)) == "two\n"


@pytest.mark.parametrize(
    ("hunks", "after"), [("@@ -1 +1 @@\n-one\n+two\n", "two\n"), ("", "one\n")]
)
def test_git_moves_a_file(tmp_path: Path, hunks: str, after: str) -> None:
    (tmp_path / "old name").write_text("one\n")
    patch = headed("/old name", hunks, "/new name").encode()
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=patch, check=True)
    assert [path.name for path in tmp_path.iterdir()] == ["new name"]
    assert (tmp_path / "new name").read_text() == after
