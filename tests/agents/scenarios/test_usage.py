"""What each turn used, and how full the window is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agents.live import Bench, calls
from tests.agents.watch import heard, kill, says
from tests.testing.story import Event, of_type

pytestmark = pytest.mark.needs("usage")


def usage(events: list[Event]) -> Any:
    (end,) = of_type(events, "turn.ended")
    return end["usage"]


def counts(events: list[Event]) -> tuple[int, int]:
    used = usage(events)
    return used["input_tokens"], used["output_tokens"]


def says_for(words: str, input: int, output: int, **more: int) -> dict[str, Any]:
    """A step that costs so many tokens."""
    return {"text": words, "usage": {"input": input, "output": output, **more}}


def test_every_turn_has_its_own_usage(bench: Bench) -> None:
    live = bench.session(says_for("One.", 1000, 10), says_for("Two.", 20, 7, cache_read=1500))
    first, second = (usage(live.turn(word)) for word in ("1", "2"))
    assert (first["input_tokens"], first["output_tokens"]) == (1000, 10)
    assert first["cached_input_tokens"] == 0
    assert (second["input_tokens"], second["output_tokens"]) == (20, 7)
    assert second["cached_input_tokens"] == 1500
    total = live.info["usage"]
    assert (total["input_tokens"], total["output_tokens"]) == (1020, 17)
    live.conforms()


@pytest.mark.needs("commandExecution")
def test_all_requests_of_a_turn_count(bench: Bench) -> None:
    step = {**calls(bench.agent.shell("true")), "usage": {"input": 100, "output": 1}}
    live = bench.session(step, says_for("Done.", 200, 2), permissionMode="bypass")
    assert counts(live.turn("Go")) == (300, 3)
    live.conforms()


@pytest.mark.needs("resume")
def test_a_resumed_session_counts_on(bench: Bench) -> None:
    live = bench.session(says_for("One.", 1000, 10), says_for("Two.", 20, 7))
    assert counts(live.turn("1")) == (1000, 10)
    kill(live)
    assert counts(live.turn("2")) == (20, 7)
    assert live.info["usage"]["input_tokens"] == 1020
    live.conforms()


@pytest.mark.needs("fork")
def test_a_fork_counts_only_its_own(bench: Bench) -> None:
    steps = says_for("One.", 1000, 10), says_for("Two.", 20, 7), says_for("Three.", 3, 1)
    live = bench.session(*steps)
    live.turn("1")
    resume = {"sessionId": live.id, "fork": True}
    other = bench.another(live.model, folder=live.folder, resume=resume)
    assert counts(other.turn("2")) == (20, 7)
    assert counts(live.turn("3")) == (3, 1)
    assert other.info["usage"]["input_tokens"] == 20
    other.conforms()
    live.conforms()


@pytest.mark.asks_models
def test_the_context_says_how_full_the_window_is(bench: Bench) -> None:
    live = bench.session(says_for("Hello.", 100, 20, cache_read=3000))
    updates = of_type(live.turn("Hi"), "session.updated")
    (context,) = [update["context"] for update in updates if "context" in update]
    assert context["used"] == 3120
    assert context["window"] >= 200_000
    live.conforms()


@pytest.mark.needs("interrupt", "streamingDeltas")
def test_an_interrupted_turn_leaves_the_next_one_its_own_usage(bench: Bench) -> None:
    cut = {**says_for("", 200, 20), "text": ["Two ", "three"], "gate": "never"}
    live = bench.session(says_for("One.", 1000, 10), cut, says_for("Four.", 30, 3))
    live.turn("1")
    live.send("2")
    heard(live, says("Two"))
    live.interrupt()
    live.until("turn.ended")
    assert counts(live.turn("3")) == (30, 3)
    live.conforms()
