"""Text and thoughts, as the real Claude Code streams them."""

from __future__ import annotations

from tests.agents.live import Bench
from tests.testing.story import items, of_type, outcome, parts, said, text


def test_text_streams_word_by_word(claude: Bench) -> None:
    live = claude.session({"text": ["Hello ", "there, ", "friend."]})
    events = live.turn("Hi")
    assert said(events) == ["Hello there, friend."]
    deltas = [d["delta"] for d in of_type(events, "item.delta") if d["content_type"] == "text"]
    assert deltas == ["Hi", "Hello ", "there, ", "friend."]
    assert outcome(events) == "completed"
    live.conforms()


def test_a_thought_comes_before_its_answer(claude: Bench) -> None:
    """Before, the answer's item was opened first, empty, and each thought stood below it."""
    live = claude.session({"blocks": [{"thinking": "Let me see."}, {"text": "It is 42."}]})
    events = live.turn("What is it?")
    thought, answer = [
        data["item"]
        for data in of_type(events, "item.started")
        if data["item"]["role"] == "assistant"
    ]
    assert parts(thought, "reasoning")
    assert parts(answer, "text")
    assert thought["parent_id"] is None
    assert said(events) == ["It is 42."]
    live.conforms()


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


def test_every_character_survives(claude: Bench) -> None:
    words = ["  \n", "grün 🐉 ", "👩‍👩‍👧", "\u2028\u0000\x1b[31m", "\r\n<&>\"'\\n", "\n\n"]
    prompt = "  What of 🐉, \u2028 and \\u0041?\n\n"
    live = claude.session({"text": words})
    events = live.turn(prompt)
    assert said(events) == ["".join(words)]
    assert text(items(events, "message", "user")[0]) == prompt
    assert live.model.mains[0].text == prompt
    live.conforms()


def test_a_long_text_arrives_whole(claude: Bench) -> None:
    pages = [f"page {n} äöü 🐉 ".ljust(2000, ".") for n in range(100)]
    live = claude.session({"text": pages})
    events = live.turn("Tell me everything. " * 5000)
    assert said(events) == ["".join(pages)]
    assert len(text(items(events, "message", "user")[0])) == 100_000
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
