"""Text and thoughts, as the real Claude Code streams them."""

from __future__ import annotations

from tests.agents.live import Bench
from tests.testing.story import items, outcome, parts, said, text


def test_several_texts_of_a_message_join(claude: Bench) -> None:
    live = claude.session(
        {"blocks": [{"text": "One. "}, {"thinking": "And?"}, {"text": "Two."}, {"text": ""}]}
    )
    events = live.turn("Count")
    assert said(events) == ["One. Two."]
    thought = next(item for item in items(events, "message") if parts(item, "reasoning"))
    answer = next(item for item in items(events, "message", "assistant") if parts(item, "text"))
    assert thought["parent_id"] == answer["item_id"]
    assert len(items(events, "message", "assistant")) == 2
    live.conforms()


def test_an_empty_message_is_asked_for_again(claude: Bench) -> None:
    live = claude.session({"blocks": [{"text": ""}]}, "Here I am.")
    events = live.turn("Hello?")
    empty, answer = items(events, "message", "assistant")
    assert empty["content"] == []
    assert text(answer) == "Here I am."
    (note,) = items(events, "system")
    assert "no visible output" in text(note)
    assert outcome(events) == "completed"
    live.conforms()


def test_a_message_that_is_only_thought(claude: Bench) -> None:
    live = claude.session({"blocks": [{"thinking": ["Hm", "m."]}]}, "Well.")
    events = live.turn("Think")
    thought = next(item for item in items(events, "message") if parts(item, "reasoning"))
    assert parts(thought, "reasoning")[0] == {
        "type": "reasoning", "text": "Hmm.", "visibility": "public"
    }  # fmt: skip
    assert said(events) == ["Well."]
    live.conforms()


def test_the_raw_line_stands_behind_each_event(claude: Bench) -> None:
    live = claude.session({"text": ["Hello ", "there."]})
    live.turn("Hi")
    events = live.events(raw=True)
    deltas = [e for e in events if e["type"] == "item.delta" and e["data"]["delta"] == "there."]
    assert deltas[0]["raw"]["event"]["delta"] == {"type": "text_delta", "text": "there."}
    assert events[-1]["raw"]["type"] == "result"
    assert events[0]["raw"] is None
    live.conforms()
