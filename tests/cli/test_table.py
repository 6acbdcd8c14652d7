"""Tables: aligned, whole in a pipe, readable where it is narrow."""

from __future__ import annotations

from dragoman.cli.table import lines

HEADS = ("ID", "NAME", "PATH")
ROWS = [("a", "漢字", "/a/long/path/to/it"), ("bb", "", "/x")]


def test_columns_are_aligned_also_with_wide_letters() -> None:
    assert list(lines(HEADS, ROWS, None)) == [
        "ID  NAME  PATH",
        "a   漢字  /a/long/path/to/it",
        "bb        /x",
    ]


def test_the_last_column_runs_on_or_is_cut() -> None:
    assert list(lines(HEADS, ROWS, 22))[1] == "a   漢字  /a/long/path/to/it"
    assert list(lines(HEADS, ROWS, 22, cut_last=True))[1] == "a   漢字  /a/long/pat…"


def test_a_narrow_terminal_gets_a_block_for_each_row() -> None:
    assert list(lines(HEADS, ROWS, 14)) == [
        "a",
        "  name  漢字",
        "  path  /a/long/path/to/it",
        "bb",
        "  path  /x",
    ]


def test_an_empty_table_is_its_head() -> None:
    assert list(lines(HEADS, [], 80)) == ["ID  NAME  PATH"]
