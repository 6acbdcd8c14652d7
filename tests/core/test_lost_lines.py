"""A real dialect whose lines are lost, doubled and swapped: the stream keeps every rule."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.adapter import Spec
from dragoman.agents.mock import ADAPTER
from dragoman.core.fold import SessionState
from dragoman.core.interpreter import Interpreter
from dragoman.schema.commands import Prompt
from dragoman.testing.mock.lines import Ask, Pause, encode
from dragoman.testing.mock.prompts import choose

from .tape import Tape, new_ids

PROMPTS = ("demo", "tool", "permission", "edit", "question", "subagent", "image", "unknown")
ANSWER = {"decision": "allow", "answers": [["Red"], ["Pear"]]}


@functools.cache
def lines(prompt: str) -> tuple[bytes, ...]:
    """What the mock agent says to a prompt, answers included."""
    said: list[Any] = [{"type": "bind", "native_session_id": "n1"}, {"type": "begin_turn"}]
    script, answer = choose(prompt), None
    while True:
        try:
            act = script.send(answer)
        except StopIteration:
            break
        answer = ANSWER if isinstance(act, Ask) else None
        said.append(act.message if isinstance(act, Ask) else act)
    said.append({"type": "end_turn", "outcome": "completed"})
    messages = (line for line in said if not isinstance(line, Pause))
    return tuple(line if isinstance(line, bytes) else encode(line) for line in messages)


def play(said: list[bytes]) -> Tape:
    spec = Spec(session_id="s1", agent="mock", agent_mode="build", directory="/")
    state = SessionState(agent_mode="build")
    interpreter = Interpreter("mock", ADAPTER.converter(spec), state, new_ids())
    tape = Tape()
    for outputs in interpreter.command(Prompt(message_id="m1", text="go")):
        tape.record(outputs)
    for line in said:
        interpreter.receive(line)
        tape.record(interpreter.take())
    interpreter.terminate()
    tape.record(interpreter.take())
    return tape


def lose(said: list[bytes], at: int) -> None:
    del said[at]


def double(said: list[bytes], at: int) -> None:
    said.insert(at, said[at])


def swap(said: list[bytes], at: int) -> None:
    said[at - 1], said[at] = said[at], said[at - 1]


def delay(said: list[bytes], at: int) -> None:
    said.append(said.pop(at))


@pytest.mark.parametrize("prompt", PROMPTS)
def test_without_corruption_it_conforms(prompt: str) -> None:
    assert play(list(lines(prompt))).violations() == []


@pytest.mark.parametrize("corruption", [lose, double, swap, delay])
@pytest.mark.parametrize("prompt", PROMPTS)
def test_one_corruption_at_any_line_breaks_no_rule(
    prompt: str, corruption: Callable[[list[bytes], int], None]
) -> None:
    for at in range(len(lines(prompt))):
        said = list(lines(prompt))
        corruption(said, at)
        assert play(said).violations() == [], (
            f"{corruption.__name__} {said[min(at, len(said) - 1)]!r}"
        )


ORDER_OF_THOUGHTS = "thought_comes_before_its_answer"


@settings(max_examples=200, deadline=None)
@given(st.data(), st.sampled_from(PROMPTS))
def test_any_corruptions_break_no_rule(data: st.DataObject, prompt: str) -> None:
    said = list(lines(prompt))
    for corruption in data.draw(
        st.lists(st.sampled_from([lose, double, swap, delay]), max_size=12)
    ):
        if said:
            corruption(said, data.draw(st.integers(0, len(said) - 1)))
    # Lines of the mock are steps: where it opens a thought in a message without words, so do we.
    broken = [each for each in play(said).violations() if each.rule != ORDER_OF_THOUGHTS]
    assert broken == []
