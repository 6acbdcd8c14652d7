"""Anthropic's Messages API."""

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
from dragoman.testing.model.steps import (
    CustomTool,
    Gate,
    HttpError,
    Item,
    Said,
    Text,
    Thinking,
    Tool,
    Usage,
)

SIGNATURE = "c2NyaXB0ZWQ="
ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def _stream(reply: Reply) -> Iterator[StreamFrame]:
    yield StreamFrame("say", {"type": "message_start", "message": _started(reply)})
    yield StreamFrame("say", {"type": "ping"})
    index = 0
    for block in reply.step.content():
        if isinstance(block, Gate):
            yield StreamFrame("gate", {"name": block.gate})
        if isinstance(block, Gate | Item):
            continue
        for kind, event in _block(block, reply):
            yield StreamFrame(kind, {"type": event["type"], "index": index, **event})
        index += 1
    if error := failure(reply.step):
        told = {"type": error.type or "overloaded_error", "message": error.message}
        yield StreamFrame("tail", {"type": "error", "error": told})
        return
    stop = {"stop_reason": _stop_reason(reply), "stop_sequence": None}
    usage = _usage(reply.step.usage)
    yield StreamFrame("tail", {"type": "message_delta", "delta": stop, "usage": usage})
    yield StreamFrame("tail", {"type": "message_stop"})


def _started(reply: Reply) -> Event:
    usage = {**_usage(reply.step.usage), "output_tokens": min(1, reply.step.usage.output)}
    return _message(reply, content=[], stop_reason=None, usage=usage)


def _message(reply: Reply, **more: Any) -> Event:
    return {
        "id": reply.ids.take("msg"),
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "stop_sequence": None,
        **more,
    }


def _block(block: Said, reply: Reply) -> Iterator[StreamFrame]:
    match block:
        case Thinking(thinking=thinking):
            yield _start({"type": "thinking", "thinking": "", "signature": ""})
            for piece in pieces(thinking):
                yield _delta({"type": "thinking_delta", "thinking": piece})
            signed = {"type": "signature_delta", "signature": SIGNATURE}
            yield StreamFrame("say", {"type": "content_block_delta", "delta": signed})
        case Text(text=text):
            yield _start({"type": "text", "text": ""})
            for piece in pieces(text):
                yield _delta({"type": "text_delta", "text": piece})
        case Tool() | CustomTool():
            call = as_tool(block) if isinstance(block, CustomTool) else block
            yield _start(_call(call, reply, {}))
            for piece in pieces(arguments(call)):
                yield _delta({"type": "input_json_delta", "partial_json": piece})
    yield StreamFrame("say", {"type": "content_block_stop"})


def _start(block: Event) -> StreamFrame:
    return StreamFrame("say", {"type": "content_block_start", "content_block": block})


def _delta(delta: Event) -> StreamFrame:
    return StreamFrame("delta", {"type": "content_block_delta", "delta": delta})


def _call(call: Tool, reply: Reply, given: Any) -> Event:
    call_id = reply.ids.take("toolu", call.id)
    return {"type": "tool_use", "id": call_id, "name": full_name(call), "input": given}


def _whole(reply: Reply) -> Event:
    content = [
        _content(block, reply)
        for block in reply.step.content()
        if not isinstance(block, Gate | Item)
    ]
    usage = _usage(reply.step.usage)
    return _message(reply, content=content, stop_reason=_stop_reason(reply), usage=usage)


def _content(block: Said, reply: Reply) -> Event:
    match block:
        case Thinking(thinking=thinking):
            return {"type": "thinking", "thinking": joined(thinking), "signature": SIGNATURE}
        case Text(text=text):
            return {"type": "text", "text": joined(text)}
        case CustomTool():
            return _content(as_tool(block), reply)
        case Tool():
            return _call(block, reply, _parsed(joined(arguments(block))))


def _parsed(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        # A document cannot hold broken JSON as a stream can.
        return {}


def _stop_reason(reply: Reply) -> str:
    calls = any(isinstance(block, Tool | CustomTool) for block in reply.step.content())
    return reply.step.stop_reason or ("tool_use" if calls else "end_turn")


def _usage(usage: Usage) -> Event:
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    }


def _error(error: HttpError) -> Event:
    kind = error.type or ERROR_TYPES.get(error.status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": error.message}}


def _frame(event: Event, _: int) -> bytes:
    return sse(msgspec.json.encode(event), event["type"])


MESSAGES = Dialect("messages", _stream, _whole, _frame, _error)
"""`POST …/v1/messages`."""
