"""Tool calls and their results: commands, output, exit codes, files and their diffs."""

from __future__ import annotations

import base64
import binascii
import posixpath
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Struct

from dragoman.agents.amp import native
from dragoman.schema.items import FileAction, FileRef, ToolCall, ToolResult
from dragoman.steps import Blob, CompleteItem, ItemFields, StartItem, Step, WrittenFile
from dragoman.wire import decode as wire
from dragoman.wire.diff import headed

SHELLS = ("shell_command", "async_shell_command", "Bash")
REJECTED = "Tool rejected by "
"""How the result of a call begins that a rule refused, or would have asked a person about."""
_MCP = "mcp__"
_FENCE = re.compile(r"\A```diff\n(.*?)\n?```\s*\Z", re.S)
_HUNK = re.compile(r"^@@ ", re.M)
_any = msgspec.json.Decoder()


class PendingCall(Struct):
    """A call that has no result yet, with what its result needs to know."""

    name: str
    message: str
    """The key of the message that makes the call."""
    input: dict[str, Any]

    def text(self, name: str) -> str | None:
        """An argument that is a text."""
        value = self.input.get(name)
        return value if isinstance(value, str) else None


class Tools:
    """The calls that have no result yet, and the items of both."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._calls: dict[str, PendingCall] = {}

    def call(self, block: native.ToolUseBlock, message: str) -> Iterator[Step]:
        """The model calls a tool, all at once."""
        given = block.input if isinstance(block.input, dict) else {}
        call = self._calls[block.id] = PendingCall(block.name, message, given)
        arguments = msgspec.json.encode({} if block.input is None else block.input).decode()
        yield StartItem(
            key=block.id,
            kind="tool_call",
            role="assistant",
            native_id=block.id,
            parent=message,
            content=(ToolCall(name=block.name, arguments="", call_id=block.id),),
            source="daemon",
            writes=self._written(call),
        )
        yield CompleteItem(
            key=block.id,
            content=(ToolCall(name=block.name, arguments=arguments, call_id=block.id),),
            fields=self._call_fields(call),
        )

    def _written(self, call: PendingCall) -> WrittenFile | None:
        """The file that is about to be written: Amp does not tell what it replaces."""
        path, content = call.text("path"), call.text("content")
        if call.name != "create_file" or not path or content is None:
            return None
        return WrittenFile(path=self._absolute(path), content=content)

    def _call_fields(self, call: PendingCall) -> ItemFields:
        """Its command, and the MCP server whose tool it is."""
        fields: ItemFields = {}
        command = call.text("command") or call.text("cmd")
        if call.name in SHELLS and command is not None:
            fields["command"] = command
            workdir = call.text("workdir") or call.text("cwd") or ""
            fields["cwd"] = self._absolute(workdir)
        if call.name.startswith(_MCP):
            fields["server"] = call.name.split("__")[1]
        return fields

    def result(self, block: native.ToolResultBlock) -> Iterator[Step]:
        """A tool is done."""
        key, call_id = f"{block.tool_use_id}:result", block.tool_use_id
        call = self._calls.pop(call_id, None)
        payload = _payload(block)
        fields = self._result_fields(call, payload)
        failed = block.is_error or "reason" in fields or bool(fields.get("exit_code"))
        yield StartItem(
            key=key,
            kind="tool_result",
            role="tool",
            native_id=call_id,
            parent=None if call is None else call.message,
            content=(ToolResult(call_id=call_id, output=""),),
            source="daemon",
        )
        files = () if call is None or failed else self._files(call, payload)
        output = _output(block, call, payload)
        yield CompleteItem(
            key=key,
            content=(ToolResult(call_id=call_id, output=output), *_images(payload), *files),
            status="failed" if failed else "completed",
            fields=fields,
        )

    def _result_fields(self, call: PendingCall | None, payload: Any) -> ItemFields:
        """The command with its exit code, and why the tool was not run, or not to its end."""
        fields: ItemFields = {} if call is None else self._call_fields(call)
        fields.pop("server", None)
        details = payload if isinstance(payload, dict) else {}
        if details.get("truncation"):
            fields["truncated"] = True
        code = details.get("exitCode")
        if details.get("stopCode"):
            fields["reason"] = str(details["stopCode"])
        elif "command" in fields and type(code) is int:
            fields["exit_code"] = code
        if isinstance(payload, str) and payload.startswith(REJECTED):
            fields["reason"] = "declined"
        return fields

    def clear(self) -> None:
        """The process is gone."""
        self._calls.clear()

    # --- Files ---

    def _files(self, call: PendingCall, payload: Any) -> tuple[FileRef, ...]:
        details = payload if isinstance(payload, dict) else {}
        if call.name == "apply_patch":
            listed = details.get("files")
            each = listed if isinstance(listed, list) else []
            return tuple(self._patched(file) for file in each if isinstance(file, dict))
        path = call.text("path")
        if not path:
            return ()
        path = self._absolute(path)
        match call.name:
            case "Read":
                return (FileRef(path=path, action="read"),)
            case "edit_file":
                return (FileRef(path=path, action="patch", diff=_diff(path, details.get("diff"))),)
            case "create_file":
                return (FileRef(path=path, action="write"),)
            case _:
                return ()

    def _patched(self, file: dict[str, Any]) -> FileRef:
        path = self._absolute(unquote(urlsplit(str(file.get("uri") or "")).path))
        action: FileAction = "write" if file.get("type") == "add" else "patch"
        return FileRef(path=path, action=action, diff=_diff(path, file.get("diff")))

    def _absolute(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self._directory, path))


def _diff(path: str, native_diff: Any) -> str | None:
    """Amp's diff as git would write it: only its hunks are the same."""
    if not isinstance(native_diff, str):
        return None
    fenced = _FENCE.match(native_diff)
    text = fenced[1] if fenced else native_diff
    hunk = _HUNK.search(text)
    return headed(path, text[hunk.start() :] if hunk else "")


def _payload(block: native.ToolResultBlock) -> Any:
    """What a result says: most tools give an object, or blocks, as JSON in a text."""
    content = block.content
    if not isinstance(content, str) or not content.startswith(("{", "[{")):
        return content
    try:
        return wire.decode(content.encode(), _any)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return content


def _output(block: native.ToolResultBlock, call: PendingCall | None, payload: Any) -> str:
    """What the tool printed, rather than what the model reads about it."""
    if isinstance(payload, dict) and call is not None:
        if payload.get("isImage"):
            return ""
        name = {"Read": "content", "apply_patch": "summary"}.get(call.name, "output")
        if isinstance(payload.get(name), str):
            why = payload.get("stopReason")
            return "\n".join(filter(None, (payload[name], why if isinstance(why, str) else "")))
    if isinstance(payload, list) and all(isinstance(each, dict) for each in payload):
        return "\n".join(
            str(each.get("text", "")) for each in payload if each.get("type") == "text"
        )
    if isinstance(block.content, str):
        return block.content
    return "" if block.content is None else msgspec.json.encode(block.content).decode()


def _images(payload: Any) -> Iterator[Blob]:
    """The images in a result: of a file that was read, or among the blocks of an MCP server."""
    if isinstance(payload, dict) and payload.get("isImage"):
        info = payload.get("imageInfo")
        mime = info.get("mimeType") if isinstance(info, dict) else None
        yield from _image(payload.get("content"), mime)
    for each in payload if isinstance(payload, list) else ():
        if isinstance(each, dict) and each.get("type") == "image":
            yield from _image(each.get("data"), each.get("mimeType"))


def _image(data: Any, mime: Any) -> Iterator[Blob]:
    try:
        content = base64.b64decode(data, validate=True) if isinstance(data, str) else b""
    except binascii.Error:
        return
    if content:
        yield Blob(data=content, mime=mime if isinstance(mime, str) else None)
