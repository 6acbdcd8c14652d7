"""The open items of a session, and the rules of each.

Every delta has an open item · deltas add up to the completed text · kind, role, parent and
native id never change · a tool call belongs to a message · a tool result has its call, completed,
and a call has one result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from dragoman.core import content_shape
from dragoman.core.last_message import Speech
from dragoman.schema.events import Body, ItemCompleted, ItemDelta, ItemStarted, Source
from dragoman.schema.items import (
    DeltaType,
    Item,
    ItemKind,
    ItemStatus,
    Role,
    ToolCall,
    ToolResult,
)
from dragoman.wire import decode as wire

_any = msgspec.json.Decoder()
MAX_TEXT = 4 << 20
"""A message longer than this goes on in a next item: no event, and no memory, without bound."""
MAX_PREVIEW = 1 << 20
"""How much of a streamed output is remembered: its completion brings the whole."""

NewId = Callable[[str], str]
Emit = Callable[[Body, Source], None]
Fields = dict[str, Any]


class OpenItem(Struct, kw_only=True):
    """An item that has started."""

    key: str
    id: str
    native_id: str | None
    parent_id: str | None
    kind: ItemKind
    role: Role | None
    parts: content_shape.Parts
    fields: Fields
    detached: bool
    stream: DeltaType | None = None
    chunks: list[str] = []
    size: int = 0
    before: int = 0
    """How much of the text stands in earlier items that this one continues."""

    @property
    def text(self) -> str:
        """What was streamed."""
        if len(self.chunks) > 1:
            self.chunks = ["".join(self.chunks)]
        return self.chunks[0] if self.chunks else ""

    def take(self, text: str) -> None:
        """Remember what was streamed."""
        if self.stream != "output" or self.size < MAX_PREVIEW:
            self.chunks.append(text)
        self.size += len(text)

    def snapshot(self, parts: content_shape.Parts, status: ItemStatus, fields: Fields) -> Item:
        """The item as it is shown."""
        return Item(
            item_id=self.id,
            native_item_id=self.native_id,
            parent_id=self.parent_id,
            kind=self.kind,
            role=self.role,
            content=parts,
            status=status,
            **{**self.fields, **fields},
        )


class OpenCall(Struct, kw_only=True):
    """A tool call that has no result yet."""

    call_id: str
    parent_id: str | None
    fields: Fields
    detached: bool


class Items:
    """What is open, by the agent's keys, and the keys of what was: of this turn and the last."""

    def __init__(self, new_id: NewId, emit: Emit) -> None:
        self.open: dict[str, OpenItem] = {}
        self.calls: dict[str, OpenCall] = {}
        self._new_id = new_id
        self._emit = emit
        self._ids: dict[str, str] = {}
        self._older_ids: dict[str, str] = {}
        self._call_ids: set[str] = set()
        self._older_call_ids: set[str] = set()
        self._speech = Speech()

    @property
    def empty(self) -> bool:
        """Nothing is open."""
        return not (self.open or self.calls)

    def id_of(self, key: str | None) -> str | None:
        """Our id of the item that the agent calls `key`."""
        return None if key is None else self._ids.get(key) or self._older_ids.get(key)

    def name(self, key: str, item_id: str) -> None:
        """What comes under this key is about that item, unless it has one of its own."""
        self._ids.setdefault(key, item_id)

    def knows(self, key: str) -> bool:
        """An item of this key was there, in this turn or the one before."""
        return key in self._ids or key in self._older_ids

    def start(self, item: OpenItem, source: Source) -> OpenItem:
        """Open an item; its parts say what it is, and what streams is still empty in them."""
        item.stream = content_shape.stream_of(item.kind, item.parts)
        item.parts = content_shape.fit(item.kind, item.stream, item.key, item.parts)
        call_id = content_shape.call_id_of(item.parts)
        who = item.fields.get("subagent_id")
        if item.kind == "message" and item.stream == "text":
            self._speech.note_message(item.id, who)
        elif item.kind == "tool_call":
            item.parent_id = self._speech.parent_of_call(item.parent_id, who)
            if self._awaits(call_id) or self._open_tool("tool_result", call_id):
                item.parts = _about_call(item.parts, self._new_id("call"))
            self._call_ids.add(content_shape.call_id_of(item.parts))
        elif item.kind == "tool_result":
            self._start_result(item, call_id)
        self.open[item.key] = item
        self._ids[item.key] = item.id
        empty = content_shape.with_streamed(item.stream, item.parts, "")
        self._emit(ItemStarted(item=item.snapshot(empty, "in_progress", {})), source)
        return item

    def answered(self, call_id: str) -> bool:
        """The call has, or is getting, its one result."""
        known = call_id in self._call_ids or call_id in self._older_call_ids
        return known and not self._awaits(call_id)

    def _awaits(self, call_id: str) -> bool:
        return call_id in self.calls or self._open_tool("tool_call", call_id) is not None

    def _open_tool(self, kind: ItemKind, call_id: str) -> OpenItem | None:
        for item in self.open.values():
            if item.kind == kind and content_shape.call_id_of(item.parts) == call_id:
                return item
        return None

    def _start_result(self, result: OpenItem, call_id: str) -> None:
        """A result needs its call, completed."""
        call = self._open_tool("tool_call", call_id)
        if call is not None:
            self.finish(call, None, "completed", {}, "daemon")
        elif call_id not in self.calls:
            stub = (ToolCall(name="unknown", arguments="", call_id=call_id),)
            fields = {k: v for k, v in result.fields.items() if k == "subagent_id"}
            call = self.start(
                OpenItem(
                    key=f"call:{call_id}:{result.key}", id=self._new_id("itm"), native_id=None,
                    parent_id=result.parent_id, kind="tool_call", role="assistant", parts=stub,
                    fields=fields, detached=result.detached,
                ),
                "daemon",
            )  # fmt: skip
            self.finish(call, None, "completed", {}, "daemon")
        waiting = self.calls.pop(call_id)
        result.parent_id = waiting.parent_id
        result.detached = result.detached and waiting.detached

    def stream(self, item: OpenItem, text: str, source: Source) -> None:
        """Add to an item; a text without bound goes on in a next one."""
        too_long = item.size + len(text) > MAX_TEXT and item.size > 0
        if too_long and item.stream in ("text", "reasoning") and item.role != "user":
            item = self._continue(item)
        item.take(text)
        self._emit(
            ItemDelta(
                item_id=item.id,
                native_item_id=item.native_id,
                delta=text,
                content_type=item.stream or "text",
            ),
            source,
        )

    def _continue(self, item: OpenItem) -> OpenItem:
        self.finish(item, None, "completed", {"reason": "continued"}, "daemon")
        following = self._again(item, item.parts)
        following.before = item.before + item.size
        return following

    def _again(self, item: OpenItem, parts: content_shape.Parts) -> OpenItem:
        return self.start(
            msgspec.structs.replace(
                item, id=self._new_id("itm"), parts=parts, chunks=[], size=0, before=0
            ),
            "daemon",
        )

    def finish(
        self,
        item: OpenItem,
        parts: content_shape.Parts | None,
        status: ItemStatus,
        fields: Fields,
        source: Source,
    ) -> None:
        """Complete an item so that its deltas add up to what it says; None: what was streamed."""
        if parts is None:
            final = content_shape.with_streamed(item.stream, item.parts, item.text)
            return self._close(item, final, status, fields, source)
        given = content_shape.fit(item.kind, item.stream, item.key, parts)
        if item.kind in ("tool_call", "tool_result"):
            given = _about_call(given, content_shape.call_id_of(item.parts))
        said, whole = item.text, content_shape.streamed(given)[item.before :]
        if item.stream is None:
            final = given
        elif item.stream == "output":
            final = given if whole else content_shape.with_streamed("output", given, said)
        elif status == "failed" and not whole.startswith(said):
            final = content_shape.with_streamed(item.stream, given, said)
        elif whole.startswith(said):
            if rest := whole[len(said) :]:
                self.stream(item, rest, "daemon")
                item = self.open[item.key]
            final = content_shape.with_streamed(item.stream, given, item.text)
        elif item.kind == "tool_call":
            final = _with_input(content_shape.with_streamed("arguments", given, said), whole)
        else:
            return self._retract(item, given, status, fields, source)
        return self._close(item, final, status, fields, source)

    def _retract(
        self,
        item: OpenItem,
        parts: content_shape.Parts,
        status: ItemStatus,
        fields: Fields,
        source: Source,
    ) -> None:
        """What was streamed is not what was said: that item failed, and this is the next try."""
        taken_back = content_shape.with_streamed(item.stream, item.parts, item.text)
        self._close(item, taken_back, "failed", {"reason": "retracted"}, "daemon")
        self.finish(self._again(item, parts), parts, status, fields, source)

    def _close(
        self,
        item: OpenItem,
        parts: content_shape.Parts,
        status: ItemStatus,
        fields: Fields,
        source: Source,
    ) -> None:
        del self.open[item.key]
        if item.kind == "tool_call":
            self._wait_for_result(item)
        self._emit(ItemCompleted(item=item.snapshot(parts, status, fields)), source)

    def _wait_for_result(self, item: OpenItem) -> None:
        call_id = content_shape.call_id_of(item.parts)
        self._call_ids.add(call_id)
        self.calls[call_id] = OpenCall(
            call_id=call_id,
            parent_id=item.parent_id,
            fields={k: v for k, v in item.fields.items() if k == "subagent_id"},
            detached=item.detached,
        )

    def close_all(self, reason: str, *, everything: bool) -> None:
        """Fail what is open, children before parents; a call without a result gets a failed one."""
        for item in self._closing(everything):
            self.finish(item, None, "failed", {"reason": reason}, "daemon")
        for call in list(self.calls.values()):
            if everything or not call.detached:
                self._fail_call(call, reason)

    def _closing(self, everything: bool) -> Iterator[OpenItem]:
        for item in reversed(list(self.open.values())):
            if everything or not item.detached:
                yield item

    def _fail_call(self, call: OpenCall, reason: str) -> None:
        result = OpenItem(
            key=f"result:{call.call_id}", id=self._new_id("itm"), native_id=None,
            parent_id=call.parent_id, kind="tool_result", role="tool",
            parts=(ToolResult(call_id=call.call_id, output=""),), fields=dict(call.fields),
            detached=call.detached,
        )  # fmt: skip
        self.finish(self.start(result, "daemon"), None, "failed", {"reason": reason}, "daemon")

    def turn_over(self) -> None:
        """Forget the keys of the turn before the one that ends: memory stays bounded."""
        known = {**self._older_ids, **self._ids}
        self._older_ids, self._older_call_ids = self._ids, self._call_ids
        # A subagent that runs on names the call that started it, however old that is.
        parents = {item.parent_id for item in self.open.values()}
        self._ids = {key: item_id for key, item_id in known.items() if item_id in parents}
        self._ids.update((key, item.id) for key, item in self.open.items())
        self._call_ids = set(self.calls)
        self._call_ids.update(content_shape.call_id_of(item.parts) for item in self.open.values())
        running = {item.fields.get("subagent_id") for item in self.open.values() if item.detached}
        self._speech.turn_over(running)

    # --- From the log, after a restart: the agent's keys are gone, our ids stand in for them ---

    def restore_started(self, item: Item) -> None:
        """An item was open."""
        fields = {
            name: getattr(item, name)
            for name in ("subagent_id", "message_id")
            if getattr(item, name) is not msgspec.UNSET
        }
        parts = item.content
        self.open[item.item_id] = OpenItem(
            key=item.item_id, id=item.item_id, native_id=item.native_item_id,
            parent_id=item.parent_id, kind=item.kind, role=item.role, parts=parts, fields=fields,
            detached="subagent_id" in fields, stream=content_shape.stream_of(item.kind, parts),
        )  # fmt: skip
        if item.kind == "tool_result":
            self.calls.pop(content_shape.call_id_of(parts), None)

    def restore_delta(self, delta: ItemDelta) -> None:
        """An item had grown."""
        if item := self.open.get(delta.item_id):
            item.take(delta.delta)

    def restore_completed(self, item: Item) -> None:
        """An item was complete."""
        closed = self.open.pop(item.item_id, None)
        if closed is not None and closed.kind == "tool_call":
            self._wait_for_result(closed)


def _about_call(parts: content_shape.Parts, call_id: str) -> content_shape.Parts:
    return tuple(
        msgspec.structs.replace(part, call_id=call_id)
        if isinstance(part, ToolCall | ToolResult)
        else part
        for part in parts
    )


def _with_input(parts: content_shape.Parts, whole: str) -> content_shape.Parts:
    """Keep the agent's own parsed input where it differs from what it streamed."""
    try:
        parsed = wire.decode(whole.encode(), _any)
    except msgspec.DecodeError:
        parsed = whole
    return tuple(
        msgspec.structs.replace(part, input=parsed) if isinstance(part, ToolCall) else part
        for part in parts
    )
