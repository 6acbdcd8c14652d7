"""What Claude Code says: one JSON object a line, told apart by `type`, then by `subtype`.

Structs hold only the fields that are read. Claude Code publishes no schema; all were seen in
2.1.325, or `tests/agents/claude/test_native.py` says why they are read all the same.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from dragoman.wire import decode as wire


class UnknownJson(Struct, frozen=True):
    """A kind of message or block that has no struct here, as it came."""

    json: Any


# --- Blocks of a message ---


class ContentBlock(Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of what a message is made of."""


class TextBlock(ContentBlock, frozen=True, kw_only=True, tag="text"):
    """Text."""

    text: str = ""


class ThinkingBlock(ContentBlock, frozen=True, kw_only=True, tag="thinking"):
    """A thought."""

    thinking: str = ""


class RedactedBlock(ContentBlock, frozen=True, kw_only=True, tag="redacted_thinking"):
    """A thought that nobody may read."""


class ToolUseBlock(ContentBlock, frozen=True, kw_only=True, tag="tool_use"):
    """A call of a tool."""

    id: str
    name: str = "unknown"
    input: Any = None


class ServerToolUseBlock(ToolUseBlock, frozen=True, kw_only=True, tag="server_tool_use"):
    """A call of a tool that the vendor runs."""


class McpToolUseBlock(ToolUseBlock, frozen=True, kw_only=True, tag="mcp_tool_use"):
    """A call of a tool of an MCP server that the vendor talks to."""


class ToolResultBlock(ContentBlock, frozen=True, kw_only=True, tag="tool_result"):
    """The result of a tool."""

    tool_use_id: str
    content: str | tuple[Raw, ...] | None = None
    is_error: bool | None = None


class ImageSource(Struct, frozen=True, kw_only=True):
    """Where an image is."""

    data: bytes | None = None
    """Base64 on the wire."""
    media_type: str | None = None


class ImageBlock(ContentBlock, frozen=True, kw_only=True, tag="image"):
    """An image."""

    source: ImageSource


AnyToolUse = ToolUseBlock | ServerToolUseBlock | McpToolUseBlock
TOOL_USES = (ToolUseBlock, ServerToolUseBlock, McpToolUseBlock)
KnownBlock = TextBlock | ThinkingBlock | RedactedBlock | AnyToolUse | ToolResultBlock | ImageBlock
AnyBlock = KnownBlock | UnknownJson


# --- A message of the model, as it streams ---


class ModelEvent(Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of the model's own stream."""


class AnswerTokens(Struct, frozen=True, kw_only=True):
    """What one answer of the model used. Any: a wrong count must not cost the answer."""

    input_tokens: Any = None
    cache_creation_input_tokens: Any = None
    cache_read_input_tokens: Any = None
    output_tokens: Any = None


class MessageHead(Struct, frozen=True, kw_only=True):
    """The message that begins, and what it read."""

    id: str
    model: str | None = None
    usage: AnswerTokens | None = None


class MessageStart(ModelEvent, frozen=True, kw_only=True, tag="message_start"):
    """A message begins."""

    message: MessageHead


class BlockStart(ModelEvent, frozen=True, kw_only=True, tag="content_block_start"):
    """A block begins."""

    index: int
    content_block: Raw


class TextDelta(Struct, frozen=True, kw_only=True, tag_field="type", tag="text_delta"):
    """The next piece of a text."""

    text: str


class ThinkingDelta(Struct, frozen=True, kw_only=True, tag_field="type", tag="thinking_delta"):
    """The next piece of a thought."""

    thinking: str


class InputDelta(Struct, frozen=True, kw_only=True, tag_field="type", tag="input_json_delta"):
    """The next piece of a call's input."""

    partial_json: str


class SignatureDelta(Struct, frozen=True, kw_only=True, tag_field="type", tag="signature_delta"):
    """The vendor's signature of a thought."""


class CitationsDelta(Struct, frozen=True, kw_only=True, tag_field="type", tag="citations_delta"):
    """Where a text comes from; the whole block repeats it."""


AnyDelta = TextDelta | ThinkingDelta | InputDelta | SignatureDelta | CitationsDelta


class BlockDelta(ModelEvent, frozen=True, kw_only=True, tag="content_block_delta"):
    """A block grows."""

    index: int
    delta: AnyDelta


class BlockStop(ModelEvent, frozen=True, kw_only=True, tag="content_block_stop"):
    """A block is whole."""

    index: int


class StopReason(Struct, frozen=True, kw_only=True):
    """Why the model stopped."""

    stop_reason: str | None = None


class MessageDelta(ModelEvent, frozen=True, kw_only=True, tag="message_delta"):
    """Why the message ends, and what it used."""

    delta: StopReason = StopReason()
    usage: AnswerTokens | None = None


class MessageStop(ModelEvent, frozen=True, kw_only=True, tag="message_stop"):
    """The message is over."""


class Ping(ModelEvent, frozen=True, kw_only=True, tag="ping"):
    """The connection is alive."""


AnyModelEvent = (
    MessageStart | BlockStart | BlockDelta | BlockStop | MessageDelta | MessageStop | Ping
)


# --- Lines, told apart by `type` ---


class AbandonedBlocks(Struct, frozen=True, kw_only=True):
    """The blocks that no longer count: this one and all after it."""

    from_block_index: int = 0


class Native(Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of everything the agent says."""

    session_id: str | None = None


class StreamEvent(Native, frozen=True, kw_only=True, tag="stream_event"):
    """The model's own stream, passed on."""

    event: AnyModelEvent
    parent_tool_use_id: str | None = None
    agent_id: str | None = None
    abandoned_blocks: AbandonedBlocks | None = None


class UnknownStreamEvent(Native, frozen=True, kw_only=True, tag="stream_event"):
    """A stream event of a kind that has no struct here."""

    event: Any = None
    parent_tool_use_id: str | None = None


class ModelMessage(Struct, frozen=True, kw_only=True):
    """A message of the model, or a block of one."""

    id: str
    model: str | None = None
    content: tuple[Raw, ...] = ()
    stop_reason: str | None = None
    usage: AnswerTokens | None = None


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


class UserContent(Struct, frozen=True, kw_only=True):
    """A message under the role `user`."""

    content: str | tuple[Raw, ...] = ""


class PermissionDecision(Struct, frozen=True, kw_only=True):
    """Who allowed or refused a call."""

    source: str | None = None


class ResultMeta(Struct, frozen=True, kw_only=True):
    """What became of a call."""

    id: str | None = None
    non_execution_kind: str | None = None
    permission_decision: PermissionDecision | None = None

    @property
    def refusal(self) -> str | None:
        """Why the call was not run.

        `non_execution_kind` is the same for a person's refusal and a rule's; only the source of
        the decision differs.
        """
        decision = self.permission_decision
        by_person = decision is not None and decision.source == "user_reject"
        return "user_reject" if self.non_execution_kind and by_person else self.non_execution_kind


class User(Native, frozen=True, kw_only=True, tag="user"):
    """An echo of a person's words, a tool's result, or a note to the model."""

    message: UserContent
    uuid: str | None = None
    parent_tool_use_id: str | None = None
    agent_id: str | None = None
    is_replay: bool | None = field(default=None, name="isReplay")
    is_synthetic: bool | None = field(default=None, name="isSynthetic")
    tool_use_result: Any = None
    tool_result_meta: tuple[ResultMeta, ...] | None = None


class ModelTokens(Struct, frozen=True, kw_only=True, rename="camel"):
    """What one model used. Any: a wrong count must not cost the result (`wire.counts`)."""

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
    """The connection is alive."""


class ToolProgress(Native, frozen=True, kw_only=True, tag="tool_progress"):
    """A tool still runs."""


class ControlRequestBody(Struct, frozen=True, kw_only=True):
    """What the agent requests; `can_use_tool` has most of the fields."""

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
    request: ControlRequestBody


class ControlCancel(Native, frozen=True, kw_only=True, tag="control_cancel_request"):
    """The agent no longer waits."""

    request_id: str


class ControlResponseBody(Struct, frozen=True, kw_only=True):
    """The response to a request of ours, or our own response, repeated."""

    subtype: str
    request_id: str = ""
    error: str | None = None
    error_code: str | None = None
    response: Any = None


class ControlResponse(Native, frozen=True, kw_only=True, tag="control_response"):
    """A response."""

    response: ControlResponseBody


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


# --- What it says about the session: `system` lines, told apart by `subtype` ---


class McpServerStatus(Struct, frozen=True, kw_only=True):
    """An MCP server, and whether it is connected."""

    name: str
    status: str = ""


class Init(Struct, frozen=True, kw_only=True):
    """A turn begins: 2.1.325 sends it once a turn, not once a process."""

    session_id: str | None = None
    model: str | None = None
    permission_mode: str | None = field(default=None, name="permissionMode")
    claude_code_version: str | None = None
    mcp_servers: tuple[McpServerStatus, ...] = ()
    tools: tuple[str, ...] = ()
    user_message_uuids: tuple[str, ...] = ()


class StatusLine(Struct, frozen=True, kw_only=True):
    """What it is doing, or that its mode changed."""

    status: str | None = None
    permission_mode: str | None = field(default=None, name="permissionMode")
    compact_result: str | None = None


class ApiRetry(Struct, frozen=True, kw_only=True):
    """A request to the model's API failed and is made again."""

    attempt: int | None = None
    max_retries: int | None = None
    retry_delay_ms: float | None = None
    error_status: int | None = None
    error: str | None = None


class Task(Struct, frozen=True, kw_only=True):
    """A subagent or a command in the background: it starts, works, changes or ends."""

    task_id: str
    tool_use_id: str | None = None
    description: str | None = None
    subagent_type: str | None = None
    task_type: str | None = None
    is_backgrounded: bool | None = None
    status: str | None = None
    summary: str | None = None
    output_file: str | None = None
    last_tool_name: str | None = None
    usage: Any = None
    patch: Any = None


class Notice(Struct, frozen=True, kw_only=True):
    """A notice; its subtype is the label that people see."""

    content: Any = None
    message: Any = None


class CompactBoundary(Struct, frozen=True, kw_only=True):
    """The conversation was made shorter."""

    compact_metadata: Any = None


class Hook(Struct, frozen=True, kw_only=True):
    """A hook begins, prints, or is done."""

    hook_id: str | None = None
    hook_name: str | None = None
    hook_event: str | None = None
    outcome: str | None = None
    output: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None


class NoEvent(Struct, frozen=True, kw_only=True):
    """Known, and leaves no event; `probes.IGNORED` says why."""


AnySystem = (
    Init | StatusLine | ApiRetry | Task | Notice | CompactBoundary | Hook | NoEvent | UnknownJson
)

SYSTEM_KINDS: dict[str, type[AnySystem]] = {
    "init": Init,
    "status": StatusLine,
    "api_retry": ApiRetry,
    "task_started": Task,
    "task_progress": Task,
    "task_updated": Task,
    "task_notification": Task,
    "informational": Notice,
    "notification": Notice,
    "permission_denied": Notice,
    "local_command": Notice,
    "local_command_output": Notice,
    "model_refusal_no_fallback": Notice,
    "model_refusal_fallback": Notice,
    "model_fallback": Notice,
    "compact_boundary": CompactBoundary,
    "hook_started": Hook,
    "hook_progress": Hook,
    "hook_response": Hook,
    "thinking_tokens": NoEvent,
    "background_tasks_changed": NoEvent,
    "session_state_changed": NoEvent,
}


# --- Decoding ---

_any = msgspec.json.Decoder()
_block: msgspec.json.Decoder[KnownBlock] = msgspec.json.Decoder(KnownBlock)


def decode_block(block: Raw) -> AnyBlock:
    """Decode one block. Raise only msgspec errors."""
    try:
        return wire.decode(bytes(block), _block)
    except msgspec.ValidationError:
        return UnknownJson(wire.decode(bytes(block), _any))


_TYPES = frozenset(kind.__struct_config__.tag for kind in Message.__args__)
_message: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)
_unknown_event = msgspec.json.Decoder(UnknownStreamEvent)


def decode(line: bytes) -> Message | UnknownStreamEvent | UnknownJson:
    """Decode one line. Raise only msgspec errors."""
    try:
        return wire.decode(line, _message)
    except msgspec.ValidationError:
        value = wire.decode(line, _any)
        kind = value.get("type") if isinstance(value, dict) else None
        if kind == "stream_event":
            return wire.decode(line, _unknown_event)
        if isinstance(kind, str) and kind not in _TYPES:
            return UnknownJson(value)
        raise


_decoders = {subtype: msgspec.json.Decoder(kind) for subtype, kind in SYSTEM_KINDS.items()}


def decode_system(line: bytes, subtype: str) -> AnySystem:
    """Decode a `system` line. Raise only msgspec errors."""
    decoder = _decoders.get(subtype)
    if decoder is None:
        return UnknownJson(wire.decode(line, _any))
    return wire.decode(line, decoder)
