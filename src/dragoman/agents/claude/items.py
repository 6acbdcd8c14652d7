"""The model's messages as items, streamed or whole, and native content as parts.

Claude Code forwards the model's own stream, and repeats each block in an `assistant` line of its
own, before the block's stop. What subagents say is not streamed: there the lines are all there is.
(Seen in 2.1.325.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from dragoman.agents.claude import native
from dragoman.agents.claude.subagents import Owner
from dragoman.agents.claude.tools import PendingCall, call_fields, server_fields
from dragoman.schema.items import (
    ContentPart,
    ItemKind,
    ItemStatus,
    Json,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
)
from dragoman.steps import Blob, CompleteItem, Content, Delta, ItemFields, StartItem, Step
from dragoman.wire import decode as wire

RETRACTED, CUT_OFF = "retracted", "cut_off"
_USUAL_STOPS = (None, "end_turn", "tool_use", "pause_turn")
_any = msgspec.json.Decoder()


class _Block(Struct):
    block: native.AnyBlock
    key: str | None
    """Of its item; None: it is a text, and a part of the message itself."""
    chunks: list[str] = []
    is_complete: bool = False

    @property
    def text(self) -> str:
        return "".join(self.chunks)


class _Message(Struct):
    """The current message of one scope: the conversation, or a subagent."""

    id: str
    scope: str | None
    owner: Owner
    is_streamed: bool
    is_started: bool = False
    """Its item has started, with its first text or tool; thoughts may come before it."""
    is_open: bool = True
    has_failed: bool = False
    reason: str | None = None
    """Why it is not whole."""
    stop_reason: str | None = None
    blocks: dict[int, _Block] = {}

    @property
    def key(self) -> str:
        return f"msg:{self.id}"


class Messages:
    """The current messages, by scope: the tool call of a subagent, None for the conversation."""

    def __init__(self, directory: str) -> None:
        self.calls: dict[str, PendingCall] = {}
        """The calls that have no result yet."""
        self._directory = directory
        self._messages: dict[str | None, _Message] = {}

    # --- Streamed ---

    def stream(self, line: native.StreamEvent, owner: Owner) -> Iterator[Step]:
        """The next event of the model's own stream."""
        scope, event = line.parent_tool_use_id, line.event
        message = self._messages.get(scope)
        if isinstance(event, native.MessageStart):
            yield from self._begin(event.message.id, scope, owner, is_streamed=True)
        elif message is None or not message.is_open:
            return
        elif isinstance(event, native.BlockDelta):
            yield from _grow(message, event.index, event.delta)
        elif isinstance(event, native.BlockStart):
            block = native.decode_block(event.content_block)
            yield from self._open(message, event.index, block)
            if isinstance(block, native.TextBlock) and block.text:
                yield from _add(message, message.blocks[event.index], block.text)
        elif isinstance(event, native.MessageDelta):
            message.stop_reason = event.delta.stop_reason or message.stop_reason
            message.has_failed = message.has_failed or event.delta.stop_reason == "refusal"
        elif isinstance(event, native.MessageStop):
            yield from self._stop(message, line.abandoned_blocks)

    def _begin(
        self, message_id: str, scope: str | None, owner: Owner, *, is_streamed: bool
    ) -> Iterator[Step]:
        yield from self.finish(scope)
        self._messages[scope] = _Message(message_id, scope, owner, is_streamed)

    def _stop(self, message: _Message, abandoned: native.AbandonedBlocks | None) -> Iterator[Step]:
        if abandoned is not None:
            first = abandoned.from_block_index
            dropped = [block for index, block in message.blocks.items() if index >= first]
            for block in dropped:
                if block.key is not None and not block.is_complete:
                    yield from _close(block, "failed", {"reason": RETRACTED})
            # What was whole before the cut still counts, and the model goes on behind it.
            is_retracted = first == 0 or any(block.key is None for block in dropped)
            message.has_failed, message.reason = True, RETRACTED if is_retracted else CUT_OFF
        yield from _finish(message)

    # --- Whole blocks ---

    def whole(self, line: native.Assistant, owner: Owner) -> Iterator[Step]:
        """A whole block, streamed before or not; a message of the agent's own is whole at once."""
        scope, head = line.parent_tool_use_id, line.message
        message = self._messages.get(scope)
        if message is None or message.id != head.id or not message.is_open:
            yield from self._begin(head.id, scope, owner, is_streamed=False)
            message = self._messages[scope]
        message.has_failed = message.has_failed or line.aborted is True
        for raw in head.content:
            yield from self._whole_block(message, native.decode_block(raw), line)
        if head.stop_reason is not None and not message.is_streamed:
            message.stop_reason = head.stop_reason
            yield from _finish(message)

    def _whole_block(
        self, message: _Message, whole: native.AnyBlock, line: native.Assistant
    ) -> Iterator[Step]:
        # The last that fits: of a blank text the whole is never sent (seen in 2.1.325).
        open_blocks = (each for each in reversed(message.blocks.values()) if _is_same(each, whole))
        block = next(open_blocks, None)
        if block is None:
            index = max(message.blocks, default=-1) + 1
            yield from self._open(message, index, whole)
            block = message.blocks[index]
        text, streamed = _whole_text(whole, block.text), block.text
        if text.startswith(streamed) and text != streamed:
            yield from _add(message, block, text[len(streamed) :])
        if isinstance(whole, native.TOOL_USES) and whole.id in self.calls:
            self.calls[whole.id].input = whole.input
        block.block = whole
        if block.key is None:
            block.is_complete = True
            return
        fields: ItemFields = {}
        if line.thinking_duration_ms is not None and isinstance(whole, native.ThinkingBlock):
            fields["duration_ms"] = line.thinking_duration_ms
        status: ItemStatus = "failed" if line.aborted else "completed"
        yield from _close(block, status, {**fields, **call_fields(whole, self._directory)})

    def _open(self, message: _Message, index: int, block: native.AnyBlock) -> Iterator[Step]:
        """A block begins; a text is a part of its message, all else is an item of its own."""
        if isinstance(block, native.TextBlock):
            message.blocks[index] = _Block(block, None)
            return
        item = _item_of(message, index, block)
        if isinstance(block, native.TOOL_USES):
            yield from _start(message)
            is_main = message.scope is None
            self.calls[block.id] = PendingCall(block.name, message.key, message.owner, is_main)
        elif item.kind == "tool_result":
            self.calls.pop(_call_id_of(block), None)
        message.blocks[index] = _Block(block, item.key)
        yield msgspec.structs.replace(
            item,
            parent=message.key if message.is_started else None,
            fields=server_fields(block),
            subagent=message.owner.subagent,
            detached=message.owner.detached,
        )

    def replace_input(self, call_id: str, input: Any) -> None:
        """A person gave a call another input."""
        if call_id in self.calls:
            self.calls[call_id].input = input

    # --- Ends ---

    def finish(self, scope: str | None) -> Iterator[Step]:
        """End the current message of a scope."""
        message = self._messages.pop(scope, None)
        if message is not None and message.is_open:
            if message.is_streamed:
                # One that never stopped was cut off; a whole one has no stop of its own.
                message.has_failed, message.reason = True, CUT_OFF
            yield from _finish(message)

    def end_turn(self, detached: set[str], *, is_completed: bool) -> Iterator[Step]:
        """The turn ends: so do its messages, but not those of subagents in the background."""
        for scope in [scope for scope in self._messages if scope not in detached]:
            message = self._messages[scope]
            message.has_failed = message.has_failed or not is_completed
            yield from self.finish(scope)
        self.calls = {key: call for key, call in self.calls.items() if call.owner.detached}

    def clear(self) -> None:
        """The process is gone."""
        self._messages.clear()
        self.calls.clear()


# --- The steps of a message ---


def _start(message: _Message) -> Iterator[Step]:
    """Start the message's item, unless it is started."""
    if not message.is_started:
        message.is_started = True
        yield StartItem(
            key=message.key,
            kind="message",
            role="assistant",
            native_id=message.id,
            parent=message.scope,
            content=(Text(text=""),),
            subagent=message.owner.subagent,
            detached=message.owner.detached,
        )


def _grow(message: _Message, index: int, delta: native.AnyDelta) -> Iterator[Step]:
    block = message.blocks.get(index)
    if block is None:
        return
    match delta:
        case native.TextDelta(text=text) | native.ThinkingDelta(thinking=text):
            yield from _add(message, block, text)
        case native.InputDelta(partial_json=text):
            yield from _add(message, block, text)
        case _:
            return


def _add(message: _Message, block: _Block, text: str) -> Iterator[Step]:
    block.chunks.append(text)
    if not text:
        return
    if block.key is None:
        yield from _start(message)
        yield Delta(message.key, text)
    elif isinstance(block.block, native.ThinkingBlock):
        yield Delta(block.key, text, "reasoning")
    elif isinstance(block.block, native.TOOL_USES):
        yield Delta(block.key, text, "arguments")


def _close(block: _Block, status: ItemStatus, fields: ItemFields | None = None) -> Iterator[Step]:
    block.is_complete = True
    if block.key is not None:
        yield CompleteItem(
            key=block.key, content=(_part_of(block),), status=status, fields=fields or {}
        )


def _finish(message: _Message) -> Iterator[Step]:
    message.is_open = False
    for block in message.blocks.values():
        if not block.is_complete and block.key is not None:
            yield from _close(block, "failed")
    if not message.is_started and _has_only_thoughts(message):
        return
    yield from _start(message)
    text = "".join(_final_text(block) for block in message.blocks.values() if block.key is None)
    fields: ItemFields = {}
    if message.stop_reason:
        fields["stop_reason"] = message.stop_reason
    if message.reason:
        fields["reason"] = message.reason
    yield CompleteItem(
        key=message.key,
        content=(Text(text=text),) if text else (),
        status="failed" if message.has_failed else "completed",
        fields=fields,
    )


def _has_only_thoughts(message: _Message) -> bool:
    """The message has no text or tool, and ends as usual: it needs no item."""
    has_thoughts = any(block.key is not None for block in message.blocks.values())
    return has_thoughts and not message.has_failed and message.stop_reason in _USUAL_STOPS


def _final_text(block: _Block) -> str:
    if block.is_complete and isinstance(block.block, native.TextBlock):
        return block.block.text
    return block.text


# --- Blocks as items ---


def _is_same(block: _Block, whole: native.AnyBlock) -> bool:
    """Whether this is the whole of an open block."""
    if block.is_complete or type(block.block) is not type(whole):
        return False
    if isinstance(whole, native.TOOL_USES) and isinstance(block.block, native.TOOL_USES):
        return block.block.id == whole.id
    return True


def _whole_text(block: native.AnyBlock, streamed: str) -> str:
    match block:
        case native.TextBlock(text=text) | native.ThinkingBlock(thinking=text):
            return text
        case native.ToolUseBlock() | native.ServerToolUseBlock() | native.McpToolUseBlock():
            return streamed or msgspec.json.encode(block.input or {}).decode()
        case _:
            return ""


def _item_of(message: _Message, index: int, block: native.AnyBlock) -> StartItem:
    """The item that a block opens, before it is known whose it is."""
    key = f"{message.key}:{index}"
    match block:
        case native.ToolUseBlock() | native.ServerToolUseBlock() | native.McpToolUseBlock():
            call = ToolCall(name=block.name, arguments="", call_id=block.id)
            return _item(block.id, "tool_call", "assistant", block.id, call)
        case native.ThinkingBlock():
            return _item(key, "message", "assistant", message.id, Reasoning(text=""))
        case native.RedactedBlock():
            hidden = Reasoning(text="", visibility="private")
            return _item(key, "message", "assistant", message.id, hidden)
        case native.UnknownJson() if call_id := _call_id_of(block):
            result = ToolResult(call_id=call_id, output="")
            return _item(f"{call_id}:result", "tool_result", "tool", message.id, result)
        case _:
            return _item(key, "unknown", "assistant", message.id, Json(json=_json_of(block)))


def _item(key: str, kind: ItemKind, role: Role, native_id: str, part: ContentPart) -> StartItem:
    return StartItem(key=key, kind=kind, role=role, native_id=native_id, content=(part,))


def _part_of(block: _Block) -> ContentPart:
    """The content of the item of a whole block."""
    whole = block.block
    match whole:
        case native.ThinkingBlock(thinking=thinking):
            return Reasoning(text=thinking or block.text)
        case native.RedactedBlock():
            return Reasoning(text="", visibility="private")
        case native.ToolUseBlock() | native.ServerToolUseBlock() | native.McpToolUseBlock():
            call = ToolCall(name=whole.name, arguments=block.text, call_id=whole.id)
            if whole.input is None or _decode_arguments(block.text) in (whole.input, None):
                return call
            return msgspec.structs.replace(call, input=whole.input)
        case _ if call_id := _call_id_of(whole):
            return ToolResult(call_id=call_id, output=_as_text(_json_of(whole).get("content")))
        case _:
            return Json(json=_json_of(whole))


def _call_id_of(block: native.AnyBlock) -> str:
    """The call that a result of the vendor's own tools answers; empty: it is no result."""
    fields = block.json if isinstance(block, native.UnknownJson) else None
    if isinstance(fields, dict) and str(fields.get("type")).endswith("_tool_result"):
        return str(fields.get("tool_use_id") or "")
    return ""


def _decode_arguments(arguments: str) -> Any:
    """The arguments; None where they are broken, and no tool will be run with them."""
    try:
        return wire.decode(arguments.encode() or b"{}", _any)
    except msgspec.DecodeError:
        return None


def _as_text(content: Any) -> str:
    return content if isinstance(content, str) else msgspec.json.encode(content).decode()


def _json_of(block: native.AnyBlock) -> Any:
    return block.json if isinstance(block, native.UnknownJson) else msgspec.to_builtins(block)


# --- Content as parts ---


def parts_of(content: Any) -> Content:
    """The parts of a message or a result; a block of a kind that we do not know is a json part."""
    if isinstance(content, str):
        return (Text(text=content),)
    return tuple(_content_part(native.decode_block(raw)) for raw in content or ())


def text_of(content: Any) -> str:
    """The text of a message."""
    return "\n".join(part.text for part in parts_of(content) if isinstance(part, Text))


def _content_part(block: native.AnyBlock) -> ContentPart | Blob:
    match block:
        case native.TextBlock(text=text):
            return Text(text=text)
        case native.ImageBlock(source=source) if source.data is not None:
            return Blob(data=source.data, mime=source.media_type)
        case native.UnknownJson(json=json):
            return Json(json=json)
        case _:
            return Json(json={"type": type(block).__struct_config__.tag})
