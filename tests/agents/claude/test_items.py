"""Messages in pieces: what the model streams, and the whole that follows."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agents.claude.lines import Heard, assistant, streamed


def block(index: int, text: str, *, whole: bool) -> list[dict[str, Any]]:
    """A text block as Claude Code passes it on; of a blank one it never tells the whole."""
    start = {"type": "text", "text": ""}
    piece = {"type": "text_delta", "text": text}
    lines = [streamed(type="content_block_start", index=index, content_block=start)]
    if text:
        lines.append(streamed(type="content_block_delta", index=index, delta=piece))
    if whole:
        lines.append(assistant({"type": "text", "text": text}))
    return [*lines, streamed(type="content_block_stop", index=index)]


@pytest.mark.parametrize("texts", [["", "hello"], ["\n\n", "fin"], ["a", "", "ab"], ["x", "x"]])
def test_a_blank_text_doubles_nothing(texts: list[str]) -> None:
    heard = Heard()
    lines = [streamed(type="message_start", message={"id": "msg_a"})]
    for index, text in enumerate(texts):
        lines += block(index, text, whole=bool(text.strip()))
    events = heard.hear(*lines, streamed(type="message_stop"))
    deltas = [data["delta"] for type, data in events if type == "item.delta"]
    (done,) = [data["item"] for type, data in events if type == "item.completed"]
    assert "".join(deltas) == "".join(texts)
    assert (done["status"], done["content"][0]["text"]) == ("completed", "".join(texts))


def test_what_an_answer_read_is_told_at_its_start() -> None:
    heard = Heard()
    usage = {"input_tokens": 10, "cache_read_input_tokens": 200, "output_tokens": 1}
    events = heard.hear(
        streamed(type="message_start", message={"id": "msg_a", "model": "m", "usage": usage}),
        streamed(type="message_delta", delta={}, usage={"output_tokens": 5}),
        streamed(type="message_stop"),
        {"type": "result", "modelUsage": {"m": {"inputTokens": 10, "contextWindow": 1000}}},
    )
    (told,) = [data["context"] for type, data in events if type == "session.updated"]
    assert told == {"used": 215, "window": 1000}


def test_a_subagent_that_is_interrupted_says_so_itself() -> None:
    heard = Heard()
    events = heard.hear(
        {"type": "user", "parent_tool_use_id": "toolu_1", "agent_id": "sub_1",
         "message": {"content": [{"type": "text", "text": "[Request interrupted by user]"}]}},
    )  # fmt: skip
    item = events[-1][1]["item"]
    assert (item["kind"], item["subagent_id"]) == ("status", "sub_1")


def test_case_16_arguments_with_a_deep_nest_are_kept_as_text() -> None:
    """Before, they were looked into without a bound: a defect of the converter's own."""
    heard = Heard()
    nest = "[" * 3000 + "]" * 3000
    block = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}
    events = heard.hear(
        streamed(type="message_start", message={"id": "msg_a"}),
        streamed(type="content_block_start", index=0, content_block=block),
        streamed(type="content_block_delta", index=0,
                 delta={"type": "input_json_delta", "partial_json": nest}),
        assistant({**block, "input": {"command": "ls"}}),
    )  # fmt: skip
    (call,) = [data["item"] for type, data in events if type == "item.completed"]
    assert call["content"][0]["arguments"] == nest
