"""One run of AG-UI: whatever is said in it is opened before, and closed at its end."""

from __future__ import annotations

from typing import Any

from dragoman.agui.events import (
    PROTOCOL,
    ReasoningEnd,
    ReasoningMessageContent,
    ReasoningMessageEnd,
    ReasoningMessageStart,
    ReasoningStart,
    RunStarted,
    StepFinished,
    StepStarted,
    SubagentError,
    SubagentFinished,
    SubagentStarted,
    SuccessOutcome,
    SuspendedOutcome,
    TextMessageContent,
    TextMessageEnd,
    TextMessageStart,
    TextRole,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallStart,
)
from dragoman.agui.frames import FrameWriter
from dragoman.schema.items import Item

Owner = str | None
"""The subagent that something belongs to, by its run; None: the agent itself."""


class OpenRun:
    """What is open in a run. Nothing that is said through it can break the order of AG-UI."""

    def __init__(self, writer: FrameWriter, thread_id: str, run_id: str) -> None:
        self.thread_id = thread_id
        self.run_id = run_id
        self._writer = writer
        self._texts: dict[str, Owner] = {}
        self._thoughts: dict[str, Owner] = {}
        self._calls: dict[str, Owner] = {}
        self._steps: dict[Owner, str] = {}
        self._subagents: list[str] = []
        self._finished_subagents: set[str] = set()

    def start(self, parent_run_id: str | None) -> None:
        """Begin."""
        self._writer.say(
            RunStarted,
            thread_id=self.thread_id,
            run_id=self.run_id,
            protocol_version=PROTOCOL,
            parent_run_id=parent_run_id,
        )

    # --- Messages ---

    def text(self, item: Item, role: TextRole, owner: Owner, delta: str) -> None:
        """The next piece of a message, which begins with it."""
        if item.item_id not in self._texts:
            self._texts[item.item_id] = owner
            self._say(TextMessageStart, item, owner, message_id=item.item_id, role=role)
        if delta:
            self._say(TextMessageContent, item, owner, message_id=item.item_id, delta=delta)

    def end_text(self, item: Item, about: dict[str, Any]) -> None:
        """A message is complete, if anything of it was said."""
        if item.item_id in self._texts:
            owner = self._texts.pop(item.item_id)
            self._say(TextMessageEnd, item, owner, about=about, message_id=item.item_id)

    def reason(self, item: Item, owner: Owner, delta: str) -> None:
        """The next piece of a thought, which begins with it."""
        if item.item_id not in self._thoughts:
            self._thoughts[item.item_id] = owner
            self._say(ReasoningStart, item, owner, message_id=item.item_id)
            self._say(ReasoningMessageStart, item, owner, message_id=item.item_id, role="reasoning")
        if delta:
            self._say(ReasoningMessageContent, item, owner, message_id=item.item_id, delta=delta)

    def end_reasoning(self, item: Item, about: dict[str, Any]) -> None:
        """A thought is complete."""
        if item.item_id in self._thoughts:
            owner = self._thoughts.pop(item.item_id)
            self._say(ReasoningMessageEnd, item, owner, message_id=item.item_id)
            self._say(ReasoningEnd, item, owner, about=about, message_id=item.item_id)

    # --- Calls ---

    def call(
        self, item: Item, call_id: str, name: str, parent: str | None, owner: Owner, delta: str
    ) -> None:
        """The next piece of a call's arguments; the call begins with it."""
        if call_id not in self._calls:
            self._calls[call_id] = owner
            self._say(
                ToolCallStart, item, owner,
                tool_call_id=call_id, tool_call_name=name, parent_message_id=parent,
            )  # fmt: skip
        if delta:
            self._say(ToolCallArgs, item, owner, tool_call_id=call_id, delta=delta)

    def end_call(self, item: Item, call_id: str, about: dict[str, Any]) -> None:
        """A call's arguments are complete."""
        if call_id in self._calls:
            owner = self._calls.pop(call_id)
            self._say(ToolCallEnd, item, owner, about=about, tool_call_id=call_id)

    # --- Steps and subagents ---

    def step(self, owner: Owner, name: str) -> None:
        """The model is asked once more; what it was asked before is done."""
        self.end_step(owner)
        self._steps[owner] = name
        self._say(StepStarted, None, owner, step_name=name)

    def end_step(self, owner: Owner) -> None:
        """What was asked of the model is done."""
        if owner in self._steps:
            self._say(StepFinished, None, owner, step_name=self._steps.pop(owner))

    def has_step(self, owner: Owner) -> bool:
        """Whether the model is being asked."""
        return owner in self._steps

    def has_subagent(self, run_id: str) -> bool:
        """Whether a subagent was shown in this run."""
        return run_id in self._subagents or run_id in self._finished_subagents

    def subagent(self, run_id: str, name: str, parent: Owner, **more: Any) -> None:
        """A subagent begins, or goes on in this run."""
        if not self.has_subagent(run_id):
            known = parent if parent is not None and self.has_subagent(parent) else None
            self._subagents.append(run_id)
            self._writer.say(
                SubagentStarted,
                subagent_run_id=run_id, name=name, parent_subagent_run_id=known, **more,
            )  # fmt: skip

    def end_subagent(
        self, run_id: str, failure: str | None, interrupts: tuple[str, ...] | None = None
    ) -> None:
        """A subagent is done, failed, or waits in this run for what it asks."""
        if run_id not in self._subagents:
            return
        self._close_all_of(run_id)
        self._subagents.remove(run_id)
        self._finished_subagents.add(run_id)
        if failure is not None:
            self._writer.say(SubagentError, subagent_run_id=run_id, message=failure)
            return
        outcome: SuccessOutcome | SuspendedOutcome = SuccessOutcome()
        if interrupts is not None:
            outcome = SuspendedOutcome(interrupt_ids=interrupts or None)
        self._writer.say(SubagentFinished, subagent_run_id=run_id, outcome=outcome)

    # --- The end ---

    def close(self, interrupts: tuple[str, ...] = ()) -> None:
        """Close whatever is open; subagents that are not done wait for a later run."""
        for run_id in reversed(tuple(self._subagents)):
            self.end_subagent(run_id, None, interrupts)
        for owner in (*self._texts.values(), *self._thoughts.values(), *self._calls.values()):
            self._close_all_of(owner)
        for owner in tuple(self._steps):
            self.end_step(owner)

    def _close_all_of(self, owner: Owner) -> None:
        cut = {"status": "in_progress"}
        for message_id in [key for key, whose in self._texts.items() if whose == owner]:
            del self._texts[message_id]
            self._say(TextMessageEnd, None, owner, about=cut, message_id=message_id)
        for message_id in [key for key, whose in self._thoughts.items() if whose == owner]:
            del self._thoughts[message_id]
            self._say(ReasoningMessageEnd, None, owner, message_id=message_id)
            self._say(ReasoningEnd, None, owner, about=cut, message_id=message_id)
        for call_id in [key for key, whose in self._calls.items() if whose == owner]:
            del self._calls[call_id]
            self._say(ToolCallEnd, None, owner, about=cut, tool_call_id=call_id)
        self.end_step(owner)

    def _say(
        self,
        kind: Any,
        item: Item | None,
        owner: Owner,
        about: dict[str, Any] | None = None,
        **fields: Any,
    ) -> None:
        self._writer.say(kind, item=item, about=about, subagent_run_id=owner, **fields)
