"""What each turn used, and what it cost."""

from __future__ import annotations

import pytest

from tests.agents.live import Bench
from tests.testing.story import of_type


def test_every_turn_has_its_own_usage(claude: Bench) -> None:
    live = claude.session(
        {"text": "One.", "usage": {"input": 1000, "output": 10, "cache_write": 500}},
        {"text": "Two.", "usage": {"input": 20, "output": 7, "cache_read": 1500}},
    )
    first, second = (of_type(live.turn(word), "turn.ended")[0]["usage"] for word in ("1", "2"))
    assert (first["input_tokens"], first["output_tokens"]) == (1000, 10)
    assert (first["cache_write_tokens"], first["cached_input_tokens"]) == (500, 0)
    assert (second["input_tokens"], second["output_tokens"]) == (20, 7)
    assert (second["cache_write_tokens"], second["cached_input_tokens"]) == (0, 1500)
    assert 0 < second["cost_usd"] < first["cost_usd"]
    assert first["cost_source"] == "reported"
    (model,) = first["models"]
    assert first["models"][model]["input_tokens"] == 1000
    total = live.info["usage"]
    assert (total["input_tokens"], total["output_tokens"]) == (1020, 17)
    assert total["cost_usd"] == pytest.approx(first["cost_usd"] + second["cost_usd"])
    live.conforms()


def test_the_context_says_how_full_the_window_is(claude: Bench) -> None:
    usage = {"input": 100, "output": 20, "cache_read": 3000, "cache_write": 400}
    live = claude.session({"text": "Hello.", "usage": usage})
    updates = of_type(live.turn("Hi"), "session.updated")
    (context,) = [update["context"] for update in updates if "context" in update]
    assert context["used"] == 3520
    assert context["window"] >= 200_000
    live.conforms()


def test_an_interrupted_turn_has_its_own_usage_too(claude: Bench) -> None:
    live = claude.session(
        {"text": "One.", "usage": {"input": 1000, "output": 10}},
        {"text": ["Two ", "three"], "gate": "never"},
        {"text": "Four.", "usage": {"input": 30, "output": 3}},
    )
    live.turn("1")
    live.send("2")
    live.until("item.delta")
    live.model.wait_for_request(2)
    live.interrupt()
    live.until("turn.ended")
    (last,) = of_type(live.turn("3"), "turn.ended")
    assert (last["usage"]["input_tokens"], last["usage"]["output_tokens"]) == (30, 3)
    live.conforms()
