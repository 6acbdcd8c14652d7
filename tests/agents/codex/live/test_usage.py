"""What a turn used with its subagents."""

from __future__ import annotations

from typing import Any

from tests.agents.codex.live.scripts import spawn, wait
from tests.agents.live import Bench, calls
from tests.testing.story import of_type

SUBAGENT = {"subagent": True}
MAIN = {"subagent": False}


def said(words: str, input: int, output: int, **more: Any) -> dict[str, Any]:
    return {"text": words, "usage": {"input": input, "output": output, **more}}


def test_the_tokens_of_a_subagent_count_in_the_turn(codex: Bench) -> None:
    live = codex.session(
        {**calls(spawn("Count apples")), "usage": {"input": 10, "output": 1}, "when": MAIN},
        {**said("Three.", 200, 20), "when": SUBAGENT},
        {**calls(wait()), "usage": {"input": 3000, "output": 300}, "when": MAIN},
        {**said("It says three.", 40000, 4000), "when": MAIN},
    )
    (end,) = of_type(live.turn("Go"), "turn.ended")
    assert (end["usage"]["input_tokens"], end["usage"]["output_tokens"]) == (43210, 4321)
    live.conforms()
