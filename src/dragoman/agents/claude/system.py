"""What Claude Code says about the session itself: `system` lines, told apart by `subtype`."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, field

from dragoman.agents.claude.model import Unmodelled
from dragoman.wire import decode as wire


class McpServer(Struct, frozen=True, kw_only=True):
    """An MCP server, and whether it came up."""

    name: str
    status: str = ""


class Init(Struct, frozen=True, kw_only=True):
    """A turn begins; said once a turn, not once a process."""

    session_id: str | None = None
    model: str | None = None
    permission_mode: str | None = field(default=None, name="permissionMode")
    claude_code_version: str | None = None
    mcp_servers: tuple[McpServer, ...] = ()
    user_message_uuids: tuple[str, ...] = ()


class StatusLine(Struct, frozen=True, kw_only=True):
    """What it does now, or that a mode changed."""

    status: str | None = None
    permission_mode: str | None = field(default=None, name="permissionMode")
    compact_result: str | None = None


class Retry(Struct, frozen=True, kw_only=True):
    """The model could not be asked; it is asked again."""

    attempt: int | None = None
    max_retries: int | None = None
    retry_delay_ms: float | None = None
    error_status: int | None = None
    error: str | None = None


class Task(Struct, frozen=True, kw_only=True):
    """A subagent, or a command in the background: begun, at work, changed, done."""

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


class Told(Struct, frozen=True, kw_only=True):
    """A notice."""

    content: Any = None
    message: Any = None


class Compacted(Struct, frozen=True, kw_only=True):
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


class Quiet(Struct, frozen=True, kw_only=True):
    """Known, and nothing to show."""


AnySystem = Init | StatusLine | Retry | Task | Told | Compacted | Hook | Quiet | Unmodelled

KINDS: dict[str, type[AnySystem]] = {
    "init": Init,
    "status": StatusLine,
    "api_retry": Retry,
    "task_started": Task,
    "task_progress": Task,
    "task_updated": Task,
    "task_notification": Task,
    "informational": Told,
    "notification": Told,
    "permission_denied": Told,
    "local_command": Told,
    "local_command_output": Told,
    "model_refusal_no_fallback": Told,
    "model_refusal_fallback": Told,
    "model_fallback": Told,
    "compact_boundary": Compacted,
    "hook_started": Hook,
    "hook_progress": Hook,
    "hook_response": Hook,
    "thinking_tokens": Quiet,
    "background_tasks_changed": Quiet,
    "session_state_changed": Quiet,
}
_decoders = {subtype: msgspec.json.Decoder(kind) for subtype, kind in KINDS.items()}
_any = msgspec.json.Decoder()


def decode(line: bytes, subtype: str) -> AnySystem:
    """Decode a `system` line. Raise only msgspec errors."""
    decoder = _decoders.get(subtype)
    if decoder is None:
        return Unmodelled(wire.decode(line, _any))
    return wire.decode(line, decoder)
