"""Items of the universal stream as AG-UI's messages, thoughts, calls, results and subagents."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct

from dragoman.agui.events import ActivitySnapshot, Custom, TextRole, ToolCallResult
from dragoman.agui.frames import FrameWriter, facts_of
from dragoman.agui.plans import is_plan, plan_content
from dragoman.agui.run import OpenRun, Owner
from dragoman.agui.subagents import SubagentDirectory, subagent_key
from dragoman.schema.events import ItemDelta
from dragoman.schema.items import (
    ContentPart,
    Image,
    Item,
    Reasoning,
    Status,
    Text,
    ToolCall,
    ToolResult,
)

_Shape = Literal["text", "thought", "call", "result", "subagent", "plan", "custom", "silent"]

INTERRUPTED = '{"status":"interrupted"}'
"""The result of a call that never had one."""
_FAILED = {"state": "output-error"}


class _OpenItem(Struct):
    item: Item
    shape: _Shape
    call_id: str = ""
    length: int = 0
    """So much of it was said."""


class ItemTranslator:
    """The items of a session, over all its runs."""

    def __init__(
        self, writer: FrameWriter, *, groups_messages: bool, own_message_id: str | None
    ) -> None:
        self._writer = writer
        self._groups_messages = groups_messages
        self._own_message_id = own_message_id
        self._open: dict[str, _OpenItem] = {}
        self._subagents = SubagentDirectory()
        self._speakers: dict[str, str | None] = {}
        """The agent's messages, and the subagents that they are of."""
        self._unanswered: dict[str, str | None] = {}
        """Calls without a result, and the subagents that they are of."""
        self._answered: set[str] = set()
        self._step_count: dict[Owner, int] = {}
        self._step_has_message: dict[Owner, bool] = {}

    # --- Questions that a run has ---

    def owner(self, run: OpenRun, subagent_id: str | None) -> Owner:
        """The run of a subagent, which is shown before anything of it is."""
        return self._subagents.show(run, subagent_id)

    def is_of_subagent(self, item_id: str) -> bool:
        """Whether an open item is a subagent's."""
        opened = self._open.get(item_id)
        return opened is not None and subagent_key(opened.item) is not None

    @property
    def has_subagents(self) -> bool:
        """Whether a subagent is at work."""
        return self._subagents.are_running

    # --- Items ---

    def start(self, run: OpenRun, item: Item) -> None:
        """An item opens."""
        opened = _OpenItem(item, self._shape(item))
        self._open[item.item_id] = opened
        match opened.shape:
            case "subagent":
                self._subagents.start(run, item)
            case "call":
                self._start_call(run, opened)
            case "custom":
                self._custom(run, item)
            case "thought":
                owner = self._owner_of(run, item)
                self._step(run, owner, item, is_message=False)
                run.reason(item, owner, "")
            case "text" if item.role == "assistant":
                self._speakers[item.item_id] = subagent_key(item)
                self._step(run, self._owner_of(run, item), item, is_message=True)
            case _:
                pass

    def delta(self, run: OpenRun, body: ItemDelta) -> None:
        """The next piece of an item."""
        opened = self._open.get(body.item_id)
        if opened is None:
            value = {"itemId": body.item_id, "delta": body.delta, "contentType": body.content_type}
            self._writer.say(Custom, name="dragoman.item.delta", value=value)
        elif opened.shape == "result":
            self._output(run, opened, body.delta)
        else:
            self._append(run, opened, body.delta)

    def complete(self, run: OpenRun, item: Item) -> None:
        """An item is final."""
        if item.item_id not in self._open:
            self.start(run, item)
        opened = self._open.pop(item.item_id)
        match opened.shape:
            case "text":
                self._end_text(run, opened, item)
            case "thought":
                text = "".join(p.text for p in item.content if isinstance(p, Reasoning))
                self._append(run, opened, text[opened.length :])
                visibility = [p.visibility for p in item.content if isinstance(p, Reasoning)]
                run.end_reasoning(item, {**facts_of(item), "visibility": "".join(visibility[:1])})
            case "call":
                self._end_call(run, opened, item)
            case "result":
                self._result(run, item)
            case "plan":
                self._plan(run, item)
            case "subagent":
                self._subagents.end(run, item)
            case "custom":
                self._custom(run, item)
            case "silent":
                pass
        self._rest(run, opened.shape, item)

    # --- Turns ---

    def start_turn(self) -> None:
        """A turn begins: its steps are counted anew."""
        self._step_count.clear()

    def end_turn(self, run: OpenRun, *, all_of_it: bool) -> None:
        """Give every call its one result; those of subagents may outlive the turn."""
        for call_id, key in tuple(self._unanswered.items()):
            if all_of_it or key is None:
                del self._unanswered[call_id]
                self._answered.add(call_id)
                self._writer.say(
                    ToolCallResult, tanstack=_FAILED, about={"reason": "interrupted"},
                    message_id=f"{call_id}.result", tool_call_id=call_id, content=INTERRUPTED,
                    role="tool", subagent_run_id=self.owner(run, key),
                )  # fmt: skip
        self._speakers = {k: who for k, who in self._speakers.items() if who is not None}
        if all_of_it:
            self._open.clear()

    # --- Their shapes ---

    def _shape(self, item: Item) -> _Shape:
        match item.kind:
            case "message" if any(isinstance(part, Reasoning) for part in item.content):
                return "thought"
            case "message" if item.message_id and item.message_id == self._own_message_id:
                return "silent"
            case "message" | "system":
                return "text"
            case "tool_call":
                return "call"
            case "tool_result":
                return "result"
            case "status" if any(
                isinstance(part, Status) and part.label == "subagent" for part in item.content
            ):
                return "subagent"
            case "status" if is_plan(item):
                return "plan"
            case _:
                return "custom"

    def _owner_of(self, run: OpenRun, item: Item) -> Owner:
        return self.owner(run, subagent_key(item))

    def _append(self, run: OpenRun, opened: _OpenItem, delta: str) -> None:
        """Say what is new, opening anew in this run what was opened in an earlier one."""
        if not delta:
            return
        opened.length += len(delta)
        item = opened.item
        match opened.shape:
            case "text":
                run.text(item, _role(item), self._owner_of(run, item), delta)
            case "thought":
                run.reason(item, self._owner_of(run, item), delta)
            case "call":
                self._arguments(run, opened, delta)
            case "silent":
                pass
            case _:
                value = {"itemId": item.item_id, "delta": delta}
                self._writer.say(Custom, item=item, name="dragoman.item.delta", value=value)

    def _end_text(self, run: OpenRun, opened: _OpenItem, item: Item) -> None:
        text = "".join(part.text for part in item.content if isinstance(part, Text))
        self._append(run, opened, text[opened.length :])
        if item.role == "user" and not text:
            run.text(item, "user", self._owner_of(run, item), "")
        run.end_text(item, facts_of(item))
        if item.reason == "retracted":
            self._writer.history.discard(item.item_id)

    # --- Steps ---

    def _step(self, run: OpenRun, owner: Owner, item: Item, *, is_message: bool) -> None:
        """One step for each message of the model, and the thoughts that belong to it."""
        if not self._groups_messages:
            return
        has_message = self._step_has_message.get(owner, False)
        is_open = run.has_step(owner)
        if is_open and (not has_message or (not is_message and item.parent_id is not None)):
            self._step_has_message[owner] = has_message or is_message
            return
        self._step_count[owner] = self._step_count.get(owner, 0) + 1
        self._step_has_message[owner] = is_message
        run.step(owner, f"step {self._step_count[owner]}")

    # --- Tools ---

    def _start_call(self, run: OpenRun, opened: _OpenItem) -> None:
        item, part = opened.item, _call_part(opened.item)
        opened.call_id = part.call_id or item.item_id
        self._subagents.note_call(item, opened.call_id)
        self._unanswered[opened.call_id] = subagent_key(item)
        self._answered.discard(opened.call_id)
        self._arguments(run, opened, "")

    def _arguments(self, run: OpenRun, opened: _OpenItem, delta: str) -> None:
        item = opened.item
        # A call stands in the message that made it, if that is of the same speaker.
        speaker = self._speakers.get(item.parent_id or "", UNSET)
        parent = item.parent_id if speaker == subagent_key(item) else None
        name = _call_part(item).name or "tool"
        run.call(item, opened.call_id, name, parent, self._owner_of(run, item), delta)

    def _end_call(self, run: OpenRun, opened: _OpenItem, item: Item) -> None:
        self._append(run, opened, _call_part(item).arguments[opened.length :])
        about = facts_of(item)
        if (given := _call_part(item).input) is not UNSET:
            about["input"] = given
        run.end_call(item, opened.call_id, about)

    def _output(self, run: OpenRun, opened: _OpenItem, delta: str) -> None:
        value = {"toolCallId": _result_part(opened.item).call_id, "delta": delta}
        self._writer.say(
            Custom, item=opened.item, name="dragoman.tool.output", value=value,
            subagent_run_id=self._owner_of(run, opened.item),
        )  # fmt: skip

    def _result(self, run: OpenRun, item: Item) -> None:
        part = _result_part(item)
        if part.call_id in self._answered:
            return self._custom(run, item)
        self._answered.add(part.call_id)
        owner = self.owner(run, self._unanswered.pop(part.call_id, subagent_key(item)))
        run.end_call(item, part.call_id, {})
        about = facts_of(item)
        if part.stderr is not UNSET:
            about["stderr"] = part.stderr
        return self._writer.say(
            ToolCallResult, item=item, about=about,
            tanstack=_FAILED if item.status == "failed" else None,
            message_id=item.item_id, tool_call_id=part.call_id, content=part.output, role="tool",
            subagent_run_id=owner,
        )  # fmt: skip

    # --- What AG-UI has other words for, or none ---

    def _plan(self, run: OpenRun, item: Item) -> None:
        owner = self._owner_of(run, item)
        self._writer.say(
            ActivitySnapshot, item=item, subagent_run_id=owner, activity_type="PLAN",
            message_id=f"plan.{owner or run.thread_id}", content=plan_content(item),
        )  # fmt: skip

    def _custom(self, run: OpenRun, item: Item) -> None:
        if item.retracts is not UNSET:
            self._writer.history.discard(item.retracts)
        self._writer.say(
            Custom, item=item, name=f"dragoman.{item.kind}", value=msgspec.to_builtins(item),
            subagent_run_id=self._owner_of(run, item),
        )  # fmt: skip

    def _rest(self, run: OpenRun, shape: _Shape, item: Item) -> None:
        """Tell the parts of an item that its events have no place for."""
        if shape in ("custom", "plan", "silent"):
            return
        rest = [part for part in item.content if not _is_said(shape, part)]
        if rest:
            value: dict[str, Any] = {"itemId": item.item_id, "parts": msgspec.to_builtins(rest)}
            self._writer.say(
                Custom, item=item, name="dragoman.item.parts", value=value,
                subagent_run_id=self._owner_of(run, item),
            )  # fmt: skip


_SAID: dict[str, type | tuple[type, ...]] = {
    "text": Text,
    "thought": Reasoning,
    "call": ToolCall,
    "result": ToolResult,
    "subagent": Status,
}


def _is_said(shape: _Shape, part: ContentPart) -> bool:
    return isinstance(part, _SAID[shape]) and not isinstance(part, Image)


def _role(item: Item) -> TextRole:
    if item.kind == "system" or item.role in ("system", "tool"):
        return "system"
    return "user" if item.role == "user" else "assistant"


def _call_part(item: Item) -> ToolCall:
    calls = (part for part in item.content if isinstance(part, ToolCall))
    return next(calls, ToolCall(name="", arguments="", call_id=""))


def _result_part(item: Item) -> ToolResult:
    results = (part for part in item.content if isinstance(part, ToolResult))
    return next(results, ToolResult(call_id=item.item_id, output=""))
