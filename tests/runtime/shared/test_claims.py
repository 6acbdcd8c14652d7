"""Whom a shared process speaks to: claims, what is held, and what is late."""

from __future__ import annotations

import pytest

from dragoman.runtime.shared import claims
from dragoman.runtime.shared.claims import Claims


@pytest.fixture
def board() -> Claims[str, str]:
    return Claims()


def test_the_first_key_that_is_claimed_decides(board: Claims[str, str]) -> None:
    board.claim("parent", "ann")
    assert board.find(("child", "parent")) == "ann"
    board.claim("child", "bob")
    assert board.find(("child", "parent")) == "bob"
    assert board.find(("other",)) is None


def test_what_is_held_is_given_in_order_to_whoever_claims_a_key(board: Claims[str, str]) -> None:
    for number in range(3):
        assert board.hold(("a", "b"), f"ab{number}", 1, until=5) == []
        assert board.hold(("c",), f"c{number}", 1, until=5) == []
    assert board.claim("b", "ann") == ["ab0", "ab1", "ab2"]
    assert board.claim("a", "ann") == []
    assert board.expired(5) == ["c0", "c1", "c2"]


def test_what_nobody_claims_in_time_expires_once(board: Claims[str, str]) -> None:
    board.hold(("a",), "first", 1, until=5)
    board.hold(("a",), "second", 1, until=6)
    assert board.expired(4.9) == []
    assert board.expired(5) == ["first"]
    assert board.expired(9) == ["second"]
    assert board.expired(9) == []


def test_no_more_is_held_than_there_is_room_for(board: Claims[str, str]) -> None:
    for number in range(claims.HELD_MESSAGES):
        assert board.hold(("a",), str(number), 1, until=5) == []
    assert board.hold(("a",), "one more", 1, until=5) == ["0"]
    half = claims.HELD_BYTES // 2 + 1
    assert len(board.hold(("b",), "big", half, until=5)) == 1
    pushed_out = board.hold(("b",), "big too", half, until=5)
    assert pushed_out[-1] == "big"
    assert board.claim("b", "ann") == ["big too"]


def test_whose_session_has_left_is_late_until_it_comes_back(board: Claims[str, str]) -> None:
    board.claim("a", "ann")
    board.claim("b", "bob")
    board.leave("ann")
    assert board.find(("a",)) is None
    assert board.is_late(("x", "a"))
    assert not board.is_late(("b",))
    board.claim("a", "ann")
    assert not board.is_late(("a",))


def test_the_oldest_tombstones_are_forgotten(board: Claims[str, str]) -> None:
    for number in range(claims.TOMBSTONES + 1):
        board.claim(str(number), "ann")
    board.leave("ann")
    assert not board.is_late(("0",))
    assert board.is_late((str(claims.TOMBSTONES),))
