"""Codex's items, and the deltas between their start and end, as items of the stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from dragoman.agents.codex import native, native_items
from dragoman.agents.codex.subagents import Owner
from dragoman.agents.codex.tools import ToolCalls
from dragoman.schema.items import Json, Reasoning, Status, Text
from dragoman.steps import CompleteItem, Content, Delta, StartItem, Step, whole

_PARAGRAPH = "\n\n"
_PHASES = {"commentary": "commentary", "partial_answer": "commentary",
           "final_answer": "final_answer"}  # fmt: skip


class ThreadItems:
    """The items under way in the session's threads."""

    def __init__(self, tools: ToolCalls) -> None:
        self._tools = tools
        self._messages: dict[str, str] = {}
        """Open messages, and the thread of each."""
        self._started: set[str] = set()
        self._completed: set[str] = set()
        self._summary_parts: dict[str, int] = {}
        """The part of a summary that streams, by the key of its item."""
        self._raw_reasoning: set[str] = set()
        """Keys of items whose raw reasoning streams."""

    # --- The end of a turn, or of more ---

    def reset(self) -> None:
        """Forget everything: the process is gone."""
        self._tools.reset()
        self._messages.clear()
        self._started.clear()
        self._completed.clear()
        self._summary_parts.clear()
        self._raw_reasoning.clear()

    def end_turn(self, thread: str) -> None:
        """Forget what a thread has not completed: it is not going to, but for its commands."""
        self._tools.end_turn(thread)
        prefix = f"{thread}:"
        for values in (self._messages, self._summary_parts):
            for key in [key for key in values if key.startswith(prefix)]:
                del values[key]
        for keys in (self._started, self._completed, self._raw_reasoning):
            keys -= {key for key in keys if key.startswith(prefix)}

    def complete_messages(self, owner: Owner) -> Iterator[Step]:
        """The turn completed: a message that never ended was over when the next one began."""
        for step in self.cut_messages(owner):
            yield CompleteItem(key=step.key)

    def cut_messages(self, owner: Owner, reason: str = "interrupted") -> Iterator[CompleteItem]:
        """End the messages that are open: somebody else speaks, or the model begins anew."""
        for key in [key for key, thread in self._messages.items() if thread == owner.thread]:
            del self._messages[key]
            self._started.discard(key)
            yield CompleteItem(key=key, status="failed", fields={"reason": reason})

    def abandon(self, owner: Owner) -> Iterator[Step]:
        """A subagent stopped: what it has not completed fails."""
        yield from self.cut_messages(owner)
        yield from self._tools.fail(owner)
        self.end_turn(owner.thread)

    # --- Whole items ---

    def system_message(self, item: native_items.UserMessage, owner: Owner) -> Iterable[Step]:
        """Input to the model that is not a person's message."""
        return whole(
            owner.item(key=owner.key(item.id), kind="system", role="system",
                       native_id=item.id, content=(Text(text=item.text),))
        )  # fmt: skip

    def start(self, item: native_items.AnyItem, owner: Owner) -> Iterator[Step]:
        """An item begins."""
        key = owner.key(item.id)
        if key in self._started:
            return
        self._started.add(key)
        match item:
            case native_items.AgentMessage() | native_items.Plan():
                self._messages[key] = owner.thread
                yield _message(item, owner)
            case native_items.Reasoning():
                yield _reasoning(key, item.id, owner, "public")
            case native_items.Tool():
                yield from self._tools.start(item, owner)
            case _:
                yield _status_item(item, owner)

    def complete(self, item: native_items.AnyItem, owner: Owner) -> Iterator[Step]:
        """An item is complete; it may never have begun."""
        if background := self._tools.complete_background(item, owner):
            yield from background
            return
        key = owner.key(item.id)
        yield from self.start(item, owner)
        self._started.discard(key)
        self._completed.add(key)
        match item:
            case native_items.AgentMessage() | native_items.Plan():
                self._messages.pop(key, None)
                fields = _message(item, owner).fields
                yield CompleteItem(key=key, content=_message_content(item), fields=fields)
            case native_items.Reasoning():
                yield from self._complete_reasoning(item, owner)
            case native_items.Tool():
                yield from self._tools.complete(item, owner)
            case _:
                yield CompleteItem(key=key, content=_status_item(item, owner).content)

    def _complete_reasoning(self, item: native_items.Reasoning, owner: Owner) -> Iterator[Step]:
        key = owner.key(item.id)
        self._summary_parts.pop(key, None)
        summary = Reasoning(text=_PARAGRAPH.join(item.summary), visibility="public")
        yield CompleteItem(key=key, content=(summary,))
        if item.content:
            if key not in self._raw_reasoning:
                yield _reasoning(_raw_key(key), item.id, owner, "private")
            yield _raw_reasoning_end(key, "".join(item.content))
        elif key in self._raw_reasoning:
            self._raw_reasoning.discard(key)
            yield _raw_reasoning_end(key, "")

    # --- Deltas ---

    def delta(self, delta: native.ItemDelta, owner: Owner) -> Iterator[Step]:
        """The next piece of an item that is under way."""
        key = owner.key(delta.item_id)
        match delta:
            case native.SummaryDelta(summary_index=index):
                if self._summary_parts.setdefault(key, index) != index:
                    self._summary_parts[key] = index
                    yield Delta(key, _PARAGRAPH, "reasoning")
                yield Delta(key, delta.delta, "reasoning")
            case native.ReasoningDelta():
                yield from self._raw_reasoning_delta(delta, owner)
            case native.OutputDelta():
                yield from self._tools.output(delta, owner)
            case _:
                if key not in self._started and key not in self._completed:
                    yield from self.start(native_items.AgentMessage(id=delta.item_id), owner)
                yield Delta(key, delta.delta)

    def _raw_reasoning_delta(self, delta: native.ItemDelta, owner: Owner) -> Iterator[Step]:
        """Raw reasoning comes beside the summary, and only where the model gives it."""
        key = owner.key(delta.item_id)
        if key not in self._raw_reasoning:
            self._raw_reasoning.add(key)
            yield _reasoning(_raw_key(key), delta.item_id, owner, "private")
        yield Delta(_raw_key(key), delta.delta, "reasoning")


def _raw_key(key: str) -> str:
    return f"{key}:raw"


def between_turns(step: Step, owner: Owner) -> Step:
    """The end of what a turn began opens no turn: Codex says when the next one begins."""
    if isinstance(step, StartItem) and owner.subagent is None:
        return msgspec.structs.replace(step, opens=False)
    return step


def _message(item: native_items.AgentMessage | native_items.Plan, owner: Owner) -> StartItem:
    phase = "plan" if isinstance(item, native_items.Plan) else _PHASES.get(item.phase or "")
    fields: Any = {} if phase is None else {"phase": phase}
    return owner.item(
        key=owner.key(item.id),
        kind="message",
        role="assistant",
        native_id=item.id,
        content=(Text(text=""),),
        fields=fields,
    )


def _message_content(item: native_items.AgentMessage | native_items.Plan) -> Content:
    questions = getattr(item, "questions", None)
    more = () if not questions else (Json(json={"questions": questions}),)
    return (Text(text=item.text), *more)


def _reasoning(key: str, item_id: str, owner: Owner, visibility: Any) -> StartItem:
    return owner.item(
        key=key,
        kind="message",
        role="assistant",
        native_id=item_id,
        content=(Reasoning(text="", visibility=visibility),),
    )


def _raw_reasoning_end(key: str, text: str) -> CompleteItem:
    parts = (Reasoning(text=text, visibility="private"),)
    return CompleteItem(key=_raw_key(key), content=parts)


def _status_item(item: native_items.AnyItem, owner: Owner) -> StartItem:
    """An item that is neither a message nor a tool call of the model."""
    kind: Any = "status"
    parts: Content
    match item:
        case native_items.ContextCompaction():
            parts = (Status(label="compacting"),)
        case native_items.EnteredReviewMode(review=review):
            parts = (Status(label="review.entered", detail=review),)
        case native_items.ExitedReviewMode(review=review):
            parts = (Status(label="review.exited", detail=review),)
        case native_items.Sleep(duration_ms=duration):
            parts = (Status(label="sleep", detail=f"{duration / 1000:g} s"),)
        case native_items.SubAgentActivity():
            parts = (Status(label=f"subagent.{item.kind}", detail=item.agent_path),)
        case native_items.HookPrompt(fragments=fragments):
            kind = "system"
            texts = (part.get("text") for part in fragments if isinstance(part, dict))
            lines = (text for text in texts if text and isinstance(text, str))
            parts = (Text(text="\n".join(lines)),)
        case native_items.FunctionCallOutput():
            parts = (Status(label="output", detail=item.name), Json(json=item.output))
        case native_items.UnknownItem(json=json):
            kind, parts = "unknown", (Json(json=json),)
        case _:
            kind, parts = "unknown", (Json(json=msgspec.to_builtins(item)),)
    # What the model does itself belongs to a turn, and may begin one.
    opens = None if owner.subagent else True
    role = "system" if kind != "unknown" else None
    return msgspec.structs.replace(
        owner.item(key=owner.key(item.id), kind=kind, role=role, native_id=item.id, content=parts),
        opens=opens,
    )
