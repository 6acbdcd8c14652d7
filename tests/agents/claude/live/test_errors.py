"""Errors of the model's API: each is told once, fails its turn, and costs no session."""

from __future__ import annotations

from typing import Any

from tests.agents.claude.live.scripts import bash
from tests.agents.live import Bench, calls
from tests.agents.watch import failed_with, goes_on
from tests.testing.story import items, outcome, text

AT_ONCE = {"retry-after": "0"}


def error(status: int, **more: Any) -> dict[str, Any]:
    return {"error": {"status": status, "headers": AT_ONCE, **more}, "times": 20}


def test_error_529_overloaded(claude: Bench) -> None:
    live = claude.session(error(529, message="no such luck"))
    told = failed_with(live.turn("Hi"))
    assert (told["code"], told["details"]["status"]) == ("overloaded_error", 529)
    goes_on(live)


def test_a_message_that_is_cut_between_blocks_is_gone_on_with(claude: Bench) -> None:
    live = claude.session({"text": ["Once ", "upon"], "end": "error"}, "a time.")
    events = live.turn("Tell me")
    first, second = items(events, "message", "assistant")
    assert (text(first), first["status"], first["reason"]) == ("Once upon", "failed", "cut_off")
    assert (text(second), second["status"]) == ("a time.", "completed")
    assert outcome(events) == "completed"
    goes_on(live)


def test_a_call_that_is_cut_fails_with_its_message(claude: Bench) -> None:
    cut = {**calls(bash("touch never.txt"), text="Let me."), "end": "error_in_block"}
    live = claude.session(cut, "Never mind.")
    events = live.turn("Touch it")
    (call,) = items(events, "tool_call")
    first, _ = items(events, "message", "assistant")
    assert (call["status"], call["reason"]) == ("failed", "retracted")
    assert (text(first), first["status"], first["reason"]) == ("Let me.", "failed", "cut_off")
    goes_on(live)


def test_the_model_refuses(claude: Bench) -> None:
    live = claude.session({"text": "I can", "stop_reason": "refusal", "times": 20})
    events = live.turn("Do something bad")
    assert failed_with(events)["code"] == "refusal"
    goes_on(live)
