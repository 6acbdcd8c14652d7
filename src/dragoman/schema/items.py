"""Items and their content parts: the units a transcript is made of."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

ItemKind = Literal["message", "tool_call", "tool_result", "system", "status", "unknown"]
Role = Literal["user", "assistant", "system", "tool"]
ItemStatus = Literal["in_progress", "completed", "failed"]
FileAction = Literal["read", "write", "patch"]
Visibility = Literal["public", "private"]
DeltaType = Literal["text", "reasoning", "arguments", "output"]


class Part(Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of all content parts."""


class Text(Part, frozen=True, kw_only=True, tag="text"):
    """Plain text."""

    text: str


class Json(Part, frozen=True, kw_only=True, tag="json"):
    """Structured content."""

    json: Any


class ToolCall(Part, frozen=True, kw_only=True, tag="tool_call"):
    """A tool is called; `arguments` is JSON text, the exact sum of its deltas."""

    name: str
    arguments: str
    call_id: str
    input: Any | UnsetType = UNSET
    """The agent's own parsed input, where it differs from `arguments`."""


class ToolResult(Part, frozen=True, kw_only=True, tag="tool_result"):
    """What a tool gave back."""

    call_id: str
    output: str
    stderr: str | UnsetType = UNSET
    """The end of `output` that went to stderr, where the agent tells the two apart."""


class FileRef(Part, frozen=True, kw_only=True, tag="file_ref"):
    """A file that was read, written or patched."""

    path: str
    action: FileAction
    diff: str | None = None


class Image(Part, frozen=True, kw_only=True, tag="image"):
    """An image, stored as a file."""

    path: str
    mime: str | None = None
    filename: str | UnsetType = UNSET
    """What the file was called that a person attached."""


class Reasoning(Part, frozen=True, kw_only=True, tag="reasoning"):
    """What the model thought."""

    text: str
    visibility: Visibility = "public"


class Status(Part, frozen=True, kw_only=True, tag="status"):
    """A label for something that goes on."""

    label: str
    detail: str | None = None


ContentPart = Text | Json | ToolCall | ToolResult | FileRef | Image | Reasoning | Status


class Item(Struct, frozen=True, kw_only=True):
    """One unit of a transcript. `item_id` is ours, `native_item_id` the agent's."""

    item_id: str
    native_item_id: str | None = None
    parent_id: str | None = None
    kind: ItemKind
    role: Role | None = None
    content: tuple[ContentPart, ...]
    status: ItemStatus

    phase: Literal["commentary", "final_answer", "plan"] | UnsetType = UNSET
    """What part of an answer a message is."""
    stop_reason: str | UnsetType = UNSET
    """Why the model stopped, in the agent's word."""
    reason: str | UnsetType = UNSET
    """Why the item failed or was cut: declined, interrupted, process_exit …"""
    duration_ms: int | UnsetType = UNSET
    message_id: str | UnsetType = UNSET
    """On a person's message: the id that accepting it returned."""
    subagent_id: str | UnsetType = UNSET
    """The subagent that produced the item."""
    retracts: str | UnsetType = UNSET
    """On a retry's status item: the completed message that it takes back."""
    title: str | UnsetType = UNSET
    server: str | UnsetType = UNSET
    """The MCP server whose tool is called."""
    command: str | UnsetType = UNSET
    cwd: str | UnsetType = UNSET
    exit_code: int | UnsetType = UNSET
    output_path: str | UnsetType = UNSET
    """The full output, where the agent keeps it elsewhere."""
    truncated: bool | UnsetType = UNSET
    """On a tool's result: the agent has cut the output. Where it keeps all of it, the daemon has a
    copy, which a `file_ref` names."""
