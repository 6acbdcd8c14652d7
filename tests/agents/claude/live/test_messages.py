"""Text and thoughts, as the real Claude Code streams them."""

from __future__ import annotations

from tests.agents.live import Bench
from tests.testing.story import items, of_type, outcome, parts, said


def test_text_streams_word_by_word(claude: Bench) -> None:
    live = claude.session({"text": ["Hello ", "there, ", "friend."]})
    events = live.turn("Hi")
    assert said(events) == ["Hello there, friend."]
    deltas = [d["delta"] for d in of_type(events, "item.delta") if d["content_type"] == "text"]
    assert deltas == ["Hi", "Hello ", "there, ", "friend."]
    assert outcome(events) == "completed"
    live.conforms()


def test_a_thought_is_an_item_under_its_message(claude: Bench) -> None:
    live = claude.session({"blocks": [{"thinking": "Let me see."}, {"text": "It is 42."}]})
    events = live.turn("What is it?")
    thought = next(item for item in items(events, "message") if parts(item, "reasoning"))
    answer = next(item for item in items(events, "message", "assistant") if parts(item, "text"))
    assert parts(thought, "reasoning")[0]["text"] == "Let me see."
    assert thought["parent_id"] == answer["item_id"]
    live.conforms()
