"""The mock agent's trials do what they promise to do."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.schema.commands import Interrupt
from dragoman.steps import CompleteItem, Delta
from dragoman.testing.mock.faults import GARBAGE

from .process import DEADLINE_S, Agent, completed, ends_turn, is_delta, outcome, outputs, said


def test_slow_says_so_many_words(agent: Agent) -> None:
    assert said(agent.turn("slow 5")) == "1 2 3 4 5 "


def test_a_burst_has_so_many_pieces_of_so_many_bytes(agent: Agent) -> None:
    steps = agent.turn("burst 20011 203")
    sizes = [len(step.text.encode()) for step in steps if isinstance(step, Delta)]
    assert sizes == [203] * 20011
    assert completed(steps, "message")[0].content is None


@pytest.mark.parametrize("prompt", ["burst 0", "burst 1 0", "burst 1 1000000"])
def test_a_burst_may_be_small_or_large(agent: Agent, prompt: str) -> None:
    _, count, size = f"{prompt} 200".split()[:3]
    deltas = [step for step in agent.turn(prompt) if isinstance(step, Delta)]
    assert [len(step.text) for step in deltas] == [int(size)] * int(count)


def test_a_huge_line_is_exactly_as_long_as_asked(agent: Agent) -> None:
    steps = agent.turn("huge 3000000")
    assert agent.longest_line == 3_000_000
    assert said(steps).endswith("xThat was a long line.")


def test_words_after_a_counted_prompt_are_echoed(agent: Agent) -> None:
    assert said(agent.turn("slow down")) == "slow down"
    assert said(agent.turn("slow 1 2")) == "slow 1 2"


def test_garbage_is_undecodable_and_the_turn_goes_on(agent: Agent) -> None:
    steps = agent.turn("garbage")
    assert agent.undecodable == [line[:-1] for line in GARBAGE]
    assert said(steps) == "That was garbage."


def test_a_crash_leaves_its_turn_open(agent: Agent) -> None:
    agent.prompt("crash")
    steps = agent.until_end()
    assert isinstance(steps[-1], Delta)
    assert agent.process.wait(DEADLINE_S) == 3
    assert agent.process.stderr is not None
    assert b"something terrible" in agent.process.stderr.read()


def test_sigterm_ends_it_unless_it_was_told_to_ignore_it(start: Callable[..., Agent]) -> None:
    stubborn, polite = start(), start()
    for agent, prompt in ((stubborn, "ignore-sigterm"), (polite, "hang")):
        agent.prompt(prompt)
        agent.until(is_delta)
        agent.process.send_signal(signal.SIGTERM)
    assert polite.process.wait(DEADLINE_S) == -signal.SIGTERM
    stubborn.tell(Interrupt())
    assert stubborn.process.stdin is not None
    stubborn.process.stdin.close()
    with pytest.raises(subprocess.TimeoutExpired):
        stubborn.process.wait(0.3)


def test_children_outlive_an_interrupt_and_one_family_leaves_the_session(agent: Agent) -> None:
    agent.prompt("spawn-children")
    steps = agent.until(lambda s: isinstance(s, CompleteItem) and s.key.endswith(":result"))
    ((_, output),) = outputs(steps)
    pids = [int(line) for line in output.split()]
    try:
        agent.tell(Interrupt())
        assert outcome(agent.until(ends_turn)) == "interrupted"
        ours = os.getsid(agent.process.pid)
        assert [os.getsid(pid) == ours for pid in pids] == [True, True, False, False]
        # Each child is followed by its own child.
        parents = [agent.process.pid, pids[0], agent.process.pid, pids[2]]
        assert [_parent(pid) for pid in pids] == parents
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)


def _parent(pid: int) -> int:
    stat = Path(f"/proc/{pid}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])
