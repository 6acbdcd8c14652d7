"""Messages and thoughts: where one ends, and what they hold."""

from __future__ import annotations

import base64
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dialects.acp.peer import Peer

THOUGHT = "agent_thought_chunk"


def test_pieces_of_a_kind_are_one_message_and_another_kind_ends_it() -> None:
    peer = Peer().in_turn()
    peer.chunk("Let me ", THOUGHT)
    peer.chunk("see.", THOUGHT)
    peer.chunk("It is ")
    peer.chunk("42.")
    peer.update("tool_call", toolCallId="c1", title="ls", kind="execute", status="pending")
    peer.update("tool_call_update", toolCallId="c1", status="completed")
    peer.chunk("Done.")
    peer.end()
    assert peer.said() == ["It is 42.", "Done."]
    thoughts = [each for each in peer.items("message") if each["content"][0]["type"] == "reasoning"]
    assert [each["content"][0]["text"] for each in thoughts] == ["Let me see."]
    peer.conforms()


def test_another_id_begins_another_message_and_none_goes_on() -> None:
    peer = Peer().in_turn()
    for text, id in (("One ", "m1"), ("more.", "m1"), ("Two", "m2"), (" more.", None)):
        peer.chunk(text, messageId=id)
    peer.end()
    assert peer.said() == ["One more.", "Two more."]
    natives = [each["native_item_id"] for each in peer.items("message")]
    assert natives[-2:] == ["m1", "m2"]
    peer.conforms()


def test_what_is_said_between_turns_opens_none() -> None:
    peer = Peer().open()
    peer.chunk("A word of my own.")
    peer.send()
    peer.chunk("Hello.")
    peer.end()
    assert len(peer.of_type("turn.started")) == len(peer.of_type("turn.ended")) == 1
    assert peer.said() == ["Hello."]
    (late,) = peer.status("late")
    assert late["content"][0]["detail"] == "A word of my own."
    peer.conforms()


def test_an_interrupted_answer_keeps_what_was_said() -> None:
    peer = Peer().in_turn()
    peer.chunk("One two ")
    peer.end("cancelled")
    (answer,) = [each for each in peer.items("message") if each["role"] == "assistant"]
    assert (answer["status"], answer["reason"]) == ("failed", "interrupted")
    assert peer.said() == ["One two "]
    peer.conforms()


PIXEL = base64.b64encode(b"\x89PNG").decode()


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ({"type": "image", "data": PIXEL, "mimeType": "image/png"}, {"mime": "image/png"}),
        ({"type": "audio", "data": PIXEL, "mimeType": "audio/wav"}, {"action": "read"}),
        (
            {"type": "resource_link", "uri": "file:///project/a%20b.txt", "name": "a b"},
            {"path": "/project/a b.txt", "action": "read"},
        ),
        (
            {"type": "resource_link", "uri": "https://a.example/b", "name": "b", "title": "B"},
            {"text": "[B](https://a.example/b)"},
        ),
        (
            {"type": "resource", "resource": {"uri": "file:///a", "text": "Held."}},
            {"text": "Held."},
        ),
        (
            {"type": "resource", "resource": {"uri": "file:///a", "blob": PIXEL}},
            {"action": "read"},
        ),
        ({"type": "hologram", "light": 3}, {"json": {"type": "hologram", "light": 3}}),
        (
            {"type": "image", "data": "no base64!", "mimeType": "image/png"},
            {"json": {"mimeType": "image/png", "data": "no base64!"}},
        ),
    ],
    ids=["image", "audio", "file", "link", "text", "bytes", "new kind", "broken"],
)
def test_what_is_no_text_stands_by_itself(block: Any, part: Any) -> None:
    peer = Peer().in_turn()
    peer.chunk("Look:")
    peer.update("agent_message_chunk", content=block)
    peer.chunk("That was it.")
    peer.end()
    contents = [each["content"] for each in peer.items("message")][1:]
    assert len(contents) == 3
    (shown,) = contents[1]
    assert {name: shown[name] for name in part} == part
    peer.conforms()


PIECES = st.lists(
    st.tuples(st.sampled_from(["agent_message_chunk", THOUGHT]), st.text(max_size=5)), max_size=20
)


@given(PIECES)
def test_pieces_in_any_order_add_up(pieces: list[tuple[str, str]]) -> None:
    peer = Peer().in_turn()
    for kind, text in pieces:
        peer.chunk(text, kind)
    peer.end()
    peer.conforms()
    for kind, type in (("agent_message_chunk", "text"), (THOUGHT, "reasoning")):
        told = "".join(text for each, text in pieces if each == kind)
        parts = [
            part["text"]
            for item in peer.items("message")
            for part in item["content"]
            if item["role"] == "assistant" and part["type"] == type
        ]
        assert "".join(parts) == told


@given(st.text(min_size=1), st.data())
def test_a_text_is_the_same_wherever_it_is_split(text: str, data: st.DataObject) -> None:
    at = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=5)) | {0, len(text)})
    peer = Peer().in_turn()
    for first, last in itertools.pairwise(at):
        peer.chunk(text[first:last])
    peer.end()
    assert peer.said() == [text]
    peer.conforms()
