"""Our narrow structs against what the pinned Claude Code says.

It publishes no schema, neither in its package nor by a command: so against every recording of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import msgspec
from msgspec import Struct

from dragoman.agents.claude import native
from dragoman.testing.recordings.transcript import Line
from tests.agents.recordings import cases

Seen = set[tuple[str, str]]
"""Structs, and those of their fields that were there."""

UNSEEN = {
    "ControlResponseBody.error": "it refuses none of our requests there",
    "ControlResponseBody.error_code": "the same",
    "CitationsDelta": "of the vendor's own search",
    "ControlCancel.session_id": "the base of all messages has it, and this one does not say it",
    "ControlRequest.session_id": "the same",
    "ControlResponse.session_id": "the same",
    "KeepAlive": "of connections, which a pipe is not",
    "McpToolUseBlock": "of servers that the vendor talks to",
    "Ping": "the vendor's model sends it",
    "RateLimit": "of subscriptions",
    "RedactedBlock": "the vendor's model sends it",
    "ServerToolUseBlock": "of tools that the vendor runs",
    "StreamEvent.agent_id": "a subagent's words come whole, and its lines have it",
    "Notice.message": "of notices that are not among these",
    "ToolProgress": "of tools that run for long",
}
"""What no recording has, and why we read it all the same."""


def lines() -> Iterator[dict[str, Any]]:
    """All that Claude Code says in all recordings."""
    for case in cases():
        if case.agent == "claude" and case.golden is not None:
            for run in case.transcript():
                for entry in run.entries:
                    if isinstance(entry, Line) and entry.dir == "out":
                        yield msgspec.json.decode(entry.data)


def tagged(kinds: Any) -> dict[str, type[Struct]]:
    """The structs of a union, by their tags."""
    return {str(kind.__struct_config__.tag): kind for kind in get_args(kinds)}


MESSAGES, BLOCKS = tagged(native.Message), tagged(native.KnownBlock)
STREAMED, DELTAS = tagged(native.AnyModelEvent), tagged(native.AnyDelta)


def look(kind: type[Struct], value: Any, seen: Seen) -> None:
    """Note which fields of a struct a value has."""
    seen.add((kind.__name__, ""))
    for each in msgspec.structs.fields(kind):
        if isinstance(value, dict) and each.encode_name in value:
            seen.add((kind.__name__, each.encode_name))


def look_at(line: dict[str, Any], seen: Seen) -> None:
    """Note what of our structs stands in a line."""
    kind = MESSAGES.get(line["type"])
    if kind is None:
        return
    look(kind, line, seen)
    match line:
        case {"type": "system", "subtype": subtype}:
            about = native.SYSTEM_KINDS.get(subtype)
            if about is not None:
                look(about, line, seen)
            for server in line.get("mcp_servers") or ():
                look(native.McpServerStatus, server, seen)
        case {"type": "stream_event", "event": event}:
            _look_at_stream(event, seen)
            if line.get("abandoned_blocks"):
                look(native.AbandonedBlocks, line["abandoned_blocks"], seen)
        case {"type": "assistant", "message": message}:
            look(native.ModelMessage, message, seen)
            look(native.AnswerTokens, message.get("usage"), seen)
            _look_at_blocks(message.get("content"), seen)
        case {"type": "user", "message": message}:
            look(native.UserContent, message, seen)
            _look_at_blocks(message.get("content"), seen)
            for meta in line.get("tool_result_meta") or ():
                look(native.ResultMeta, meta, seen)
                if meta.get("permission_decision"):
                    look(native.PermissionDecision, meta["permission_decision"], seen)
        case {"type": "result"}:
            for name in ("modelUsage", "model_usage_since_last_result"):
                for tokens in (line.get(name) or {}).values():
                    look(native.ModelTokens, tokens, seen)
        case {"type": "control_request", "request": request}:
            look(native.ControlRequestBody, request, seen)
        case {"type": "control_response", "response": response}:
            look(native.ControlResponseBody, response, seen)


def _look_at_stream(event: dict[str, Any], seen: Seen) -> None:
    kind = STREAMED.get(event["type"])
    if kind is None:
        return
    look(kind, event, seen)
    match event:
        case {"type": "message_start", "message": message}:
            look(native.MessageHead, message, seen)
            look(native.AnswerTokens, message.get("usage"), seen)
        case {"type": "content_block_start", "content_block": block}:
            _look_at_blocks([block], seen)
        case {"type": "content_block_delta", "delta": delta} if delta["type"] in DELTAS:
            look(DELTAS[delta["type"]], delta, seen)
        case {"type": "message_delta", "delta": delta}:
            look(native.StopReason, delta, seen)
            look(native.AnswerTokens, event.get("usage"), seen)


def _look_at_blocks(content: Any, seen: Seen) -> None:
    for block in content if isinstance(content, list) else ():
        if block.get("type") in BLOCKS:
            look(BLOCKS[block["type"]], block, seen)
            _look_at_blocks(block.get("content"), seen)
            if block["type"] == "image":
                look(native.ImageSource, block.get("source"), seen)


def ours() -> Seen:
    """All structs and fields of ours."""
    kinds: set[type[Struct]] = {
        *MESSAGES.values(), *BLOCKS.values(), *STREAMED.values(), *DELTAS.values(),
        *native.SYSTEM_KINDS.values(), native.McpServerStatus, native.AbandonedBlocks,
        native.ModelMessage, native.UserContent, native.ResultMeta, native.PermissionDecision,
        native.ModelTokens, native.ControlRequestBody, native.ControlResponseBody,
        native.AnswerTokens, native.MessageHead, native.StopReason, native.ImageSource,
    }  # fmt: skip
    found = {(kind.__name__, "") for kind in kinds}
    for kind in kinds:
        found |= {(kind.__name__, each.encode_name) for each in msgspec.structs.fields(kind)}
    return found


def test_every_field_that_we_read_is_in_a_recording() -> None:
    """Before, a field that is misspelled, or that a new version drops, was simply never there."""
    seen: Seen = set()
    for line in lines():
        look_at(line, seen)
    missing = ours() - seen
    whole = {kind for kind, name in missing if not name}
    fields = {f"{kind}.{name}" for kind, name in missing if kind not in whole}
    assert whole | fields == UNSEEN.keys()
