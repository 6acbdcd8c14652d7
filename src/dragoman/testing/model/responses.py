"""OpenAI's Responses API."""

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
    failure,
    joined,
    pieces,
    sse,
)
from dragoman.testing.model.openai import error_body
from dragoman.testing.model.steps import CustomTool, Gate, Item, Said, Text, Thinking, Tool, Usage

INCOMPLETE = {"max_tokens": "max_output_tokens", "refusal": "content_filter"}
"""The script's words, which are the Messages API's, for what leaves a response incomplete."""
ENCRYPTED = "c2NyaXB0ZWQ="


def _stream(reply: Reply) -> Iterator[StreamFrame]:
    base = _response(reply)
    yield StreamFrame("say", {"type": "response.created", "response": base})
    yield StreamFrame("say", {"type": "response.in_progress", "response": base})
    output: list[Event] = []
    for block in reply.step.content():
        if isinstance(block, Gate):
            yield StreamFrame("gate", {"name": block.gate})
            continue
        item = _item(block, reply)
        index = len(output)
        opened = {**item, **_empty(block)}
        yield StreamFrame("say", _of("output_item.added", output_index=index, item=opened))
        for kind, event in _parts(block):
            yield StreamFrame(kind, {"item_id": item["id"], "output_index": index, **event})
        yield StreamFrame("say", _of("output_item.done", output_index=index, item=item))
        output.append(item)
    if error := failure(reply.step):
        told = {"code": error.type or "server_error", "message": error.message}
        failed = {**base, "status": "failed", "error": told}
        yield StreamFrame("tail", _of("failed", response=failed))
        return
    done = _finished(base, output, reply)
    yield StreamFrame("tail", _of(done["status"], response=done))


def _of(kind: str, **fields: Any) -> Event:
    return {"type": f"response.{kind}", **fields}


def _response(reply: Reply) -> Event:
    return {
        "id": reply.ids.take("resp"),
        "object": "response",
        "created_at": reply.created,
        "model": reply.model,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": None,
    }


def _finished(base: Event, output: list[Event], reply: Reply) -> Event:
    done = {**base, "status": "completed", "output": output, "usage": _usage(reply.step.usage)}
    if reason := INCOMPLETE.get(reply.step.stop_reason or ""):
        done |= {"status": "incomplete", "incomplete_details": {"reason": reason}}
    return done


def _item(block: Said | Item, reply: Reply) -> Event:
    """The complete item of a block."""
    match block:
        case Thinking(thinking=thinking, raw=raw):
            item: Event = {"type": "reasoning", "id": reply.ids.take("rs")}
            item["encrypted_content"] = ENCRYPTED
            item["summary"] = [{"type": "summary_text", "text": joined(thinking)}]
            if raw is not None:
                item["content"] = [{"type": "reasoning_text", "text": joined(raw)}]
            return item
        case Text(text=text, phase=phase):
            item = {"type": "message", "id": reply.ids.take("msg"), "role": "assistant"}
            item |= {"status": "completed", "content": [_output_text(joined(text))]}
            return item | ({"phase": phase} if phase else {})
        case Tool(tool=name):
            given = {"name": name, "arguments": joined(arguments(block))}
            return _call("function_call", "fc", block, reply) | given
        case CustomTool(custom_tool=name, input=text):
            given = {"name": name, "input": joined(text)}
            return _call("custom_tool_call", "ctc", block, reply) | given
        case Item(item=done):
            return {**done, "id": reply.ids.take("item", done.get("id"))}


def _call(kind: str, prefix: str, call: Tool | CustomTool, reply: Reply) -> Event:
    item = {"type": kind, "id": reply.ids.take(prefix), "call_id": reply.ids.take("call", call.id)}
    item["status"] = "completed"
    return item | ({"namespace": call.namespace} if call.namespace else {})


def _output_text(text: str) -> Event:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _empty(block: Said | Item) -> Event:
    """What differs in an item that has only just been added."""
    match block:
        case Thinking(raw=raw):
            return {"summary": []} | ({} if raw is None else {"content": []})
        case Text():
            return {"status": "in_progress", "content": []}
        case Tool():
            return {"status": "in_progress", "arguments": ""}
        case CustomTool():
            return {"status": "in_progress", "input": ""}
        case Item():
            return {"status": "in_progress"}


def _parts(block: Said | Item) -> Iterator[StreamFrame]:
    match block:
        case Thinking(thinking=thinking, raw=raw):
            yield from _summary(joined(thinking), pieces(thinking))
            for piece in pieces(raw) if raw is not None else ():
                yield StreamFrame(
                    "delta", _of("reasoning_text.delta", content_index=0, delta=piece)
                )
        case Text(text=text):
            yield from _text(joined(text), pieces(text))
        case Tool():
            given = arguments(block)
            for piece in pieces(given):
                yield StreamFrame("delta", _of("function_call_arguments.delta", delta=piece))
            done = _of("function_call_arguments.done", name=block.tool, arguments=joined(given))
            yield StreamFrame("say", done)
        case CustomTool(input=text):
            for piece in pieces(text):
                yield StreamFrame("delta", _of("custom_tool_call_input.delta", delta=piece))
            yield StreamFrame("say", _of("custom_tool_call_input.done", input=joined(text)))
        case Item():
            pass


def _summary(text: str, cut: tuple[str, ...]) -> Iterator[StreamFrame]:
    name = "reasoning_summary"
    part = {"type": "summary_text", "text": ""}
    yield StreamFrame("say", _of(f"{name}_part.added", summary_index=0, part=part))
    for piece in cut:
        yield StreamFrame("delta", _of(f"{name}_text.delta", summary_index=0, delta=piece))
    yield StreamFrame("say", _of(f"{name}_text.done", summary_index=0, text=text))
    yield StreamFrame("say", _of(f"{name}_part.done", summary_index=0, part={**part, "text": text}))


def _text(text: str, cut: tuple[str, ...]) -> Iterator[StreamFrame]:
    yield StreamFrame("say", _of("content_part.added", content_index=0, part=_output_text("")))
    for piece in cut:
        yield StreamFrame(
            "delta", _of("output_text.delta", content_index=0, delta=piece, logprobs=[])
        )
    yield StreamFrame("say", _of("output_text.done", content_index=0, text=text, logprobs=[]))
    yield StreamFrame("say", _of("content_part.done", content_index=0, part=_output_text(text)))


def _whole(reply: Reply) -> Event:
    output = [_item(block, reply) for block in reply.step.content() if not isinstance(block, Gate)]
    return _finished(_response(reply), output, reply)


def _usage(usage: Usage) -> Event:
    given = usage.input + usage.cache_read + usage.cache_write
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": given + usage.output,
    }


def _frame(event: Event, number: int) -> bytes:
    return sse(msgspec.json.encode({**event, "sequence_number": number}), event["type"])


RESPONSES = Dialect("responses", _stream, _whole, _frame, error_body)
"""`POST …/responses`."""
