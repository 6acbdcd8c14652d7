"""What a thread does, as items: messages, thoughts, tools and what they gave back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from dragoman.agents.codex import native, native_items
from dragoman.agents.codex.subagents import Owner
from dragoman.agents.codex.tools import (
    called,
    ended_later,
    failed,
    left,
    printed_later,
    result,
    returned,
)
from dragoman.schema.items import Json, Reasoning, Status, Text
from dragoman.steps import CompleteItem, Content, Delta, Request, StartItem, Step, whole

_BREAK = "\n\n"
_PHASES = {"commentary": "commentary", "partial_answer": "commentary",
           "final_answer": "final_answer"}  # fmt: skip


class Work:
    """What is under way in the session's threads."""

    def __init__(self) -> None:
        self.tools: dict[str, native_items.Tool] = {}
        """Calls without a result, by the key of the call."""
        self._messages: dict[str, str] = {}
        """Messages that are being said, and in which thread."""
        self._started: set[str] = set()
        self._done: set[str] = set()
        self._parts: dict[str, int] = {}
        self._left: dict[str, native_items.CommandExecution] = {}
        """Commands that run on after their turn."""

    def forget(self) -> None:
        """The process is gone."""
        for known in (self.tools, self._messages, self._parts, self._left):
            known.clear()
        self._started.clear()
        self._done.clear()

    def turn_over(self, thread: str) -> None:
        """What of this thread has not ended is not going to, but a command may still say so."""
        begin = f"{thread}:"
        self._left.update(self._running(thread))
        for known in (self.tools, self._messages, self._parts):
            for key in [key for key in known if key.startswith(begin)]:
                del known[key]
        for seen in (self._started, self._done):
            seen -= {key for key in seen if key.startswith(begin)}

    def finish(self, owner: Owner) -> Iterator[Step]:
        """The turn was done: a message that never ended was over when the next one began."""
        for step in self.cut(owner):
            yield CompleteItem(key=step.key)

    def cut(self, owner: Owner, reason: str = "interrupted") -> Iterator[CompleteItem]:
        """Somebody said something in between: a message that was being said ends here."""
        for key in [key for key, thread in self._messages.items() if thread == owner.thread]:
            del self._messages[key]
            self._started.discard(key)
            yield CompleteItem(key=key, status="failed", fields={"reason": reason})

    def leave(self, owner: Owner) -> Iterator[Step]:
        """The turn is over, and these commands run on: that much they have printed by now."""
        for key, tool in self._running(owner.thread).items():
            self._left[key] = tool
            del self.tools[key]
            yield from left(tool, owner, begun=f"{key}:result" in self._parts)

    def stop(self, owner: Owner) -> Iterator[Step]:
        """End what the turn has started: to Codex a command outlives even a turn that is cut."""
        for tool in self._running(owner.thread).values():
            if tool.process_id is not None:
                params = {"threadId": owner.thread, "processId": tool.process_id}
                method = "thread/backgroundTerminals/terminate"
                yield Request(method=method, params=params, tag="end")

    def abandon(self, owner: Owner) -> Iterator[Step]:
        """A subagent stopped: what it has not ended is not going to."""
        yield from self.cut(owner)
        begin = f"{owner.thread}:"
        for key in [key for key in self.tools if key.startswith(begin)]:
            yield from failed(self.tools[key], owner, begun=f"{key}:result" in self._parts)
        self.turn_over(owner.thread)

    def _running(self, thread: str) -> dict[str, native_items.CommandExecution]:
        begin = f"{thread}:"
        return {
            key: tool
            for key, tool in self.tools.items()
            if key.startswith(begin) and isinstance(tool, native_items.CommandExecution)
        }

    # --- Items ---

    def said(self, item: native_items.UserMessage, owner: Owner) -> Iterable[Step]:
        """Words to the model that are not a person's."""
        about = owner.item(key=owner.key(item.id), kind="system", role="system",
                           native_id=item.id, content=(Text(text=item.text),))  # fmt: skip
        return whole(about)

    def started(self, item: native_items.AnyItem, owner: Owner) -> Iterator[Step]:
        """An item begins."""
        key = owner.key(item.id)
        if key in self._started:
            return
        self._started.add(key)
        match item:
            case native_items.AgentMessage() | native_items.Plan():
                self._messages[key] = owner.thread
                yield self._message(item, owner)
            case native_items.Reasoning():
                yield _thought(key, item.id, owner, "public")
            case native_items.Tool():
                self.tools[key] = item
                yield from called(item, owner)
            case _:
                yield _remark(item, owner)

    def completed(self, item: native_items.AnyItem, owner: Owner) -> Iterator[Step]:
        """An item is whole; it may never have begun."""
        key = owner.key(item.id)
        if self._left.pop(key, None) is not None and isinstance(
            item, native_items.CommandExecution
        ):
            yield from ended_later(item, owner)
            return
        yield from self.started(item, owner)
        self._started.discard(key)
        self._done.add(key)
        match item:
            case native_items.AgentMessage() | native_items.Plan():
                self._messages.pop(key, None)
                start = self._message(item, owner)
                yield CompleteItem(key=key, content=_said(item), fields=start.fields)
            case native_items.Reasoning():
                yield from self._thought_of(item, owner)
            case native_items.Tool():
                if self.tools.pop(key, None) is None:
                    # It began as something that was not understood.
                    yield CompleteItem(key=key)
                    yield from called(item, owner)
                yield from self._returned(item, owner)
            case _:
                yield CompleteItem(key=key, content=_remark(item, owner).content)

    def _message(
        self, item: native_items.AgentMessage | native_items.Plan, owner: Owner
    ) -> StartItem:
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

    # --- Pieces ---

    def piece(self, told: native.Piece, owner: Owner) -> Iterator[Step]:
        """The next piece of something that is under way."""
        key = owner.key(told.item_id)
        match told:
            case native.SummaryDelta(summary_index=index):
                if self._parts.setdefault(key, index) != index:
                    self._parts[key] = index
                    yield Delta(key, _BREAK, "reasoning")
                yield Delta(key, told.delta, "reasoning")
            case native.ThoughtDelta():
                yield from self._think(told, owner)
            case native.OutputDelta():
                yield from self._output(told, owner)
            case _:
                if key not in self._started and key not in self._done:
                    yield from self.started(native_items.AgentMessage(id=told.item_id), owner)
                yield Delta(key, told.delta)

    def _think(self, told: native.Piece, owner: Owner) -> Iterator[Step]:
        """Raw thoughts come beside the summary, and only where the model tells them."""
        key = f"{owner.key(told.item_id)}:raw"
        if key not in self._parts:
            self._parts[key] = 0
            yield _thought(key, told.item_id, owner, "private")
        yield Delta(key, told.delta, "reasoning")

    def _thought_of(self, item: native_items.Reasoning, owner: Owner) -> Iterator[Step]:
        key = owner.key(item.id)
        self._parts.pop(key, None)
        summary = Reasoning(text=_BREAK.join(item.summary), visibility="public")
        yield CompleteItem(key=key, content=(summary,))
        raw = f"{key}:raw"
        if item.content and raw not in self._parts:
            yield _thought(raw, item.id, owner, "private")
        if item.content or self._parts.pop(raw, None) is not None:
            text = "".join(item.content)
            yield CompleteItem(key=raw, content=(Reasoning(text=text, visibility="private"),))

    def _output(self, told: native.Piece, owner: Owner) -> Iterator[Step]:
        key = owner.key(told.item_id)
        if key in self._left:
            yield from printed_later(self._left[key], told.delta, owner)
            return
        tool = self.tools.get(key)
        output = f"{key}:result"
        if tool is not None and output not in self._parts:
            self._parts[output] = 0
            yield result(tool, owner)
        yield Delta(output, told.delta, "output")

    def _returned(self, tool: native_items.Tool, owner: Owner) -> Iterator[Step]:
        begun = self._parts.pop(f"{owner.key(tool.id)}:result", None) is not None
        return returned(tool, owner, begun=begun)


def between_turns(step: Step, owner: Owner) -> Step:
    """Ends of what a turn began; Codex says when another one begins."""
    if isinstance(step, StartItem) and owner.subagent is None:
        return msgspec.structs.replace(step, opens=False)
    return step


def _said(item: native_items.AgentMessage | native_items.Plan) -> Content:
    questions = getattr(item, "questions", None)
    more = () if not questions else (Json(json={"questions": questions}),)
    return (Text(text=item.text), *more)


def _thought(key: str, item_id: str, owner: Owner, visibility: Any) -> StartItem:
    return owner.item(
        key=key,
        kind="message",
        role="assistant",
        native_id=item_id,
        content=(Reasoning(text="", visibility=visibility),),
    )


def _remark(item: native_items.AnyItem, owner: Owner) -> StartItem:
    """What is neither said nor done by the model, but about it."""
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
            said = (text for text in texts if text and isinstance(text, str))
            parts = (Text(text="\n".join(said)),)
        case native_items.FunctionCallOutput():
            parts = (Status(label="output", detail=item.name), Json(json=item.output))
        case native_items.Unknown(json=found):
            kind, parts = "unknown", (Json(json=found),)
        case _:
            kind, parts = "unknown", (Json(json=msgspec.to_builtins(item)),)
    # The model's own ways belong to a turn, and may begin one.
    opens = None if owner.subagent else True
    role = "system" if kind != "unknown" else None
    return msgspec.structs.replace(
        owner.item(key=owner.key(item.id), kind=kind, role=role, native_id=item.id, content=parts),
        opens=opens,
    )
