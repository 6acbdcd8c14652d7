"""Tools of Codex, as items: what was called with what, and what it gave back."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from dragoman.agents.codex import native_items
from dragoman.agents.codex.patches import refs_of
from dragoman.agents.codex.subagents import Owner
from dragoman.schema.items import (
    ContentPart,
    FileRef,
    Image,
    ItemStatus,
    Json,
    Status,
    ToolCall,
    ToolResult,
)
from dragoman.steps import Blob, CompleteItem, Content, ItemFields, StartItem, Step, whole

_LATE = native_items.WebSearch | native_items.ImageGeneration
"""What these are called with is known at their end only."""
_REJECTED = native_items.Said(message="user rejected MCP tool call")
"""To Codex a call that was refused has failed."""
_MIMES = {"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif",
          "webp": "image/webp"}  # fmt: skip


def returned(tool: native_items.Tool, owner: Owner, *, begun: bool) -> Iterator[Step]:
    """What a tool gave back; `begun`: some of it was there before."""
    key = owner.key(tool.id)
    if isinstance(tool, _LATE):
        yield CompleteItem(key=key, content=(_call(tool),))
    if not begun:
        yield result(tool, owner)
    output, more = _given(tool)
    status: ItemStatus = "failed" if _failed(tool) else "completed"
    yield CompleteItem(
        key=f"{key}:result",
        content=(ToolResult(call_id=tool.id, output=output), *more),
        status=status,
        fields=_end_fields(tool),
    )


def failed(tool: native_items.Tool, owner: Owner, *, begun: bool) -> Iterator[Step]:
    """A tool that will give nothing back any more."""
    key = owner.key(tool.id)
    if isinstance(tool, _LATE):
        yield CompleteItem(key=key, content=(_call(tool),))
    if not begun:
        yield result(tool, owner)
    yield CompleteItem(key=f"{key}:result", status="failed", fields={"reason": "interrupted"})


def left(tool: native_items.CommandExecution, owner: Owner, *, begun: bool) -> Iterator[Step]:
    """A command that runs on after its turn, in which it gives nothing back any more."""
    if not begun:
        yield msgspec.structs.replace(result(tool, owner), source="daemon")
    key = f"{owner.key(tool.id)}:result"
    yield CompleteItem(key=key, status="failed", fields={"reason": "runs on"}, source="daemon")


def printed_later(tool: native_items.CommandExecution, text: str, owner: Owner) -> Iterable[Step]:
    """What a command prints after its turn; its result is complete by then."""
    return whole(_later(tool, owner, Status(label="command.output", detail=text)))


def ended_later(tool: native_items.CommandExecution, owner: Owner) -> Iterable[Step]:
    """A command ends after its turn, with all that it ever printed."""
    label = "command.failed" if _failed(tool) else "command.completed"
    about = {
        "command": tool.command,
        "exit_code": tool.exit_code,
        "output": tool.aggregated_output,
        "duration_ms": tool.duration_ms,
    }
    parts = (Status(label=label, detail=tool.command), Json(json=about))
    return whole(_later(tool, owner, *parts))


def _later(tool: native_items.Tool, owner: Owner, *parts: ContentPart) -> StartItem:
    key = owner.key(tool.id)
    item = owner.item(
        key=f"{key}:later", kind="status", role="system", native_id=tool.id, content=parts
    )
    return msgspec.structs.replace(item, parent=key)


def called(tool: native_items.Tool, owner: Owner) -> Iterator[Step]:
    """A call; its arguments are whole at once, but for those that come with the result."""
    key = owner.key(tool.id)
    yield owner.item(
        key=key,
        kind="tool_call",
        role="assistant",
        native_id=tool.id,
        content=(_call(tool),),
        fields=_fields(tool),
    )
    if not isinstance(tool, _LATE):
        yield CompleteItem(key=key, content=(_call(tool),))


def _call(tool: native_items.Tool) -> ToolCall:
    name, arguments = _named(tool)
    text = msgspec.json.encode(arguments).decode()
    return ToolCall(name=name, arguments=text, call_id=tool.id)


def _named(tool: native_items.Tool) -> tuple[str, Any]:
    """A tool's name, and what it was called with."""
    match tool:
        case native_items.CommandExecution():
            return "commandExecution", {"command": tool.command, "cwd": tool.cwd}
        case native_items.FileChange():
            return "fileChange", {"changes": msgspec.to_builtins(tool.changes)}
        case native_items.McpToolCall():
            return f"mcp__{tool.server}__{tool.tool}", tool.arguments
        case native_items.DynamicToolCall():
            return "__".join(filter(None, (tool.namespace, tool.tool))), tool.arguments
        case native_items.CollabAgentToolCall():
            about = {
                "prompt": tool.prompt,
                "model": tool.model,
                "reasoningEffort": tool.reasoning_effort,
                "receiverThreadIds": list(tool.receiver_thread_ids) or None,
            }
            return tool.tool, {name: value for name, value in about.items() if value is not None}
        case native_items.WebSearch():
            return "webSearch", {"query": tool.query, "action": tool.action}
        case native_items.ImageView():
            return "imageView", {"path": tool.path}
        case native_items.ImageGeneration():
            return "imageGeneration", {"prompt": tool.revised_prompt}
        case _:
            return "unknown", None


def _fields(tool: native_items.Tool) -> ItemFields:
    match tool:
        case native_items.CommandExecution():
            return {"command": tool.command, **({"cwd": tool.cwd} if tool.cwd else {})}
        case native_items.McpToolCall():
            return {"server": tool.server}
        case _:
            return {}


def result(tool: native_items.Tool, owner: Owner) -> StartItem:
    return owner.item(
        key=f"{owner.key(tool.id)}:result",
        kind="tool_result",
        role="tool",
        native_id=tool.id,
        content=(ToolResult(call_id=tool.id, output=""),),
        fields=_fields(tool),
    )


def _failed(tool: native_items.Tool) -> bool:
    match tool:
        case native_items.DynamicToolCall(success=False):
            return True
        case native_items.ImageGeneration(failure=failure) if failure is not None:
            return True
        case _:
            return _status(tool) in ("failed", "declined", "interrupted")


def _status(tool: native_items.Tool) -> str:
    return str(getattr(tool, "status", "completed"))


def _end_fields(tool: native_items.Tool) -> ItemFields:
    fields = _fields(tool)
    if _status(tool) in ("declined", "interrupted"):
        fields["reason"] = _status(tool)
    if isinstance(tool, native_items.McpToolCall) and tool.error == _REJECTED:
        fields["reason"] = "declined"
    if isinstance(tool, native_items.CommandExecution) and tool.exit_code is not None:
        fields["exit_code"] = tool.exit_code
    duration = getattr(tool, "duration_ms", None)
    if duration is not None:
        fields["duration_ms"] = duration
    return fields


def _given(tool: native_items.Tool) -> tuple[str, Content]:
    """What a tool gave back: text, and whatever else."""
    match tool:
        case native_items.CommandExecution():
            return tool.aggregated_output or "", ()
        case native_items.FileChange():
            return "", refs_of(tool.changes) if tool.status == "completed" else ()
        case native_items.McpToolCall(error=native_items.Said(message=message)):
            return message, ()
        case native_items.McpToolCall(result=result):
            return _mixed(result.content, result.structured_content) if result else ("", ())
        case native_items.DynamicToolCall():
            return _mixed(tool.content_items or (), None)
        case native_items.CollabAgentToolCall():
            return _words_of(tool), (Json(json=tool.agents_states),) if tool.agents_states else ()
        case native_items.WebSearch():
            return "", (Json(json=tool.results),) if tool.results else ()
        case native_items.ImageView():
            return "", (FileRef(path=tool.path, action="read"), _image(tool.path))
        case native_items.ImageGeneration():
            return "", _picture(tool)
        case _:
            return "", ()


def _words_of(tool: native_items.CollabAgentToolCall) -> str:
    """What the subagents said last."""
    said = (state.get("message") for state in tool.agents_states.values()
            if isinstance(state, dict))  # fmt: skip
    return "\n".join(message for message in said if isinstance(message, str))


def _mixed(parts: tuple[Any, ...], structured: Any) -> tuple[str, Content]:
    """Texts are the output; images and other bytes are stored; the rest is kept as it is."""
    words: list[str] = []
    more: list[Any] = []
    for part in parts:
        match part:
            case {"type": "text" | "inputText", "text": str(text)}:
                words.append(text)
            case {"type": "image" | "audio", "data": str(data)}:
                more.append(_blob(data, part.get("mimeType")) or Json(json=part))
            case {"type": "resource", "resource": {"blob": str(data)} as resource}:
                more += _resource(part, resource, data)
            case {"type": "inputImage", "imageUrl": str(url)} if url.startswith("data:"):
                mime, _, data = url.removeprefix("data:").partition(";base64,")
                more.append(_blob(data, mime) or Json(json=part))
            case _:
                more.append(Json(json=part))
    if structured is not None:
        more.append(Json(json=structured))
    return "\n".join(words), tuple(more)


def _resource(part: dict[str, Any], resource: dict[str, Any], data: str) -> Content:
    """The bytes, and what else is known of them."""
    blob = _blob(data, resource.get("mimeType") or "application/octet-stream")
    if blob is None:
        return (Json(json=part),)
    about = {name: value for name, value in resource.items() if name != "blob"}
    return blob, Json(json={**part, "resource": about})


def _picture(tool: native_items.ImageGeneration) -> Content:
    blob = _blob(tool.result, "image/png") if tool.result else None
    if blob is not None:
        return (blob,)
    if tool.saved_path is not None:
        return (_image(tool.saved_path),)
    return (Json(json=tool.failure),) if tool.failure is not None else ()


def _image(path: str) -> Image:
    """An image that Codex tells the place of, and not the bytes."""
    return Image(path=path, mime=_MIMES.get(path.rpartition(".")[2].lower()))


def _blob(data: str, mime: Any) -> Blob | None:
    try:
        return Blob(data=base64.b64decode(data), mime=mime if isinstance(mime, str) else None)
    except ValueError:  # letters that no base64 has, or too few
        return None
