"""The model's messages as items. Amp tells each of them once, whole, and gives it no id."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dragoman.agents.amp import native
from dragoman.agents.amp.tools import Tools
from dragoman.schema.items import ContentPart, ItemKind, ItemStatus, Json, Reasoning, Status, Text
from dragoman.steps import CompleteItem, Content, ItemFields, StartItem, Step, whole

HIDDEN = "(a thought that is not shown)"


class Items:
    """Makes items, each with a key of its own."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._count = 0

    def answer(self, message: native.Message) -> Iterator[Step]:
        """A message of the model: thoughts, then the message with its texts, then its calls."""
        blocks = native.blocks_of(message)
        thoughts = [each for each in blocks if _is_thought(each)]
        for each in thoughts:
            yield from self._reasoning(each)
        if len(thoughts) == len(blocks):
            return
        key = self._key("message")
        text = "".join(each.text for each in blocks if isinstance(each, native.TextBlock))
        fields: ItemFields = {}
        if message.stop_reason is not None:
            fields["stop_reason"] = message.stop_reason
        content = (Text(text=text),) if text else ()
        yield _message_item(key, content)
        yield CompleteItem(key=key, content=content, fields=fields)
        for each in blocks:
            if isinstance(each, native.ToolUseBlock):
                yield from self._tools.call(each, key)
            elif isinstance(each, native.UnknownJson | native.ToolResultBlock):
                yield from self.unknown(each)

    def _reasoning(self, block: native.AnyBlock) -> Iterator[Step]:
        part = Reasoning(text=HIDDEN, visibility="private")
        if isinstance(block, native.ThinkingBlock):
            part = Reasoning(text=block.thinking)
        key = self._key("thought")
        yield from whole(_message_item(key, (part,)))

    def status(
        self, label: str, detail: str | None, *, status: ItemStatus = "completed"
    ) -> Iterator[Step]:
        """A status item, complete at once."""
        yield from whole(self._item("status", Status(label=label, detail=detail)), status)

    def unknown(self, block: Any) -> Iterator[Step]:
        """A block that has no struct here, or is not where it belongs, as it came."""
        value = block.json if isinstance(block, native.UnknownJson) else str(block)
        yield from whole(self._item("unknown", Json(json=value)))

    def _item(self, kind: ItemKind, part: ContentPart) -> StartItem:
        return StartItem(key=self._key("note"), kind=kind, role="system", content=(part,))

    def _key(self, kind: str) -> str:
        self._count += 1
        return f"{kind}:{self._count}"


def _message_item(key: str, content: Content) -> StartItem:
    """A message begins: Amp does not say so, and tells it only whole."""
    return StartItem(key=key, kind="message", role="assistant", content=content, source="daemon")


def _is_thought(block: native.AnyBlock) -> bool:
    return isinstance(block, native.ThinkingBlock | native.RedactedThinkingBlock)
