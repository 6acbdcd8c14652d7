"""The model's messages, streamed block by block or whole, as items.

Claude Code passes the model's own stream on, and repeats each block in an `assistant` line of its
own, before the block's stop. What subagents say is not streamed: there the lines are all there is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from dragoman.agents.claude import model, native
from dragoman.agents.claude.subagents import Owner
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
from dragoman.steps import CompleteItem, Delta, ItemFields, StartItem, Step
from dragoman.wire import decode as wire

RETRACTED, CUT = "retracted", "cut_off"
_USUAL_STOPS = (None, "end_turn", "tool_use", "pause_turn")
_any = msgspec.json.Decoder()
TOOL_USES = (model.ToolUseBlock, model.ServerToolUseBlock, model.McpToolUseBlock)


class Call(Struct):
    """A tool call: what its result needs to know."""

    name: str
    message: str
    owner: Owner
    main: bool
    input: Any = None


class _Block(Struct):
    block: model.AnyBlock | model.Unmodelled
    key: str | None
    """None: its text belongs to the message itself."""
    chunks: list[str] = []
    ended: bool = False

    @property
    def text(self) -> str:
        return "".join(self.chunks)


class _Talk(Struct):
    """The message that is being said in one scope: the conversation, or a subagent."""

    id: str
    scope: str | None
    owner: Owner
    streamed: bool
    started: bool = False
    """Its item has started, with its first text or tool; thoughts may come before it."""
    open: bool = True
    failed: bool = False
    reason: str | None = None
    """Why it is not whole."""
    stop_reason: str | None = None
    blocks: dict[int, _Block] = {}

    @property
    def key(self) -> str:
        return message_key(self.id)


def message_key(message_id: str) -> str:
    """The key of a message's item."""
    return f"msg:{message_id}"


class Messages:
    """All messages under way, by scope: the tool call of a subagent, None for the conversation."""

    def __init__(self, directory: str) -> None:
        self.calls: dict[str, Call] = {}
        """The calls that have no result yet."""
        self._directory = directory
        self._talks: dict[str | None, _Talk] = {}

    # --- Streamed ---

    def stream(self, line: native.StreamEvent, owner: Owner) -> Iterator[Step]:
        """The next piece of the model's own stream."""
        scope, event = line.parent_tool_use_id, line.event
        talk = self._talks.get(scope)
        if isinstance(event, model.MessageStart):
            yield from self._begin(event.message.id, scope, owner, streamed=True)
        elif talk is None or not talk.open:
            return
        elif isinstance(event, model.BlockDelta):
            yield from _grow(talk, event.index, event.delta)
        elif isinstance(event, model.BlockStart):
            block = model.decode_block(event.content_block)
            yield from self._open(talk, event.index, block, scope)
            if isinstance(block, model.TextBlock) and block.text:
                yield from _add(talk, talk.blocks[event.index], block.text)
        elif isinstance(event, model.MessageDelta):
            talk.stop_reason = event.delta.stop_reason or talk.stop_reason
            talk.failed = talk.failed or event.delta.stop_reason == "refusal"
        elif isinstance(event, model.MessageStop):
            yield from self._stop(talk, line.abandoned_blocks)

    def _begin(
        self, message_id: str, scope: str | None, owner: Owner, *, streamed: bool
    ) -> Iterator[Step]:
        yield from self.finish(scope)
        self._talks[scope] = _Talk(message_id, scope, owner, streamed)

    def _stop(self, talk: _Talk, abandoned: native.Abandoned | None) -> Iterator[Step]:
        if abandoned is not None:
            first = abandoned.from_block_index
            lost = [block for index, block in talk.blocks.items() if index >= first]
            for block in lost:
                if block.key is not None and not block.ended:
                    yield from _close(block, "failed", {"reason": RETRACTED})
            # What was whole before the cut still counts, and the model goes on behind it.
            gone = first == 0 or any(block.key is None for block in lost)
            talk.failed, talk.reason = True, RETRACTED if gone else CUT
        yield from _finish(talk)

    # --- Whole blocks ---

    def whole(self, line: native.Assistant, owner: Owner) -> Iterator[Step]:
        """A whole block, streamed before or not; a message of the agent's own is whole at once."""
        scope, message = line.parent_tool_use_id, line.message
        talk = self._talks.get(scope)
        if talk is None or talk.id != message.id or not talk.open:
            yield from self._begin(message.id, scope, owner, streamed=False)
            talk = self._talks[scope]
        talk.failed = talk.failed or line.aborted is True
        for raw in message.content:
            yield from self._whole(talk, model.decode_block(raw), scope, line)
        if message.stop_reason is not None and not talk.streamed:
            talk.stop_reason = message.stop_reason
            yield from _finish(talk)

    def _whole(
        self,
        talk: _Talk,
        found: model.AnyBlock | model.Unmodelled,
        scope: str | None,
        line: native.Assistant,
    ) -> Iterator[Step]:
        # The last one: of a blank text Claude Code does not tell the whole.
        block = next((b for b in reversed(talk.blocks.values()) if _same(b, found)), None)
        if block is None:
            index = max(talk.blocks, default=-1) + 1
            yield from self._open(talk, index, found, scope)
            block = talk.blocks[index]
        text, said = _text_of(found, block.text), block.text
        if text.startswith(said) and text != said:
            yield from _add(talk, block, text[len(said) :])
        if isinstance(found, TOOL_USES) and found.id in self.calls:
            self.calls[found.id].input = found.input
        block.block = found
        if block.key is None:
            block.ended = True
            return
        fields: ItemFields = {}
        if line.thinking_duration_ms is not None and isinstance(found, model.ThinkingBlock):
            fields["duration_ms"] = line.thinking_duration_ms
        status: ItemStatus = "failed" if line.aborted else "completed"
        yield from _close(block, status, {**fields, **self._about(found)})

    def _open(
        self,
        talk: _Talk,
        index: int,
        found: model.AnyBlock | model.Unmodelled,
        scope: str | None,
    ) -> Iterator[Step]:
        """A block begins; a text is a part of its message, all else is an item of its own."""
        if isinstance(found, model.TextBlock):
            talk.blocks[index] = _Block(found, None)
            return
        shape = _shape(talk, index, found)
        if isinstance(found, TOOL_USES):
            yield from _start(talk)
            self.calls[found.id] = Call(found.name, talk.key, talk.owner, main=scope is None)
        elif shape.kind == "tool_result":
            self.calls.pop(_answered(found), None)
        talk.blocks[index] = _Block(found, shape.key)
        yield msgspec.structs.replace(
            shape,
            parent=talk.key if talk.started else None,
            fields=_server(found),
            subagent=talk.owner.subagent,
            detached=talk.owner.detached,
        )

    def _about(self, found: model.AnyBlock | model.Unmodelled) -> ItemFields:
        """What stands on a finished call: the command, and what the model calls it."""
        fields: ItemFields = _server(found)
        if isinstance(found, TOOL_USES) and isinstance(found.input, dict):
            command, title = found.input.get("command"), found.input.get("description")
            if found.name == "Bash" and isinstance(command, str):
                fields["command"], fields["cwd"] = command, self._directory
            if isinstance(title, str):
                fields["title"] = title
        return fields

    def changed(self, call_id: str, given: Any) -> None:
        """A person gave a call another input."""
        if call_id in self.calls:
            self.calls[call_id].input = given

    # --- Ends ---

    def finish(self, scope: str | None) -> Iterator[Step]:
        """What is said next in this scope is another message."""
        talk = self._talks.pop(scope, None)
        if talk is not None and talk.open:
            if talk.streamed:
                # One that never stopped was cut; a whole one has no stop of its own.
                talk.failed, talk.reason = True, CUT
            yield from _finish(talk)

    def turn_over(self, detached: set[str], *, completed: bool) -> Iterator[Step]:
        """The turn ends: so do its messages, but not those of subagents that run on."""
        for scope in [scope for scope in self._talks if scope not in detached]:
            talk = self._talks[scope]
            talk.failed = talk.failed or not completed
            yield from self.finish(scope)
        self.calls = {key: call for key, call in self.calls.items() if call.owner.detached}

    def clear(self) -> None:
        """The process is gone."""
        self._talks.clear()
        self.calls.clear()


def _start(talk: _Talk) -> Iterator[Step]:
    """Show the message, unless it is shown."""
    if not talk.started:
        talk.started = True
        yield StartItem(
            key=talk.key,
            kind="message",
            role="assistant",
            native_id=talk.id,
            parent=talk.scope,
            content=(Text(text=""),),
            subagent=talk.owner.subagent,
            detached=talk.owner.detached,
        )


def _grow(talk: _Talk, index: int, delta: model.AnyDelta) -> Iterator[Step]:
    block = talk.blocks.get(index)
    if block is None:
        return
    match delta:
        case model.TextDelta(text=text) | model.ThinkingDelta(thinking=text):
            yield from _add(talk, block, text)
        case model.InputDelta(partial_json=text):
            yield from _add(talk, block, text)
        case _:
            return


def _add(talk: _Talk, block: _Block, text: str) -> Iterator[Step]:
    block.chunks.append(text)
    if not text:
        return
    if block.key is None:
        yield from _start(talk)
        yield Delta(talk.key, text)
    elif isinstance(block.block, model.ThinkingBlock):
        yield Delta(block.key, text, "reasoning")
    elif isinstance(block.block, TOOL_USES):
        yield Delta(block.key, text, "arguments")


def _close(block: _Block, status: ItemStatus, fields: ItemFields | None = None) -> Iterator[Step]:
    block.ended = True
    if block.key is not None:
        yield CompleteItem(
            key=block.key, content=(_part(block),), status=status, fields=fields or {}
        )


def _part(block: _Block) -> ContentPart:
    found = block.block
    match found:
        case model.ThinkingBlock(thinking=thinking):
            return Reasoning(text=thinking or block.text)
        case model.RedactedBlock():
            return Reasoning(text="", visibility="private")
        case model.ToolUseBlock() | model.ServerToolUseBlock() | model.McpToolUseBlock():
            call = ToolCall(name=found.name, arguments=block.text, call_id=found.id)
            if found.input is None or _parsed(block.text) in (found.input, None):
                return call
            return msgspec.structs.replace(call, input=found.input)
        case _ if call_id := _answered(found):
            return ToolResult(call_id=call_id, output=_encoded(_plain(found).get("content")))
        case _:
            return Json(json=_plain(found))


def _encoded(content: Any) -> str:
    return content if isinstance(content, str) else msgspec.json.encode(content).decode()


def _finish(talk: _Talk) -> Iterator[Step]:
    talk.open = False
    for block in talk.blocks.values():
        if not block.ended and block.key is not None:
            yield from _close(block, "failed")
    if not talk.started and _is_only_thought(talk):
        return
    yield from _start(talk)
    text = "".join(_said(block) for block in talk.blocks.values() if block.key is None)
    fields: ItemFields = {}
    if talk.stop_reason:
        fields["stop_reason"] = talk.stop_reason
    if talk.reason:
        fields["reason"] = talk.reason
    yield CompleteItem(
        key=talk.key,
        content=(Text(text=text),) if text else (),
        status="failed" if talk.failed else "completed",
        fields=fields,
    )


def _is_only_thought(talk: _Talk) -> bool:
    """The message has said nothing itself, and there is nothing to say of it."""
    has_thoughts = any(block.key is not None for block in talk.blocks.values())
    return has_thoughts and not talk.failed and talk.stop_reason in _USUAL_STOPS


def _said(block: _Block) -> str:
    if block.ended and isinstance(block.block, model.TextBlock):
        return block.block.text
    return block.text


def _same(block: _Block, found: model.AnyBlock | model.Unmodelled) -> bool:
    if block.ended or type(block.block) is not type(found):
        return False
    if isinstance(found, TOOL_USES) and isinstance(block.block, TOOL_USES):
        return block.block.id == found.id
    return True


def _text_of(found: model.AnyBlock | model.Unmodelled, streamed: str) -> str:
    match found:
        case model.TextBlock(text=text) | model.ThinkingBlock(thinking=text):
            return text
        case model.ToolUseBlock() | model.ServerToolUseBlock() | model.McpToolUseBlock():
            return streamed or msgspec.json.encode(found.input or {}).decode()
        case _:
            return ""


def _shape(talk: _Talk, index: int, found: model.AnyBlock | model.Unmodelled) -> StartItem:
    """The item that a block opens, before it is known whose it is."""
    key = f"{talk.key}:{index}"
    match found:
        case model.ToolUseBlock() | model.ServerToolUseBlock() | model.McpToolUseBlock():
            call = ToolCall(name=found.name, arguments="", call_id=found.id)
            return _item(found.id, "tool_call", "assistant", found.id, call)
        case model.ThinkingBlock():
            return _item(key, "message", "assistant", talk.id, Reasoning(text=""))
        case model.RedactedBlock():
            hidden = Reasoning(text="", visibility="private")
            return _item(key, "message", "assistant", talk.id, hidden)
        case model.Unmodelled() if call_id := _answered(found):
            result = ToolResult(call_id=call_id, output="")
            return _item(f"{call_id}:result", "tool_result", "tool", talk.id, result)
        case _:
            return _item(key, "unknown", "assistant", talk.id, Json(json=_plain(found)))


def _item(key: str, kind: ItemKind, role: Role, native_id: str, part: ContentPart) -> StartItem:
    return StartItem(key=key, kind=kind, role=role, native_id=native_id, content=(part,))


def _answered(found: model.AnyBlock | model.Unmodelled) -> str:
    """The call that a result of the vendor's own tools answers; empty: it is no result."""
    block = found.json if isinstance(found, model.Unmodelled) else None
    if isinstance(block, dict) and str(block.get("type")).endswith("_tool_result"):
        return str(block.get("tool_use_id") or "")
    return ""


def _parsed(arguments: str) -> Any:
    """The arguments; None where they are broken, and no tool will be run with them."""
    try:
        return wire.decode(arguments.encode() or b"{}", _any)
    except msgspec.DecodeError:
        return None


def _plain(found: model.AnyBlock | model.Unmodelled) -> Any:
    return found.json if isinstance(found, model.Unmodelled) else msgspec.to_builtins(found)


def _server(found: model.AnyBlock | model.Unmodelled) -> ItemFields:
    """The MCP server of a tool that is called `mcp__SERVER__TOOL`."""
    if isinstance(found, TOOL_USES) and found.name.startswith("mcp__"):
        return {"server": found.name.split("__")[1]}
    return {}
