"""What each turn used, and how full the window is."""

from __future__ import annotations

from typing import Any

from tests.agents.codex.live.scripts import calls, run, spawn, wait
from tests.agents.codex.live.watch import kill
from tests.agents.live import Bench
from tests.testing.story import Event, of_type

SUBAGENT = {"subagent": True}
MAIN = {"subagent": False}


def usage(events: list[Event]) -> Any:
    (end,) = of_type(events, "turn.ended")
    return end.get("usage")


def counts(events: list[Event]) -> tuple[int, int]:
    used = usage(events)
    return used["input_tokens"], used["output_tokens"]


def said(words: str, input: int, output: int, **more: Any) -> dict[str, Any]:
    return {"text": words, "usage": {"input": input, "output": output, **more}}


def test_every_turn_has_its_own_usage(codex: Bench) -> None:
    live = codex.session(said("One.", 1000, 10), said("Two.", 20, 7, cache_read=1500, reasoning=5))
    first, second = (usage(live.turn(word)) for word in ("1", "2"))
    assert (first["input_tokens"], first["output_tokens"]) == (1000, 10)
    assert (first["cached_input_tokens"], first["reasoning_tokens"]) == (0, 0)
    assert (second["input_tokens"], second["output_tokens"]) == (20, 7)
    assert (second["cached_input_tokens"], second["reasoning_tokens"]) == (1500, 5)
    total = live.info["usage"]
    assert (total["input_tokens"], total["output_tokens"]) == (1020, 17)
    live.conforms()


def test_all_requests_of_a_turn_count(codex: Bench) -> None:
    step = {**calls(run("true")), "usage": {"input": 100, "output": 1}}
    live = codex.session(step, said("Done.", 200, 2), permissionMode="bypass")
    assert counts(live.turn("Go")) == (300, 3)
    live.conforms()


def test_a_resumed_session_counts_on(codex: Bench) -> None:
    live = codex.session(said("One.", 1000, 10), said("Two.", 20, 7))
    assert counts(live.turn("1")) == (1000, 10)
    kill(live)
    assert counts(live.turn("2")) == (20, 7)
    assert live.info["usage"]["input_tokens"] == 1020
    live.conforms()


def test_a_fork_counts_only_its_own(codex: Bench) -> None:
    live = codex.session(said("One.", 1000, 10), said("Two.", 20, 7), said("Three.", 3, 1))
    live.turn("1")
    about = {"sessionId": live.id, "fork": True}
    other = codex.another(live.model, folder=live.folder, resume=about)
    assert counts(other.turn("2")) == (20, 7)
    assert counts(live.turn("3")) == (3, 1)
    assert other.info["usage"]["input_tokens"] == 20
    other.conforms()
    live.conforms()


def test_the_tokens_of_a_subagent_count_in_the_turn(codex: Bench) -> None:
    live = codex.session(
        {**calls(spawn("Count apples")), "usage": {"input": 10, "output": 1}, "when": MAIN},
        {**said("Three.", 200, 20), "when": SUBAGENT},
        {**calls(wait()), "usage": {"input": 3000, "output": 300}, "when": MAIN},
        {**said("It says three.", 40000, 4000), "when": MAIN},
    )
    assert counts(live.turn("Go")) == (43210, 4321)
    live.conforms()


def test_the_context_says_how_full_the_window_is(codex: Bench) -> None:
    live = codex.session(said("Hello.", 100, 20, cache_read=3000))
    updates = of_type(live.turn("Hi"), "session.updated")
    (context,) = [update["context"] for update in updates if "context" in update]
    assert context["used"] == 3120
    assert context["window"] >= 200_000
    live.conforms()


def test_an_interrupted_turn_leaves_the_next_one_its_own_usage(codex: Bench) -> None:
    live = codex.session(
        said("One.", 1000, 10), {"text": ["Two ", "three"], "gate": "never"}, said("Four.", 30, 3)
    )
    live.turn("1")
    live.send("2")
    live.until("item.delta")
    live.model.wait_for_request(2)
    live.interrupt()
    live.until("turn.ended")
    assert counts(live.turn("3")) == (30, 3)
    live.conforms()
