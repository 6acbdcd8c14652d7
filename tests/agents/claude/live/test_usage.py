"""What each turn used, and what it cost."""

from __future__ import annotations

import pytest

from tests.agents.claude.live.scripts import bash
from tests.agents.live import Bench, calls
from tests.agents.watch import done, heard, kill, says
from tests.testing.story import of_type

SLOW = "python3 -c 'import time; time.sleep(60)'"


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


def test_an_interrupted_turn_has_its_own_usage_too(claude: Bench) -> None:
    live = claude.session(
        {"text": "One.", "usage": {"input": 1000, "output": 10}},
        {"text": ["Two ", "three"], "gate": "never", "usage": {"input": 200, "output": 20}},
        {"text": "Four.", "usage": {"input": 30, "output": 3}},
    )
    live.turn("1")
    live.send("2")
    heard(live, says("Two"))
    live.interrupt()
    cut = live.until("turn.ended")["data"]["usage"]
    # The model tells at the start of an answer what it read, and at its end what it wrote.
    assert (cut["input_tokens"], cut["output_tokens"]) == (200, 1)
    (last,) = of_type(live.turn("3"), "turn.ended")
    assert (last["usage"]["input_tokens"], last["usage"]["output_tokens"]) == (30, 3)
    live.conforms()


def test_an_interrupted_turn_counts_what_came_before_the_cut(claude: Bench) -> None:
    live = claude.session(
        {**calls(bash("true")), "usage": {"input": 1000, "output": 10}},
        {"text": ["Two ", "three"], "gate": "never", "usage": {"input": 200, "output": 20}},
        permissionMode="bypass",
    )
    live.send("1")
    heard(live, says("Two"))
    live.interrupt()
    cut = live.until("turn.ended")["data"]["usage"]
    assert (cut["input_tokens"], cut["output_tokens"]) == (1200, 11)
    assert cut["cost_source"] == "reported"
    live.conforms()


def test_a_turn_whose_process_dies_has_what_its_answers_told(claude: Bench) -> None:
    live = claude.session(
        {**calls(bash(SLOW)), "usage": {"input": 1000, "output": 10, "cache_read": 7}},
        {"text": "Back.", "usage": {"input": 30, "output": 3}},
        permissionMode="bypass",
    )
    live.send("1")
    heard(live, done("message", stop_reason="tool_use"))
    kill(live)
    cut = live.until("turn.ended")["data"]["usage"]
    assert (cut["input_tokens"], cut["output_tokens"]) == (1000, 10)
    assert cut["cached_input_tokens"] == 7
    assert "cost_usd" not in cut
    (last,) = of_type(live.turn("2"), "turn.ended")
    assert (last["usage"]["input_tokens"], last["usage"]["output_tokens"]) == (30, 3)
    assert live.info["usage"]["input_tokens"] == 1030
    live.conforms()


def test_a_turn_that_terminate_cuts_has_what_its_answers_told(claude: Bench) -> None:
    steps = ({**calls(bash(SLOW)), "usage": {"input": 1000, "output": 10}},)
    live = claude.session(*steps, permissionMode="bypass")
    live.send("1")
    heard(live, done("message", stop_reason="tool_use"))
    live.terminate()
    (cut,) = of_type(live.conforms(), "turn.ended")
    assert (cut["usage"]["input_tokens"], cut["usage"]["output_tokens"]) == (1000, 10)
