"""The model's messages as items, as they stream, and native content as parts.

Pi gives its messages no ids (seen in 1.5.0), so each has a number of ours as its key.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import msgspec
from msgspec import Raw, Struct

from dragoman.agents.pi import native
from dragoman.agents.pi.tools import PendingCall, call_fields
from dragoman.schema.items import ContentPart, ItemStatus, Json, Reasoning, Text, ToolCall
from dragoman.steps import Blob, CompleteItem, Content, Delta, ItemFields, StartItem, Step
from dragoman.wire import decode as wire

RETRACTED, CUT_OFF, INTERRUPTED = "retracted", "cut_off", "interrupted"
_any = msgspec.json.Decoder()


class _Block(Struct):
    kind: str
    """`text`, `thinking` or `toolcall`."""
    key: str | None
    """Of its item; None: it is a text, and a part of the message itself."""
    call: native.ToolCallBlock | None = None
    chunks: list[str] = []
    is_complete: bool = False

    @property
    def text(self) -> str:
        return "".join(self.chunks)


class _Message(Struct):
    key: str
    blocks: dict[int, _Block] = {}
    is_started: bool = False
    """Its item has started, with its first text or tool; thoughts may come before it."""
    end: native.Message | None = None
    """It is complete, but whether it counts is not known yet."""


class Messages:
    """The message that streams, and the calls that have no result yet."""

    def __init__(self, directory: str) -> None:
        self.calls: dict[str, PendingCall] = {}
        self._directory = directory
        self._count = 0
        self._message: _Message | None = None

    def begin(self) -> Iterator[Step]:
        """A message of the model begins."""
        yield from self.resolve(CUT_OFF)
        self._count += 1
        self._message = _Message(f"message:{self._count}")

    def stream(self, piece: native.StreamPiece) -> Iterator[Step]:
        """The next change of the message."""
        kind, _, change = piece.type.rpartition("_")
        message = self._message
        if kind not in ("text", "thinking", "toolcall"):
            return
        if message is None or message.end is not None:
            yield from self.begin()  # its start was lost
            message = self._message
            assert message is not None
        block = message.blocks.get(piece.content_index)
        if block is None:
            call = _call_of(piece, kind)
            if kind == "toolcall" and call is None:
                return  # what it is about comes with its end
            block = yield from self._open(message, piece.content_index, kind, call)
        if change == "delta":
            yield from _grow(message, block, piece.delta)
        elif change == "end":
            yield from self._end(message, block, piece)

    def _open(
        self, message: _Message, index: int, kind: str, call: native.ToolCallBlock | None
    ) -> Generator[Step, None, _Block]:
        """A block begins; a text is a part of its message, all else is an item of its own."""
        key = None if kind == "text" else f"{message.key}:{index}" if call is None else call.id
        block = message.blocks[index] = _Block(kind, key, call)
        if key is None:
            return block
        part: ContentPart = Reasoning(text="")
        if call is not None:
            yield from _start(message)
            self.calls[call.id] = PendingCall(call.name, message.key)
            part = ToolCall(name=call.name, arguments="", call_id=call.id)
        yield StartItem(
            key=key,
            kind="message" if call is None else "tool_call",
            role="assistant",
            native_id=None if call is None else call.id,
            parent=message.key if message.is_started else None,
            content=(part,),
        )
        return block

    def _end(self, message: _Message, block: _Block, piece: native.StreamPiece) -> Iterator[Step]:
        if piece.tool_call is not None:
            yield from self._whole_call(message, block, piece.tool_call)
            return
        if piece.content is not None:
            yield from _catch_up(message, block, piece.content)
        yield from _close(block)

    def _whole_call(
        self, message: _Message, block: _Block, call: native.ToolCallBlock
    ) -> Iterator[Step]:
        if block.is_complete:
            return
        if not block.chunks:
            yield from _grow(message, block, msgspec.json.encode(call.arguments or {}).decode())
        block.call = call
        if call.id in self.calls:
            self.calls[call.id].input = call.arguments
        yield from _close(block, fields=call_fields(call.name, call.arguments, self._directory))

    def finish(self, end: native.Message) -> Iterator[Step]:
        """The message is complete, and holds what Pi says at its end. One that failed may be said
        anew: that is known a moment later (`resolve`)."""
        if self._message is None or self._message.end is not None:
            yield from self.begin()
        message = self._message
        assert message is not None
        for index, block in enumerate(native.blocks_of(end.content)):
            yield from self._whole_block(message, index, block)
        message.end = end
        if end.stop_reason != "error":
            yield from self.resolve(INTERRUPTED if end.stop_reason == "aborted" else None)

    def _whole_block(self, message: _Message, index: int, whole: native.AnyBlock) -> Iterator[Step]:
        block = message.blocks.get(index)
        match whole:
            case native.TextBlock(text=text):
                if block is None:
                    block = yield from self._open(message, index, "text", None)
                yield from _catch_up(message, block, text)
            case native.ThinkingBlock(thinking=text):
                if block is None:
                    block = yield from self._open(message, index, "thinking", None)
                yield from _catch_up(message, block, text)
                yield from _close(block, is_private=bool(whole.redacted))
            case native.ToolCallBlock():
                if block is None:
                    block = yield from self._open(message, index, "toolcall", whole)
                yield from self._whole_call(message, block, whole)
            case native.ImageBlock() | native.UnknownJson():
                key = f"{message.key}:{index}"
                parts = parts_of((whole,))
                yield StartItem(key=key, kind="unknown", role="assistant", content=parts)
                yield CompleteItem(key=key, content=parts)

    def resolve(self, reason: str | None) -> Iterator[Step]:
        """Complete the message; a reason says why it does not count, or not all of it."""
        message, self._message = self._message, None
        if message is None:
            return
        for block in message.blocks.values():
            if not block.is_complete and block.key is not None:
                yield from _close(block, status="failed", fields=_reason(reason))
                self.calls.pop(block.key, None)
        if not message.is_started:
            return
        text = "".join(each.text for each in message.blocks.values() if each.key is None)
        fields = _reason(reason)
        stop_reason = None if message.end is None else message.end.stop_reason
        if stop_reason is not None and reason is None:
            fields["stop_reason"] = stop_reason
        if message.end is not None and message.end.duration_ms is not None:
            fields["duration_ms"] = message.end.duration_ms
        yield CompleteItem(
            key=message.key,
            content=(Text(text=text),) if text else (),
            status="completed" if reason is None else "failed",
            fields=fields,
        )

    def clear(self) -> None:
        """The process is gone."""
        self._message = None
        self.calls.clear()


# --- The steps of a message ---


def _start(message: _Message) -> Iterator[Step]:
    if not message.is_started:
        message.is_started = True
        yield StartItem(key=message.key, kind="message", role="assistant", content=(Text(text=""),))


def _grow(message: _Message, block: _Block, text: str) -> Iterator[Step]:
    if not text or block.is_complete:
        return
    block.chunks.append(text)
    if block.key is None:
        yield from _start(message)
        yield Delta(message.key, text)
    else:
        yield Delta(block.key, text, "reasoning" if block.kind == "thinking" else "arguments")


def _catch_up(message: _Message, block: _Block, whole: str) -> Iterator[Step]:
    """Add what was not streamed; where the two differ, the whole is what counts."""
    if whole.startswith(block.text):
        yield from _grow(message, block, whole[len(block.text) :])
    elif not block.is_complete:
        block.chunks[:] = [whole]


def _close(
    block: _Block,
    *,
    status: ItemStatus = "completed",
    fields: ItemFields | None = None,
    is_private: bool = False,
) -> Iterator[Step]:
    if block.is_complete or block.key is None:
        return
    block.is_complete = True
    if block.call is None:
        part: ContentPart = Reasoning(
            text=block.text, visibility="private" if is_private else "public"
        )
    else:
        call, given = block.call, block.call.arguments
        part = ToolCall(name=call.name, arguments=block.text, call_id=call.id)
        if given is not None and _decode(block.text) not in (given, None):
            part = msgspec.structs.replace(part, input=given)
    yield CompleteItem(key=block.key, content=(part,), status=status, fields=fields or {})


def _call_of(piece: native.StreamPiece, kind: str) -> native.ToolCallBlock | None:
    """The call that begins, or ends without having begun."""
    if kind != "toolcall":
        return None
    if piece.tool_call is not None:
        return piece.tool_call
    if piece.id:
        return native.ToolCallBlock(id=piece.id, name=piece.tool_name or "unknown")
    call = native.call_in(piece.partial, piece.content_index)
    return None if call is None or not call.id else msgspec.structs.replace(call, arguments=None)


def _reason(reason: str | None) -> ItemFields:
    return {} if reason is None else {"reason": reason}


def _decode(text: str) -> Any:
    try:
        return wire.decode(text.encode(), _any)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None


# --- Content as parts ---


def parts_of(content: tuple[Raw | native.AnyBlock, ...]) -> Content:
    """Native content as parts: texts, images, and what is not known as it came."""
    blocks = [native.decode_block(each) if isinstance(each, Raw) else each for each in content]
    return tuple(_part(block) for block in blocks)


def _part(block: native.AnyBlock) -> ContentPart | Blob:
    match block:
        case native.TextBlock(text=text):
            return Text(text=text)
        case native.ImageBlock(data=data, mime_type=mime):
            return Blob(data=data, mime=mime)
        case native.ThinkingBlock(thinking=text):
            return Reasoning(text=text)
        case native.ToolCallBlock():
            return Json(json=msgspec.to_builtins(block))
        case native.UnknownJson(json=value):
            return Json(json=value)
