"""Many Pi sessions at once: each stream is its own. `DRAGOMAN_TEST_PI_SESSIONS` says how many."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.agents.live import Bench, Live, calls
from tests.agents.pi.live.scripts import bash
from tests.agents.results import output, results
from tests.testing.story import said

COUNT = int(os.environ.get("DRAGOMAN_TEST_PI_SESSIONS", "4"))


def work(live: Live, number: int) -> list[str]:
    """Two turns, with a command that is asked for; what was said."""
    live.send(f"go {number}")
    live.reply(live.until("permission.requested"), "once")
    live.until("turn.ended")
    live.turn(f"again {number}")
    events = live.conforms()
    assert [output(each) for each in results(events)] == [f"heron {number}\n"]
    return said(events)


@pytest.mark.slow
@pytest.mark.timeout(420)
def test_sessions_side_by_side_hear_only_their_own(pi: Bench) -> None:
    lives = [
        pi.session(calls(bash(f"echo heron {n}")), f"Done {n}.", f"Again {n}.")
        for n in range(COUNT)
    ]
    with ThreadPoolExecutor(COUNT) as pool:
        spoken = list(pool.map(work, lives, range(COUNT)))
    assert spoken == [[f"Done {n}.", f"Again {n}."] for n in range(COUNT)]
