"""Ids: in the order in which they were made, and nobody else's."""

from __future__ import annotations

import re
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from dragoman.store.ids import IdMaker, now_ms, timestamp

DAY_MS = 86_400_000


class Clock:
    """A clock that shows what it is told to."""

    def __init__(self, ms: int) -> None:
        self.ms = ms

    def __call__(self) -> int:
        return self.ms


@given(st.lists(st.integers(-DAY_MS, DAY_MS), max_size=50))
def test_ids_never_go_back_whatever_the_clock_does(jumps: list[int]) -> None:
    clock = Clock(1_800_000_000_000)
    maker = IdMaker(clock)
    made = [maker.new_id("evt")]
    for jump in jumps:
        clock.ms += jump
        made += [maker.new_id("evt"), *(id.decode() for id in maker.new_ids("evt", 3))]
    assert made == sorted(set(made))


def test_ids_of_one_millisecond_are_ordered_and_unique() -> None:
    maker = IdMaker(Clock(1_800_000_000_000))
    made = [id for _ in range(100) for id in maker.new_ids("evt", 500)]
    assert made == sorted(set(made))


def test_ids_of_many_makers_never_meet() -> None:
    clock = Clock(1_800_000_000_000)
    made = [id for _ in range(200) for id in IdMaker(clock).new_ids("evt", 50)]
    assert len(set(made)) == len(made)


def test_an_id_of_a_later_millisecond_is_later_for_any_maker() -> None:
    clock = Clock(1_800_000_000_000)
    early = IdMaker(clock).new_ids("evt", 1000)[-1]
    clock.ms += 1
    assert early < IdMaker(clock).new_ids("evt", 1)[0]


def test_an_id_says_what_it_names_and_fits_a_url() -> None:
    assert re.fullmatch(r"itm_[0-9a-f]{29}", IdMaker(now_ms).new_id("itm"))


def test_times_are_utc_wherever_the_daemon_stands() -> None:
    autumn = 1_762_063_200_007  # an hour that New York has twice
    wanted = "2025-11-02T06:00:00.007Z"
    assert timestamp(autumn) == wanted
    program = (
        "import sys; from dragoman.store.ids import timestamp; "
        f"sys.stdout.write(timestamp({autumn}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"TZ": "America/New_York", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == wanted
