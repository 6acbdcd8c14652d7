"""A turn whose answers repeat without end is stopped, and fails."""

from __future__ import annotations

from dragoman.core.loop_guard import LoopGuard
from dragoman.schema.items import Reasoning, Text
from dragoman.steps import BeginTurn, EndTurn, StartItem


def answer(key: str = "m") -> StartItem:
    return StartItem(key=key, kind="message", role="assistant", content=(Text(text=""),))


def call() -> StartItem:
    return StartItem(key="t", kind="tool_call", role="assistant")


def test_so_many_answers_in_a_row_are_a_loop_once() -> None:
    guard = LoopGuard(3)
    assert [guard.observe(answer()) for _ in range(6)] == [False, False, False, True, False, False]
    assert guard.is_tripped
    assert "4 times in a row" in guard.message or "6 times" in guard.message


def test_a_tool_call_begins_the_count_anew() -> None:
    guard = LoopGuard(2)
    steps = [answer(), answer(), call(), answer(), answer()]
    assert not any(map(guard.observe, steps))
    assert guard.observe(answer())


def test_the_next_turn_is_another() -> None:
    guard = LoopGuard(1)
    assert [guard.observe(each) for each in (answer(), answer())] == [False, True]
    guard.observe(EndTurn(outcome="failed"))
    assert not guard.is_tripped
    assert [guard.observe(each) for each in (BeginTurn(), answer())] == [False, False]


def test_thoughts_and_subagents_do_not_count() -> None:
    guard = LoopGuard(1)
    thought = StartItem(key="r", kind="message", role="assistant", content=(Reasoning(text=""),))
    below = StartItem(key="s", kind="message", role="assistant", subagent="s")
    assert not any(guard.observe(each) for each in (answer(), thought, below, thought, below))


def test_no_limit_is_no_guard() -> None:
    guard = LoopGuard(0)
    assert not any(guard.observe(answer()) for _ in range(100))
