"""The events of AG-UI 1.0, as they are written: camelCase, and what is absent is left out.

https://docs.ag-ui.com, schema `spec/1.0`. Its clients refuse `null` in most optional fields, and
drop what a schema does not name: what is ours is in `metadata`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct

PROTOCOL = "1.0"

TextRole = Literal["assistant", "user", "system"]


class AguiEvent(
    Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, tag_field="type"
):
    """Base of all events."""

    timestamp: int | None = None
    """Milliseconds since the epoch."""
    metadata: dict[str, Any] | None = None


class Attributed(AguiEvent, frozen=True, kw_only=True):
    """Base of what a subagent can have done."""

    subagent_run_id: str | None = None


class _Value(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Base of what stands inside of events."""


class TokenUsage(_Value, frozen=True, kw_only=True):
    """Tokens of one model; cached ones are part of the input, thoughts of the output."""

    model: str | None = None
    input_tokens: int
    output_tokens: int
    total_tokens: int
    reasoning_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None


class InterruptRequest(_Value, frozen=True, kw_only=True):
    """What a person is asked before the run can go on."""

    id: str
    reason: str
    message: str | None = None
    tool_call_id: str | None = None
    response_schema: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    subagent_run_id: str | None = None


class SuccessOutcome(_Value, frozen=True, kw_only=True, tag_field="type", tag="success"):
    """The run did what it was to do."""


class InterruptOutcome(_Value, frozen=True, kw_only=True, tag_field="type", tag="interrupt"):
    """The run goes on when a person has answered."""

    interrupts: tuple[InterruptRequest, ...]


class CancelledOutcome(_Value, frozen=True, kw_only=True, tag_field="type", tag="cancelled"):
    """Somebody ended the run."""


RunOutcome = SuccessOutcome | InterruptOutcome | CancelledOutcome


class SuspendedOutcome(_Value, frozen=True, kw_only=True, tag_field="type", tag="suspended"):
    """The subagent is not done; it goes on in a later run."""

    interrupt_ids: tuple[str, ...] | None = None


# --- Runs and steps ---


class RunStarted(AguiEvent, frozen=True, kw_only=True, tag="RUN_STARTED"):
    """A run begins."""

    thread_id: str
    run_id: str
    protocol_version: str
    parent_run_id: str | None = None


class RunFinished(AguiEvent, frozen=True, kw_only=True, tag="RUN_FINISHED"):
    """A run is over, and did not fail."""

    thread_id: str
    run_id: str
    outcome: RunOutcome
    usage: tuple[TokenUsage, ...] | None = None


class RunError(AguiEvent, frozen=True, kw_only=True, tag="RUN_ERROR"):
    """A run failed."""

    message: str
    code: str | None = None
    usage: tuple[TokenUsage, ...] | None = None


class StepStarted(Attributed, frozen=True, kw_only=True, tag="STEP_STARTED"):
    """The model is asked once more."""

    step_name: str


class StepFinished(Attributed, frozen=True, kw_only=True, tag="STEP_FINISHED"):
    """What the model said, and the tools that it called, are done."""

    step_name: str


# --- Messages ---


class TextMessageStart(Attributed, frozen=True, kw_only=True, tag="TEXT_MESSAGE_START"):
    """A message begins."""

    message_id: str
    role: TextRole


class TextMessageContent(Attributed, frozen=True, kw_only=True, tag="TEXT_MESSAGE_CONTENT"):
    """The next piece of a message."""

    message_id: str
    delta: str


class TextMessageEnd(Attributed, frozen=True, kw_only=True, tag="TEXT_MESSAGE_END"):
    """A message is complete."""

    message_id: str


class ReasoningStart(Attributed, frozen=True, kw_only=True, tag="REASONING_START"):
    """The model thinks."""

    message_id: str


class ReasoningMessageStart(Attributed, frozen=True, kw_only=True, tag="REASONING_MESSAGE_START"):
    """What is shown of a thought begins."""

    message_id: str
    role: Literal["reasoning"]


class ReasoningMessageContent(
    Attributed, frozen=True, kw_only=True, tag="REASONING_MESSAGE_CONTENT"
):
    """The next piece of a thought."""

    message_id: str
    delta: str


class ReasoningMessageEnd(Attributed, frozen=True, kw_only=True, tag="REASONING_MESSAGE_END"):
    """What is shown of a thought is complete."""

    message_id: str


class ReasoningEnd(Attributed, frozen=True, kw_only=True, tag="REASONING_END"):
    """The model has thought."""

    message_id: str


# --- Tools ---


class ToolCallStart(Attributed, frozen=True, kw_only=True, tag="TOOL_CALL_START"):
    """A tool is called."""

    tool_call_id: str
    tool_call_name: str
    parent_message_id: str | None = None


class ToolCallArgs(Attributed, frozen=True, kw_only=True, tag="TOOL_CALL_ARGS"):
    """The next piece of a call's arguments."""

    tool_call_id: str
    delta: str


class ToolCallEnd(Attributed, frozen=True, kw_only=True, tag="TOOL_CALL_END"):
    """The arguments are complete."""

    tool_call_id: str


class ToolCallResult(Attributed, frozen=True, kw_only=True, tag="TOOL_CALL_RESULT"):
    """What a tool gave back."""

    message_id: str
    tool_call_id: str
    content: str
    role: Literal["tool"]


# --- State, activities and the rest ---


class StateSnapshot(Attributed, frozen=True, kw_only=True, tag="STATE_SNAPSHOT"):
    """How the session is now."""

    snapshot: Any


class MessagesSnapshot(AguiEvent, frozen=True, kw_only=True, tag="MESSAGES_SNAPSHOT"):
    """All messages as they are now."""

    messages: tuple[dict[str, Any], ...]


class ActivitySnapshot(Attributed, frozen=True, kw_only=True, tag="ACTIVITY_SNAPSHOT"):
    """Something that goes on beside the messages, as it is now."""

    message_id: str
    activity_type: str
    content: dict[str, Any]


class RawNative(Attributed, frozen=True, kw_only=True, tag="RAW"):
    """A message of the agent, in its own words."""

    event: Any
    source: str | None = None


class Custom(Attributed, frozen=True, kw_only=True, tag="CUSTOM"):
    """What AG-UI has no word for."""

    name: str
    value: Any


class SubagentStarted(AguiEvent, frozen=True, kw_only=True, tag="SUBAGENT_STARTED"):
    """A subagent begins, or goes on in this run."""

    subagent_run_id: str
    name: str
    description: str | None = None
    parent_subagent_run_id: str | None = None
    parent_tool_call_id: str | None = None


class SubagentFinished(AguiEvent, frozen=True, kw_only=True, tag="SUBAGENT_FINISHED"):
    """A subagent is done, or waits."""

    subagent_run_id: str
    outcome: SuccessOutcome | SuspendedOutcome


class SubagentError(AguiEvent, frozen=True, kw_only=True, tag="SUBAGENT_ERROR"):
    """A subagent failed."""

    subagent_run_id: str
    message: str
    code: str | None = None


TERMINAL = (RunFinished, RunError)
"""The last event of a run."""

_encoder = msgspec.json.Encoder()


def encode_agui(event: AguiEvent) -> bytes:
    """Encode an event, on one line."""
    return _encoder.encode(event)
