"""OpenAI's Chat Completions API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from dragoman.testing.model.frames import (
    Dialect,
    Event,
    Reply,
    StreamFrame,
    arguments,
    as_tool,
    failure,
    full_name,
    joined,
    pieces,
    sse,
)
from dragoman.testing.model.openai import error_body
from dragoman.testing.model.steps import CustomTool, Gate, Item, Said, Text, Thinking, Tool, Usage

FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
}
"""The script's words, which are the Messages API's, in this API's own."""


def _stream(reply: Reply) -> Iterator[StreamFrame]:
    frame = _chunk(reply)
    yield StreamFrame("say", _choice(frame, {"role": "assistant", "content": ""}))
    index = 0
    for block in reply.step.content():
        if isinstance(block, Gate):
            yield StreamFrame("gate", {"name": block.gate})
        if isinstance(block, Gate | Item):
            continue
        for kind, delta in _block(block, index, reply):
            yield StreamFrame(kind, _choice(frame, delta))
        index += isinstance(block, Tool | CustomTool)
    if error := failure(reply.step):
        told = {"type": error.type or "server_error", "code": None, "message": error.message}
        yield StreamFrame("tail", {"error": told})
        return
    yield StreamFrame("tail", _choice(frame, {}, _finish_reason(reply)))
    if reply.with_usage:
        yield StreamFrame("tail", {**frame, "choices": [], "usage": _usage(reply.step.usage)})


def _chunk(reply: Reply) -> Event:
    return {
        "id": reply.ids.take("chatcmpl"),
        "object": "chat.completion.chunk",
        "created": reply.created,
        "model": reply.model,
    }


def _choice(frame: Event, delta: Event, finish_reason: str | None = None) -> Event:
    return {**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


def _block(block: Said, index: int, reply: Reply) -> Iterator[StreamFrame]:
    match block:
        case Thinking(thinking=thinking):
            for piece in pieces(thinking):
                yield StreamFrame("delta", {"reasoning_content": piece})
        case Text(text=text):
            for piece in pieces(text):
                yield StreamFrame("delta", {"content": piece})
        case CustomTool():
            yield from _block(as_tool(block), index, reply)
        case Tool():
            call = {"index": index, **_call(block, reply, "")}
            yield StreamFrame("say", {"tool_calls": [call]})
            for piece in pieces(arguments(block)):
                more = {"index": index, "function": {"arguments": piece}}
                yield StreamFrame("delta", {"tool_calls": [more]})


def _call(call: Tool, reply: Reply, given: str) -> Event:
    function = {"name": full_name(call), "arguments": given}
    return {"id": reply.ids.take("call", call.id), "type": "function", "function": function}


def _whole(reply: Reply) -> Event:
    said = [as_tool(b) if isinstance(b, CustomTool) else b for b in reply.step.content()]
    message: dict[str, Any] = {"role": "assistant"}
    message["content"] = "".join(joined(b.text) for b in said if isinstance(b, Text)) or None
    if thought := "".join(joined(b.thinking) for b in said if isinstance(b, Thinking)):
        message["reasoning_content"] = thought
    if calls := [_call(b, reply, joined(arguments(b))) for b in said if isinstance(b, Tool)]:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": _finish_reason(reply)}
    return {
        **_chunk(reply),
        "object": "chat.completion",
        "choices": [choice],
        "usage": _usage(reply.step.usage),
    }


def _finish_reason(reply: Reply) -> str:
    calls = any(isinstance(block, Tool | CustomTool) for block in reply.step.content())
    reason = reply.step.stop_reason or ("tool_use" if calls else "end_turn")
    return FINISH_REASONS.get(reason, reason)


def _usage(usage: Usage) -> Event:
    prompt = usage.input + usage.cache_read + usage.cache_write
    return {
        "prompt_tokens": prompt,
        "completion_tokens": usage.output,
        "total_tokens": prompt + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def _frame(event: Event, _: int) -> bytes:
    return sse(msgspec.json.encode(event))


CHAT = Dialect("chat", _stream, _whole, _frame, error_body, last_frame=b"data: [DONE]\n\n")
"""`POST …/chat/completions`."""
