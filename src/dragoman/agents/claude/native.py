"""Claude Code's own words: one JSON object a line, told apart by `type`, then by `subtype`."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from dragoman.agents.claude.model import AnyStreamed, Tokens, Unmodelled
from dragoman.wire import decode as wire


class Abandoned(Struct, frozen=True, kw_only=True):
    """The blocks that count for nothing, from this one on."""

    from_block_index: int = 0


# --- Lines ---


class Native(Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of everything the agent says."""

    session_id: str | None = None


class StreamEvent(Native, frozen=True, kw_only=True, tag="stream_event"):
    """The model's own stream, passed on."""

    event: AnyStreamed
    parent_tool_use_id: str | None = None
    agent_id: str | None = None
    abandoned_blocks: Abandoned | None = None


class LooseStreamEvent(Native, frozen=True, kw_only=True, tag="stream_event"):
    """A stream event that we do not know."""

    event: Any = None
    parent_tool_use_id: str | None = None


class ModelMessage(Struct, frozen=True, kw_only=True):
    """A message of the model, or a block of one."""

    id: str
    model: str | None = None
    content: tuple[Raw, ...] = ()
    stop_reason: str | None = None
    usage: Tokens | None = None


class Assistant(Native, frozen=True, kw_only=True, tag="assistant"):
    """A whole block of a message, or a message of Claude Code's own."""

    message: ModelMessage
    parent_tool_use_id: str | None = None
    agent_id: str | None = None
    aborted: bool | None = None
    error: str | None = None
    is_api_error_message: bool | None = None
    api_error: str | None = None
    api_error_status: int | None = None
    api_error_type: str | None = None
    request_id: str | None = None
    refused_message_id: str | None = None
    thinking_duration_ms: int | None = None


class Said(Struct, frozen=True, kw_only=True):
    """What stands under a person's role."""

    content: str | tuple[Raw, ...] = ""


class Decision(Struct, frozen=True, kw_only=True):
    """Who allowed or refused a call."""

    source: str | None = None


class ResultMeta(Struct, frozen=True, kw_only=True):
    """What became of a call."""

    id: str | None = None
    non_execution_kind: str | None = None
    permission_decision: Decision | None = None

    @property
    def refused(self) -> str | None:
        """Why it was not run; a person's no is told as a rule's, but for its source."""
        decided = self.permission_decision
        by_person = decided is not None and decided.source == "user_reject"
        return "user_reject" if self.non_execution_kind and by_person else self.non_execution_kind


class User(Native, frozen=True, kw_only=True, tag="user"):
    """An echo of a person's words, a tool's result, or a note to the model."""

    message: Said
    uuid: str | None = None
    parent_tool_use_id: str | None = None
    agent_id: str | None = None
    is_replay: bool | None = field(default=None, name="isReplay")
    is_synthetic: bool | None = field(default=None, name="isSynthetic")
    tool_use_result: Any = None
    tool_result_meta: tuple[ResultMeta, ...] | None = None


class ModelTokens(Struct, frozen=True, kw_only=True, rename="camel"):
    """What one model used. Any: what is no count must not cost the result (`wire.counts`)."""

    input_tokens: Any = 0
    output_tokens: Any = 0
    cache_read_input_tokens: Any = 0
    cache_creation_input_tokens: Any = 0
    thinking_tokens: Any = 0
    cost_usd: Any = field(default=0.0, name="costUSD")
    context_window: Any = None


class Result(Native, frozen=True, kw_only=True, tag="result"):
    """The turn is over."""

    subtype: str = "success"
    is_error: bool = False
    result: str | None = None
    errors: tuple[str, ...] | None = None
    stop_reason: str | None = None
    terminal_reason: str | None = None
    api_error_status: int | None = None
    api_error: str | None = None
    api_error_type: str | None = None
    num_turns: int | None = None
    duration_ms: int | None = None
    duration_api_ms: int | None = None
    origin: Any = None
    local_command: Any = None
    permission_denials: tuple[Any, ...] | None = None
    model_usage: dict[str, ModelTokens] | None = field(default=None, name="modelUsage")
    model_usage_since_last_result: dict[str, ModelTokens] | None = None


class CommandLifecycle(Native, frozen=True, kw_only=True, tag="command_lifecycle"):
    """What became of a message that we sent."""

    command_uuid: str
    state: str


class ConversationReset(Native, frozen=True, kw_only=True, tag="conversation_reset"):
    """The conversation begins anew, under another id."""

    trigger: str | None = None


class RateLimit(Native, frozen=True, kw_only=True, tag="rate_limit_event"):
    """How much of an allowance is used."""

    rate_limit_info: Any = None


class KeepAlive(Native, frozen=True, kw_only=True, tag="keep_alive"):
    """Nothing."""


class ToolProgress(Native, frozen=True, kw_only=True, tag="tool_progress"):
    """A tool still runs."""


class Wanted(Struct, frozen=True, kw_only=True):
    """What the agent wants of us."""

    subtype: str
    tool_name: str = ""
    display_name: str | None = None
    input: Any = None
    tool_use_id: str | None = None
    agent_id: str | None = None
    description: str | None = None
    blocked_path: str | None = None
    decision_reason: str | None = None
    decision_reason_type: str | None = None
    permission_suggestions: tuple[Any, ...] | None = None


class ControlRequest(Native, frozen=True, kw_only=True, tag="control_request"):
    """The agent waits for an answer."""

    request_id: str
    request: Wanted


class ControlCancel(Native, frozen=True, kw_only=True, tag="control_cancel_request"):
    """The agent no longer waits."""

    request_id: str


class Answer(Struct, frozen=True, kw_only=True):
    """The answer to a request of ours, or our own answer, repeated."""

    subtype: str
    request_id: str = ""
    error: str | None = None
    error_code: str | None = None
    response: Any = None


class ControlResponse(Native, frozen=True, kw_only=True, tag="control_response"):
    """An answer."""

    response: Answer


class System(Native, frozen=True, kw_only=True, tag="system"):
    """Something about the session; what, its `subtype` says."""

    subtype: str = ""


Message = (
    StreamEvent
    | Assistant
    | User
    | Result
    | System
    | ControlRequest
    | ControlCancel
    | ControlResponse
    | CommandLifecycle
    | ConversationReset
    | RateLimit
    | KeepAlive
    | ToolProgress
)

_TYPES = frozenset(kind.__struct_config__.tag for kind in Message.__args__)
_message: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)
_loose_event = msgspec.json.Decoder(LooseStreamEvent)
_any = msgspec.json.Decoder()


def decode(line: bytes) -> Message | LooseStreamEvent | Unmodelled:
    """Decode one line. Raise only msgspec errors."""
    try:
        return wire.decode(line, _message)
    except msgspec.ValidationError:
        found = wire.decode(line, _any)
        kind = found.get("type") if isinstance(found, dict) else None
        if kind == "stream_event":
            return wire.decode(line, _loose_event)
        if isinstance(kind, str) and kind not in _TYPES:
            return Unmodelled(found)
        raise
