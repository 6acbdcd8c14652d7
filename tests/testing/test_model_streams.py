"""Each API's stream, event by event."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.testing.model import ScriptedModel
from tests.testing.model_client import APIS, answer, events, said, streaming, text_of

EVERYTHING = {
    "blocks": [
        {"thinking": "Let me think about it."},
        {"text": ["Two ", "words"]},
        {"tool": "Bash", "input": {"command": "ls"}, "id": "call_mine"},
        {"tool": "echo", "namespace": "mcp__tiny", "raw": '{"broken": '},
        {"custom_tool": "apply_patch", "input": "*** Begin Patch\n"},
    ],
    "usage": {"input": 7, "output": 9, "cache_read": 3, "cache_write": 2, "reasoning": 4},
}


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as running:
        yield running


def kinds(stream: list[dict[str, Any]]) -> list[str]:
    """The types of the events, without repetitions."""
    return [kind for kind, _ in groupby(event["type"] for event in stream)]


def test_messages_speaks_in_blocks() -> None:
    with ScriptedModel([EVERYTHING]) as model:
        stream = events(model, "messages")
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    assert kinds(stream) == [
        "message_start", "ping", *block * 5, "message_delta", "message_stop",
    ]  # fmt: skip
    started = [e["content_block"] for e in stream if e["type"] == "content_block_start"]
    assert [each["type"] for each in started] == ["thinking", "text", *["tool_use"] * 3]
    assert [each.get("name") for each in started[2:]] == ["Bash", "mcp__tiny__echo", "apply_patch"]
    deltas = dict.fromkeys(range(5), "")
    for event in stream:
        if event["type"] == "content_block_delta":
            kind = event["delta"].pop("type")
            if kind != "signature_delta":
                deltas[event["index"]] += "".join(event["delta"].values())
    assert list(deltas.values())[:2] == ["Let me think about it.", "Two words"]
    assert json.loads(deltas[2]) == {"command": "ls"}
    assert deltas[3] == '{"broken": '
    assert json.loads(deltas[4]) == {"input": "*** Begin Patch\n"}
    assert started[2]["id"] == "call_mine"
    assert len({each["id"] for each in started[2:]}) == 3


def test_messages_ends_with_reason_and_usage() -> None:
    with ScriptedModel([EVERYTHING, {"text": "x", "stop_reason": "max_tokens"}]) as model:
        *_, delta, _ = events(model, "messages")
        assert delta["delta"] == {"stop_reason": "tool_use", "stop_sequence": None}
        assert delta["usage"] == {
            "input_tokens": 7,
            "cache_creation_input_tokens": 2,
            "cache_read_input_tokens": 3,
            "output_tokens": 9,
        }
        assert events(model, "messages")[-2]["delta"]["stop_reason"] == "max_tokens"


def test_responses_adds_and_completes_items() -> None:
    with ScriptedModel([EVERYTHING]) as model:
        stream = events(model, "responses")
    assert [event["sequence_number"] for event in stream] == list(range(len(stream)))
    assert [kind.removeprefix("response.") for kind in kinds(stream)] == [
        "created", "in_progress",
        "output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta",
        "reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done",
        "output_item.added", "content_part.added", "output_text.delta", "output_text.done",
        "content_part.done", "output_item.done",
        *["output_item.added", "function_call_arguments.delta", "function_call_arguments.done",
          "output_item.done"] * 2,
        "output_item.added", "custom_tool_call_input.delta", "custom_tool_call_input.done",
        "output_item.done", "completed",
    ]  # fmt: skip
    thought, words, call, other, custom = stream[-1]["response"]["output"]
    assert thought["summary"] == [{"type": "summary_text", "text": "Let me think about it."}]
    assert words["content"][0]["text"] == "Two words"
    assert (call["name"], call["call_id"]) == ("Bash", "call_mine")
    assert json.loads(call["arguments"]) == {"command": "ls"}
    assert (other["namespace"], other["name"]) == ("mcp__tiny", "echo")
    assert other["arguments"] == '{"broken": '
    assert (custom["type"], custom["input"]) == ("custom_tool_call", "*** Begin Patch\n")
    done = [event["item"] for event in stream if event["type"] == "response.output_item.done"]
    assert done == [thought, words, call, other, custom]


def test_responses_tells_usage_phase_and_raw_reasoning() -> None:
    blocks = [{"thinking": "short", "raw": "long"}, {"text": "hi", "phase": "final_answer"}]
    with ScriptedModel([{**EVERYTHING, "blocks": blocks}]) as model:
        stream = events(model, "responses")
    response = stream[-1]["response"]
    assert response["usage"] == {
        "input_tokens": 12,
        "input_tokens_details": {"cached_tokens": 3},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 4},
        "total_tokens": 21,
    }
    thought, words = response["output"]
    assert thought["content"] == [{"type": "reasoning_text", "text": "long"}]
    assert words["phase"] == "final_answer"
    assert "response.reasoning_text.delta" in kinds(stream)


def test_an_item_is_said_as_it_stands_where_there_are_items() -> None:
    search = {"type": "web_search_call", "status": "completed", "action": {"query": "herons"}}
    step = {"blocks": [{"item": search}, {"text": "found"}], "times": 3}
    with ScriptedModel([step]) as model:
        stream = events(model, "responses")
        told = [said(model, api) for api in ("messages", "chat")]
    items = [e["item"] for e in stream if e["type"].startswith("response.output_item.")]
    assert [item["status"] for item in items[:2]] == ["in_progress", "completed"]
    assert items[1] == {**search, "id": items[0]["id"]}
    assert told == ["found", "found"]


def test_responses_may_be_incomplete() -> None:
    with ScriptedModel([{"text": "half", "stop_reason": "max_tokens"}]) as model:
        last = events(model, "responses")[-1]
    assert last["type"] == "response.incomplete"
    assert last["response"]["incomplete_details"] == {"reason": "max_output_tokens"}


def test_chat_speaks_in_deltas() -> None:
    with ScriptedModel([EVERYTHING]) as model, streaming(model, "chat") as answering:
        stream = list(answering.events())
        assert answering.done
    *chunks, last, usage = stream
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert deltas[0] == {"role": "assistant", "content": ""}
    thought = "".join(delta.get("reasoning_content", "") for delta in deltas)
    assert thought == "Let me think about it."
    assert "".join(delta.get("content", "") for delta in deltas) == "Two words"
    calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
    named = [call for call in calls if "id" in call]
    assert [call["function"]["name"] for call in named] == [
        "Bash",
        "mcp__tiny__echo",
        "apply_patch",
    ]
    given = [
        "".join(c["function"]["arguments"] for c in calls if c["index"] == i) for i in range(3)
    ]
    assert json.loads(given[0]) == {"command": "ls"}
    assert given[1] == '{"broken": '
    assert last["choices"][0]["finish_reason"] == "tool_calls"
    assert usage["choices"] == []
    assert usage["usage"]["prompt_tokens"] == 12
    assert usage["usage"]["completion_tokens_details"] == {"reasoning_tokens": 4}


@pytest.mark.parametrize(
    ("reason", "told"), [("max_tokens", "length"), ("refusal", "content_filter"), ("odd", "odd")]
)
def test_chat_has_its_own_words_for_an_end(model: ScriptedModel, reason: str, told: str) -> None:
    model.script({"text": "x", "stop_reason": reason})
    assert events(model, "chat")[-2]["choices"][0]["finish_reason"] == told


def test_one_document_holds_the_same(model: ScriptedModel) -> None:
    step = {"blocks": [{"thinking": "t"}, {"text": "hi"}, {"tool": "Bash", "input": {"a": 1}}]}
    model.script(step, step, step)
    message = answer(model, "messages").json()
    assert [block["type"] for block in message["content"]] == ["thinking", "text", "tool_use"]
    assert (message["content"][2]["input"], message["stop_reason"]) == ({"a": 1}, "tool_use")
    choice = answer(model, "chat").json()["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("hi", "tool_calls")
    assert choice["message"]["tool_calls"][0]["function"] == {
        "name": "Bash",
        "arguments": '{"a":1}',
    }
    response = answer(model, "responses").json()
    assert [item["type"] for item in response["output"]] == [
        "reasoning", "message", "function_call",
    ]  # fmt: skip


@pytest.mark.parametrize("api", APIS)
def test_exact_pieces_are_sent_as_they_are(model: ScriptedModel, api: str) -> None:
    model.script({"text": ["a", "bc", "d" * 50]})
    assert [text for each in events(model, api) if (text := text_of(each))] == ["a", "bc", "d" * 50]


@pytest.mark.parametrize("api", APIS)
@given(text=st.text() | st.lists(st.text()))
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_the_deltas_of_any_text_add_up(
    model: ScriptedModel, api: str, text: str | list[str]
) -> None:
    model.script({"text": text})
    assert said(model, api) == "".join(text)


def test_no_id_is_ever_used_twice(model: ScriptedModel) -> None:
    model.script({"blocks": [{"text": "x"}, {"tool": "a"}, {"tool": "b"}], "times": 6})
    found: list[str] = []
    for api in APIS * 2:
        for event in events(model, api):
            item = event.get("item") or event.get("content_block") or event.get("message") or {}
            opened = event.get("type") not in ("response.output_item.done",)
            found += [item[key] for key in ("id", "call_id") if key in item and opened]
    assert len(found) == len(set(found)) == 2 * (3 + 5)
