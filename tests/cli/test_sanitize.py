"""Agents' words cannot act upon a terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.cli.sanitize import clean, line, reveal

HOSTILE = st.text(alphabet=st.sampled_from("\x00\x07\x08\r\x1b\x7f\x90\x9b\x9c\x9d[]\\;m0aP\n\t‮"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;Zm9v\x9cx", "x"),
        ("\x1bPq#0\x1b\\x", "x"),
        ("\x9d0;title\x9cx\x9b2Jy", "xy"),
        ("\x1bcreset \x1b(Bx", "reset x"),
        ("over\rwrite\x08\x7f", "overwrite"),
        ("abc\u202ecba", "abccba"),
        ("unfinished \x1b]0;not hidden", "unfinished ]0;not hidden"),
        ("äöü 漢字 🙂 \u2028", "äöü 漢字 🙂 \u2028"),
    ],
)
def test_control_sequences_are_removed(text: str, shown: str) -> None:
    assert clean(text) == shown


@given(HOSTILE)
def test_nothing_that_a_terminal_acts_upon_is_left(text: str) -> None:
    for shown in (clean(text), reveal(text), line(text)):
        controls = {each for each in shown if unicodedata.category(each) in ("Cc", "Cf")}
        assert controls <= {"\n", "\t"}


@given(st.text())
def test_what_is_approved_hides_nothing(text: str) -> None:
    assert len(reveal(text)) >= len(text)


def test_a_line_is_one_line_and_short() -> None:
    assert line("a\n  b\tc") == "a b c"
    assert line("x" * 500, 10) == "x" * 9 + "…"
