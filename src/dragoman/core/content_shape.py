"""What the content of each kind of item may be, and which field of it streams."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dragoman.schema.commands import Attachment, Prompt
from dragoman.schema.items import (
    ContentPart,
    DeltaType,
    FileRef,
    Image,
    ItemKind,
    Json,
    Reasoning,
    Role,
    Status,
    Text,
    ToolCall,
    ToolResult,
)
from dragoman.steps import Blob, Content

Parts = tuple[ContentPart, ...]

_ALLOWED: dict[ItemKind, tuple[type[ContentPart], ...]] = {
    "message": (Text, Json, FileRef, Image),
    "tool_call": (ToolCall, Json),
    "tool_result": (ToolResult, Json, FileRef, Image),
    "system": (Text, Json, FileRef, Image),
    "status": (Status, Json),
    "unknown": (Text, Json),
}


def stream_of(kind: ItemKind, parts: Parts) -> DeltaType | None:
    """Which type of delta an item of this shape takes."""
    match kind:
        case "tool_call":
            return "arguments"
        case "tool_result":
            return "output"
        case "message":
            return "reasoning" if parts and isinstance(parts[0], Reasoning) else "text"
        case "system":
            return "text"
        case _:
            return None


def fit(kind: ItemKind, stream: DeltaType | None, key: str, parts: Parts) -> Parts:
    """Make content fit its item: one streaming part, in front; strangers become json parts."""
    if stream == "reasoning":
        thoughts = [part for part in parts if isinstance(part, Reasoning)]
        visibility = thoughts[0].visibility if thoughts else "public"
        text = "".join(part.text for part in thoughts)
        return (Reasoning(text=text, visibility=visibility),)
    allowed = _ALLOWED[kind]
    fitting = [part if isinstance(part, allowed) else _as_json(part) for part in parts]
    if kind in ("message", "system"):
        return _joined(fitting)
    if kind == "tool_call":
        return _single(fitting, ToolCall, ToolCall(name="unknown", arguments="", call_id=key))
    if kind == "tool_result":
        return _single(fitting, ToolResult, ToolResult(call_id=key, output=""))
    return tuple(fitting)


def _as_json(part: ContentPart) -> Json:
    return Json(json=msgspec.to_builtins(part))


def _joined(parts: Sequence[ContentPart]) -> Parts:
    texts = [part for part in parts if isinstance(part, Text)]
    if len(texts) < 2:
        return tuple(parts)
    whole = Text(text="".join(part.text for part in texts))
    return (whole, *(part for part in parts if not isinstance(part, Text)))


def _single(parts: Sequence[ContentPart], wanted: type[ContentPart], missing: ContentPart) -> Parts:
    found = [part for part in parts if isinstance(part, wanted)] or [missing]
    rest = [_as_json(part) if isinstance(part, wanted) else part for part in parts]
    rest = [part for part, old in zip(rest, parts, strict=True) if old is not found[0]]
    return (found[0], *rest)


def streamed(parts: Parts) -> str:
    """The text of the streaming field."""
    for part in parts:
        match part:
            case Text(text=text) | Reasoning(text=text):
                return text
            case ToolCall(arguments=text) | ToolResult(output=text):
                return text
            case _:
                pass
    return ""


def with_streamed(stream: DeltaType | None, parts: Parts, text: str) -> Parts:
    """The same content with this text in the streaming field."""
    filled = tuple(_fill(part, text) for part in parts)
    if text and stream == "text" and not any(isinstance(part, Text) for part in parts):
        return (Text(text=text), *filled)
    return filled


def _fill(part: ContentPart, text: str) -> ContentPart:
    match part:
        case Text():
            return Text(text=text)
        case Reasoning(visibility=visibility):
            return Reasoning(text=text, visibility=visibility)
        case ToolCall():
            return msgspec.structs.replace(part, arguments=text)
        case ToolResult():
            return msgspec.structs.replace(part, output=text)
        case _:
            return part


def call_id_of(parts: Parts) -> str:
    """The call that a tool item is about."""
    for part in parts:
        if isinstance(part, ToolCall | ToolResult):
            return part.call_id
    return ""


def attached(prompt: Prompt) -> Content:
    """What the files that go with a message are shown as; an image as it was when it was sent."""
    return tuple(
        Blob(data=prompt.images[file.path], mime=file.mime, filename=_name_of(file))
        if file.path in prompt.images
        else FileRef(path=file.path, action="read")
        for file in prompt.attachments
    )


def _name_of(file: Attachment) -> str:
    return file.filename or file.path.rstrip("/").rpartition("/")[2]


def kind_and_role(kind: ItemKind, role: Role | None) -> tuple[ItemKind, Role | None]:
    """What an agent's item is: a person's words come from people only, its own are the system's."""
    return ("system", "system") if (kind, role) == ("message", "user") else (kind, role)


def stub(key: str, content_type: DeltaType) -> tuple[ItemKind, Role, Parts]:
    """What an item is of which only a delta is known."""
    match content_type:
        case "reasoning":
            return "message", "assistant", (Reasoning(text=""),)
        case "arguments":
            call = ToolCall(name="unknown", arguments="", call_id=key)
            return "tool_call", "assistant", (call,)
        case "output":
            return "tool_result", "tool", (ToolResult(call_id=key, output=""),)
        case _:
            return "message", "assistant", (Text(text=""),)


def guess(parts: Parts) -> tuple[ItemKind, Role | None]:
    """What an item is that was completed without a start."""
    match parts[0] if parts else None:
        case ToolCall():
            return "tool_call", "assistant"
        case ToolResult():
            return "tool_result", "tool"
        case Status():
            return "status", None
        case _:
            return "message", "assistant"
