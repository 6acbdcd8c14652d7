"""How long retries wait: longer each time, never too long, and as long as is asked for."""

from __future__ import annotations

from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.wire.retry_delay import retry_after_s, retry_delay_s

seconds = st.floats(0.001, 1000)
chances = st.floats(0, 1)


@given(st.integers(1, 10**6), seconds, seconds, chances, st.none() | st.floats(0, 10**9))
def test_a_delay_stays_within_its_bounds(
    failures: int, first_s: float, most_s: float, chance: float, asked_s: float | None
) -> None:
    delay_s = retry_delay_s(
        failures, first_s=first_s, most_s=most_s, chance=chance, asked_s=asked_s
    )
    assert min(first_s, most_s) / 2 <= delay_s <= most_s
    if asked_s is not None:
        assert delay_s >= min(asked_s, most_s)


@given(st.integers(1, 100), chances)
def test_each_delay_is_as_long_as_the_one_before_or_longer(failures: int, chance: float) -> None:
    first, second = (
        retry_delay_s(number, first_s=1.0, most_s=300.0, chance=chance)
        for number in (failures, failures + 1)
    )
    assert first <= second <= 2 * first


def test_the_delays_double_up_to_the_longest() -> None:
    delays = [retry_delay_s(n, first_s=1.0, most_s=300.0, chance=0) for n in range(1, 12)]
    assert delays == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]


@given(st.text(max_size=40))
def test_anything_may_stand_in_a_header(value: str) -> None:
    found = retry_after_s(value, 1_700_000_000)
    assert found is None or found >= 0


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ("120", 120),
        (" 7 ", 7),
        (formatdate(1_700_000_060, usegmt=True), 60),
        (formatdate(1_600_000_000, usegmt=True), 0),
        ("soon", None),
        ("-1", None),
        ("1.5", None),
        ("٣", None),
        ("", None),
    ],
)
def test_seconds_and_dates_are_understood(value: str | None, expected: float | None) -> None:
    assert retry_after_s(value, 1_700_000_000) == expected
