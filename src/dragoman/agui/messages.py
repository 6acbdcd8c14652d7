"""Folds AG-UI's events into its messages, as its clients do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dragoman.agui.events import (
    ActivitySnapshot,
    AguiEvent,
    ReasoningMessageContent,
    ReasoningMessageStart,
    TextMessageContent,
    TextMessageStart,
    ToolCallArgs,
    ToolCallResult,
    ToolCallStart,
)

MAX_SNAPSHOT = 1 << 20
"""So many characters are told at once; of more there is no snapshot. AG-UI's client gives up on a
frame of 10 MB."""


class MessageHistory:
    """The messages of a thread as a client has them."""

    def __init__(self, earlier: Iterable[dict[str, Any]] = ()) -> None:
        self._messages: dict[str, dict[str, Any]] = {
            str(message["id"]): dict(message) for message in earlier if "id" in message
        }
        self._calls: dict[str, dict[str, Any]] = {}
        self._size = sum(len(str(message)) for message in self._messages.values())

    def snapshot(self) -> tuple[dict[str, Any], ...] | None:
        """All messages; None: that would be too much."""
        if self._size > MAX_SNAPSHOT:
            return None
        return tuple(
            {**message, "toolCalls": [_copied(call) for call in message["toolCalls"]]}
            if message.get("toolCalls")
            else dict(message)
            for message in self._messages.values()
        )

    def discard(self, message_id: str) -> None:
        """A message was taken back."""
        self._messages.pop(message_id, None)

    def apply(self, event: AguiEvent) -> None:
        """Take in one event."""
        match event:
            case TextMessageStart(message_id=message_id, role=role):
                self._open(message_id, role, event.subagent_run_id).setdefault("content", "")
            case ReasoningMessageStart(message_id=message_id):
                self._open(message_id, "reasoning", event.subagent_run_id, content="")
            case (
                TextMessageContent(message_id=message_id, delta=delta)
                | ReasoningMessageContent(message_id=message_id, delta=delta)
            ):
                self._append(self._messages.get(message_id), "content", delta)
            case ToolCallStart():
                self._call(event)
            case ToolCallArgs(tool_call_id=call_id, delta=delta):
                self._append(self._calls.get(call_id), "arguments", delta)
            case ToolCallResult():
                self._result(event)
            case ActivitySnapshot(message_id=message_id):
                message = self._open(message_id, "activity", event.subagent_run_id)
                message |= {"activityType": event.activity_type, "content": event.content}
                self._size += len(str(event.content))
            case _:
                pass

    def _open(self, message_id: str, role: str, owner: str | None, **more: Any) -> dict[str, Any]:
        if (message := self._messages.get(message_id)) is None:
            message = {"id": message_id, "role": role, **more}
            if owner is not None:
                message["subagentRunId"] = owner
            self._messages[message_id] = message
            self._size += 64
        return message

    def _append(self, message: dict[str, Any] | None, field: str, delta: str) -> None:
        # What is too long to be told needs not be kept.
        if message is not None and self._size <= MAX_SNAPSHOT:
            message[field] = str(message.get(field) or "") + delta
            self._size += len(delta)

    def _call(self, event: ToolCallStart) -> None:
        if event.tool_call_id in self._calls:
            return
        parent = event.parent_message_id or event.tool_call_id
        message = self._open(parent, "assistant", event.subagent_run_id)
        function = {"name": event.tool_call_name, "arguments": ""}
        self._calls[event.tool_call_id] = function
        call = {"id": event.tool_call_id, "type": "function", "function": function}
        message.setdefault("toolCalls", []).append(call)
        self._size += 64

    def _result(self, event: ToolCallResult) -> None:
        message = self._open(event.message_id, "tool", event.subagent_run_id)
        message |= {"toolCallId": event.tool_call_id, "content": event.content}
        if "tanstack" in (event.metadata or {}):
            message["error"] = event.content
        self._size += len(event.content)


def _copied(call: dict[str, Any]) -> dict[str, Any]:
    return {**call, "function": dict(call.get("function") or {})}
