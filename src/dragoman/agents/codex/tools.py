"""Tool calls and their results, commands that outlive their turn, and diffs of patches."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from dragoman.agents.codex import native, native_items
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
from dragoman.steps import (
    Blob,
    CompleteItem,
    Content,
    Delta,
    ItemFields,
    Request,
    StartItem,
    Step,
    whole,
)
from dragoman.wire.diff import diff, headed

_LATE_ARGUMENTS = native_items.WebSearch | native_items.ImageGeneration
"""Codex tells what these are called with only when they end."""
_REJECTED = native_items.ErrorMessage(message="user rejected MCP tool call")
"""To Codex a call that a person refused has failed."""
_MIMES = {"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif",
          "webp": "image/webp"}  # fmt: skip


class ToolCalls:
    """The tool calls under way in the session's threads."""

    def __init__(self) -> None:
        self.pending: dict[str, native_items.Tool] = {}
        """Calls without a result, by their keys."""
        self._open_results: set[str] = set()
        """Keys of calls whose result is open, because some output was there before their end."""
        self._background: dict[str, native_items.CommandExecution] = {}
        """Commands that run on after their turn."""

    def start(self, tool: native_items.Tool, owner: Owner) -> Iterator[Step]:
        """A call begins."""
        self.pending[owner.key(tool.id)] = tool
        yield from _start_call(tool, owner)

    def output(self, delta: native.ItemDelta, owner: Owner) -> Iterator[Step]:
        """A command prints something, in its turn or after it."""
        key = owner.key(delta.item_id)
        if key in self._background:
            status = Status(label="command.output", detail=delta.delta)
            yield from whole(_after_turn(self._background[key], owner, status))
            return
        tool = self.pending.get(key)
        if tool is not None and key not in self._open_results:
            self._open_results.add(key)
            yield _start_result(tool, owner)
        yield Delta(_result_key(key), delta.delta, "output")

    def complete(self, tool: native_items.Tool, owner: Owner) -> Iterator[Step]:
        """A call has its result."""
        key = owner.key(tool.id)
        if self.pending.pop(key, None) is None:
            # It began as an item that could not be decoded.
            yield CompleteItem(key=key)
            yield from _start_call(tool, owner)
        is_open = key in self._open_results
        self._open_results.discard(key)
        yield from _open_result(tool, owner, is_open=is_open)
        text, more = _output(tool)
        status: ItemStatus = "failed" if _has_failed(tool) else "completed"
        yield CompleteItem(
            key=_result_key(key),
            content=(ToolResult(call_id=tool.id, output=text), *more),
            status=status,
            fields=_result_fields(tool),
        )

    def complete_background(self, item: native_items.AnyItem, owner: Owner) -> tuple[Step, ...]:
        """A command ends after its turn; nothing, if the item is not such a command."""
        in_background = self._background.pop(owner.key(item.id), None) is not None
        if not in_background or not isinstance(item, native_items.CommandExecution):
            return ()
        label = "command.failed" if _has_failed(item) else "command.completed"
        result = {
            "command": item.command,
            "exit_code": item.exit_code,
            "output": item.aggregated_output,
            "duration_ms": item.duration_ms,
        }
        status = Status(label=label, detail=item.command)
        return whole(_after_turn(item, owner, status, Json(json=result)))

    def detach(self, owner: Owner) -> Iterator[Step]:
        """The turn is over, and its commands run on: close their results with the output so far."""
        for key, tool in self._commands(owner.thread).items():
            self._background[key] = tool
            del self.pending[key]
            if key not in self._open_results:
                yield msgspec.structs.replace(_start_result(tool, owner), source="daemon")
            yield CompleteItem(
                key=_result_key(key),
                status="failed",
                fields={"reason": "runs on"},
                source="daemon",
            )

    def terminate(self, owner: Owner) -> Iterator[Request]:
        """End the commands of a turn: in Codex they outlive even a turn that is interrupted."""
        for tool in self._commands(owner.thread).values():
            if tool.process_id is not None:
                params = {"threadId": owner.thread, "processId": tool.process_id}
                method = "thread/backgroundTerminals/terminate"
                yield Request(method=method, params=params, tag="end")

    def fail(self, owner: Owner) -> Iterator[Step]:
        """The turn is over, and its calls will have no result."""
        for key in _of_thread(self.pending, owner.thread):
            tool = self.pending[key]
            yield from _open_result(tool, owner, is_open=key in self._open_results)
            yield CompleteItem(
                key=_result_key(key), status="failed", fields={"reason": "interrupted"}
            )

    def end_turn(self, thread: str) -> None:
        """Forget the calls of a turn; its commands may still print and end."""
        self._background.update(self._commands(thread))
        for key in _of_thread(self.pending, thread):
            del self.pending[key]
        self._open_results -= set(_of_thread(self._open_results, thread))

    def reset(self) -> None:
        """Forget everything: the process is gone."""
        self.pending.clear()
        self._open_results.clear()
        self._background.clear()

    def _commands(self, thread: str) -> dict[str, native_items.CommandExecution]:
        tools = ((key, self.pending[key]) for key in _of_thread(self.pending, thread))
        return {key: tool for key, tool in tools if isinstance(tool, native_items.CommandExecution)}


def _of_thread(keys: Iterable[str], thread: str) -> list[str]:
    return [key for key in keys if key.startswith(f"{thread}:")]


def _result_key(key: str) -> str:
    return f"{key}:result"


# --- Calls ---


def _start_call(tool: native_items.Tool, owner: Owner) -> Iterator[Step]:
    """A call; its arguments are complete at once, but for those that come with the result."""
    key = owner.key(tool.id)
    yield owner.item(
        key=key,
        kind="tool_call",
        role="assistant",
        native_id=tool.id,
        content=(_call(tool),),
        fields=_fields(tool),
    )
    if not isinstance(tool, _LATE_ARGUMENTS):
        yield CompleteItem(key=key, content=(_call(tool),))


def _call(tool: native_items.Tool) -> ToolCall:
    name, arguments = _name_and_arguments(tool)
    text = msgspec.json.encode(arguments).decode()
    return ToolCall(name=name, arguments=text, call_id=tool.id)


def _name_and_arguments(tool: native_items.Tool) -> tuple[str, Any]:
    """A tool's name, and what it is called with."""
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
            arguments = {
                "prompt": tool.prompt,
                "model": tool.model,
                "reasoningEffort": tool.reasoning_effort,
                "receiverThreadIds": list(tool.receiver_thread_ids) or None,
            }
            return tool.tool, {name: each for name, each in arguments.items() if each is not None}
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


# --- Results ---


def _open_result(tool: native_items.Tool, owner: Owner, *, is_open: bool) -> Iterator[Step]:
    """Complete the arguments that come late, and open the result if no output did."""
    if isinstance(tool, _LATE_ARGUMENTS):
        yield CompleteItem(key=owner.key(tool.id), content=(_call(tool),))
    if not is_open:
        yield _start_result(tool, owner)


def _start_result(tool: native_items.Tool, owner: Owner) -> StartItem:
    return owner.item(
        key=_result_key(owner.key(tool.id)),
        kind="tool_result",
        role="tool",
        native_id=tool.id,
        content=(ToolResult(call_id=tool.id, output=""),),
        fields=_fields(tool),
    )


def _after_turn(tool: native_items.Tool, owner: Owner, *parts: ContentPart) -> StartItem:
    """A status item under a call whose result was completed with its turn."""
    key = owner.key(tool.id)
    item = owner.item(
        key=f"{key}:later", kind="status", role="system", native_id=tool.id, content=parts
    )
    return msgspec.structs.replace(item, parent=key)


def _has_failed(tool: native_items.Tool) -> bool:
    match tool:
        case native_items.DynamicToolCall(success=False):
            return True
        case native_items.ImageGeneration(failure=failure) if failure is not None:
            return True
        case _:
            return _status(tool) in ("failed", "declined", "interrupted")


def _status(tool: native_items.Tool) -> str:
    return str(getattr(tool, "status", "completed"))


def _result_fields(tool: native_items.Tool) -> ItemFields:
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


def _output(tool: native_items.Tool) -> tuple[str, Content]:
    """The output of a tool: its text, and other parts."""
    match tool:
        case native_items.CommandExecution():
            return tool.aggregated_output or "", ()
        case native_items.FileChange():
            return "", _file_refs(tool.changes) if tool.status == "completed" else ()
        case native_items.McpToolCall(error=native_items.ErrorMessage(message=message)):
            return message, ()
        case native_items.McpToolCall(result=result):
            return _content(result.content, result.structured_content) if result else ("", ())
        case native_items.DynamicToolCall():
            return _content(tool.content_items or (), None)
        case native_items.CollabAgentToolCall():
            return _last_messages(tool), (
                Json(json=tool.agents_states),
            ) if tool.agents_states else ()
        case native_items.WebSearch():
            return "", (Json(json=tool.results),) if tool.results else ()
        case native_items.ImageView():
            return "", (FileRef(path=tool.path, action="read"), _image(tool.path))
        case native_items.ImageGeneration():
            return "", _generated_image(tool)
        case _:
            return "", ()


def _last_messages(tool: native_items.CollabAgentToolCall) -> str:
    """The last message of each subagent."""
    messages = (state.get("message") for state in tool.agents_states.values()
                if isinstance(state, dict))  # fmt: skip
    return "\n".join(message for message in messages if isinstance(message, str))


def _content(parts: tuple[Any, ...], structured: Any) -> tuple[str, Content]:
    """Text is the output; images and other bytes are stored; other parts stay as they are."""
    texts: list[str] = []
    more: list[Any] = []
    for part in parts:
        match part:
            case {"type": "text" | "inputText", "text": str(text)}:
                texts.append(text)
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
    return "\n".join(texts), tuple(more)


def _resource(part: dict[str, Any], resource: dict[str, Any], data: str) -> Content:
    """The bytes of a resource, and its other fields."""
    blob = _blob(data, resource.get("mimeType") or "application/octet-stream")
    if blob is None:
        return (Json(json=part),)
    fields = {name: value for name, value in resource.items() if name != "blob"}
    return blob, Json(json={**part, "resource": fields})


def _generated_image(tool: native_items.ImageGeneration) -> Content:
    blob = _blob(tool.result, "image/png") if tool.result else None
    if blob is not None:
        return (blob,)
    if tool.saved_path is not None:
        return (_image(tool.saved_path),)
    return (Json(json=tool.failure),) if tool.failure is not None else ()


def _image(path: str) -> Image:
    """An image of which Codex tells the path, and not the bytes."""
    return Image(path=path, mime=_MIMES.get(path.rpartition(".")[2].lower()))


def _blob(data: str, mime: Any) -> Blob | None:
    try:
        return Blob(data=base64.b64decode(data), mime=mime if isinstance(mime, str) else None)
    except ValueError:  # no valid base64
        return None


# --- Diffs ---


def diff_of(change: native_items.Change) -> str:
    """The diff of one file. Codex sends hunks for an update, and else the whole content.

    The hunks of a file that moves end with a line that says so.
    """
    match change.kind.type:
        case "add":
            return diff(change.path, None, change.diff)
        case "delete":
            return diff(change.path, change.diff, None)
        case _:
            to = change.kind.move_path
            hunks = change.diff if to is None else change.diff.removesuffix(f"\n\nMoved to: {to}")
            return headed(change.path, hunks, to)


def paths_of(changes: Iterable[native_items.Change]) -> tuple[str, ...]:
    """The files of a patch, also where they move to."""
    pairs = ((change.path, change.kind.move_path) for change in changes)
    return tuple(dict.fromkeys(path for pair in pairs for path in pair if path))


def _file_refs(changes: Iterable[native_items.Change]) -> tuple[FileRef, ...]:
    """The files of a patch, each with its diff."""
    return tuple(
        FileRef(
            path=change.kind.move_path or change.path,
            action="write" if change.kind.type == "add" else "patch",
            diff=diff_of(change),
        )
        for change in changes
    )
