"""Messages, thoughts and plans of the real Codex, as they are said."""

from __future__ import annotations

from typing import Any

from tests.agents.codex.live.scripts import proposed, run
from tests.agents.live import Bench
from tests.agents.results import streamed
from tests.testing.story import Event, Item, items, of_type, outcome, parts, said, text

ODD = (
    "Ünïcödé 🐉 👩\u200d👩\u200d👧 \u202eright\u202c to left\r\n"
    'tab\t\u2028line\u2029para\u0085next\x07 \\ " end'
)


def thoughts(events: list[Event]) -> list[tuple[str, str]]:
    """What was thought: who may read it, and the words."""
    found = [part for item in items(events, "message") for part in parts(item, "reasoning")]
    return [(part["visibility"], part["text"]) for part in found]


def messages(events: list[Event]) -> list[Item]:
    """What was said, without thoughts."""
    return [item for item in items(events, "message", "assistant") if parts(item, "text")]


def test_a_message_says_which_part_of_the_answer_it_is(codex: Bench) -> None:
    live = codex.session(
        {"blocks": [{"text": "First I look.", "phase": "commentary"}, run("echo hi")]},
        {"blocks": [{"text": "It says hi.", "phase": "final_answer"}]},
        permissionMode="bypass",
    )
    told = messages(live.turn("Look"))
    assert [(item["phase"], text(item)) for item in told] == [
        ("commentary", "First I look."), ("final_answer", "It says hi.")
    ]  # fmt: skip
    live.conforms()


def test_a_thought_has_a_public_summary_and_private_words(codex: Bench) -> None:
    live = codex.session(
        {
            "blocks": [
                {"thinking": ["The short", " of it"], "raw": ["Word", " for", " word"]},
                {"text": "Done."},
            ]
        }
    )
    events = live.turn("Think")
    assert thoughts(events) == [("public", "The short of it"), ("private", "Word for word")]
    short, long = (item for item in items(events, "message") if parts(item, "reasoning"))
    assert streamed(events, short, "reasoning") == "The short of it"
    assert streamed(events, long, "reasoning") == "Word for word"
    assert short["native_item_id"] == long["native_item_id"]
    pieces = [each["delta"] for each in of_type(events, "item.delta")]
    assert pieces[1:-1] == ["The short", " of it", "Word", " for", " word"]
    assert said(events) == ["Done."]
    live.conforms()


def test_the_parts_of_a_summary_are_set_apart(codex: Bench) -> None:
    summary = [{"type": "summary_text", "text": part} for part in ("**One**", "**Two**")]
    thought = {"type": "reasoning", "encrypted_content": "eA==", "summary": summary}
    live = codex.session({"blocks": [{"item": thought}, {"text": "Done."}]})
    assert thoughts(live.turn("Think")) == [("public", "**One**\n\n**Two**")]
    live.conforms()


def test_a_plan_is_handed_in(codex: Bench) -> None:
    plan = proposed("# Plan\n- one\n- two 🐉")
    live = codex.session(f"Here it is.\n{plan}Shall I?", permissionMode="plan")
    events = live.turn("Plan it")
    handed, around = messages(events)
    assert (handed["phase"], text(handed)) == ("plan", "# Plan\n- one\n- two 🐉\n")
    assert streamed(events, handed, "text") == text(handed)
    assert "phase" not in around
    assert text(around) == "Here it is.\nShall I?"
    assert outcome(events) == "completed"
    live.conforms()


def test_every_character_survives(codex: Bench) -> None:
    blocks: list[dict[str, Any]] = [{"thinking": ODD, "raw": ODD}, {"text": list(ODD)}]
    live = codex.session({"blocks": blocks})
    events = live.turn(ODD)
    assert said(events) == [ODD]
    assert thoughts(events) == [("public", ODD), ("private", ODD)]
    assert [text(item) for item in items(events, "message", "user")] == [ODD]
    assert ODD in [
        part["text"] for given in live.model.mains[-1].body["input"] for part in given["content"]
    ]
    live.conforms()
