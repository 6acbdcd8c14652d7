"""Tool calls and their results, the files that they change, and diffs."""

from __future__ import annotations

import base64
import binascii
import posixpath
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from dragoman.agents.opencode import native
from dragoman.agents.opencode.subagents import Owner
from dragoman.schema.items import ContentPart, FileRef, ItemStatus, ToolCall, ToolResult
from dragoman.steps import Blob, CompleteItem, Delta, ItemFields, StartItem, Step
from dragoman.wire.diff import diff, headed

_DECLINED = ("The user rejected permission", "The user dismissed this question")
"""How the results begin of what a person refused (1.18.33)."""
TASK = "task"


class Call:
    """A tool call without a result."""

    def __init__(self) -> None:
        self.is_complete = False
        """Its arguments are in the stream."""
        self.is_result_open = False
        self.output = ""
        """What was streamed of its output."""
        self.input: dict[str, Any] = {}
        self.diff: str | None = None
        """The change that was asked for, where the result does not tell it."""


class ToolCalls:
    """The tool calls under way, by the ids of their parts."""

    def __init__(self, directory: str, servers: Iterable[str]) -> None:
        self._directory = directory
        self._servers = {_sanitized(name): name for name in servers}
        self._calls: dict[str, Call] = {}
        self._keys: dict[tuple[str, str], str] = {}
        """(session, call id) → the key of the call's item."""
        self._over: set[str] = set()
        self.is_interrupting = False
        """The turn is being stopped: what ends now was cut."""

    def key_of(self, session: str, tool: native.ToolRef | None) -> str | None:
        """The item of the call that a request is about; None: it is not there."""
        return None if tool is None else self._keys.get((session, tool.call_id))

    def is_known(self, key: str | None) -> bool:
        """Whether a call's arguments are in the stream."""
        call = self._calls.get(key or "")
        return call is not None and call.is_complete

    def input_of(self, key: str | None) -> dict[str, Any]:
        """What a call is called with, as far as that is known."""
        call = self._calls.get(key or "")
        return {} if call is None else call.input

    def keep_diff(self, key: str | None, text: str | None) -> None:
        """What a call wants to change, as its request tells."""
        call = self._calls.get(key or "")
        if call is not None and text:
            call.diff = text

    def update(self, part: native.ToolPart, owner: Owner, parent: str | None) -> Iterator[Step]:
        """A call begins, runs, prints or has its result."""
        if part.id in self._over:
            return
        call = self._calls.get(part.id)
        if call is None:
            call = self._calls[part.id] = Call()
            self._keys[owner.session, part.call_id] = part.id
            yield self._start(part, owner, parent)
        state = part.state
        if state.status == "pending":
            return
        if not call.is_complete:
            call.is_complete = True
            call.input = state.input if isinstance(state.input, dict) else {}
            yield CompleteItem(key=part.id, content=(_content(part),), fields=self._fields(part))
        if state.status == "running":
            yield from self._print(part, call, owner, parent)
        else:
            yield from self._complete(part, call, owner, parent)

    def _start(self, part: native.ToolPart, owner: Owner, parent: str | None) -> StartItem:
        return owner.item(
            parent=parent,
            key=part.id,
            kind="tool_call",
            role="assistant",
            native_id=part.id,
            content=(ToolCall(name=part.tool, arguments="", call_id=part.call_id),),
            fields=self._fields(part),
        )

    def _fields(self, part: native.ToolPart) -> ItemFields:
        given = part.state.input if isinstance(part.state.input, dict) else {}
        fields: ItemFields = {}
        if part.state.title:
            fields["title"] = part.state.title
        if part.tool == "bash" and isinstance(given.get("command"), str):
            fields["command"] = given["command"]
            fields["cwd"] = self._absolute(str(given.get("workdir") or self._directory))
        server = next((name for key, name in self._servers.items()
                       if part.tool.startswith(f"{key}_")), None)  # fmt: skip
        if server is not None:
            fields["server"] = server
        return fields

    # --- Results ---

    def _open(
        self, part: native.ToolPart, call: Call, owner: Owner, parent: str | None
    ) -> Iterator[Step]:
        if not call.is_result_open:
            call.is_result_open = True
            yield owner.item(
                parent=parent,
                key=_result_key(part.id),
                kind="tool_result",
                role="tool",
                native_id=part.id,
                content=(ToolResult(call_id=part.call_id, output=""),),
            )

    def _print(
        self, part: native.ToolPart, call: Call, owner: Owner, parent: str | None
    ) -> Iterator[Step]:
        """What a command has printed: all of it, or its end, is told each time."""
        output = part.state.metadata.get("output")
        if not isinstance(output, str) or not output or output == call.output:
            return
        fresh = output.removeprefix(call.output) if output.startswith(call.output) else output
        call.output = output
        yield from self._open(part, call, owner, parent)
        yield Delta(_result_key(part.id), fresh, "output")

    def _complete(
        self, part: native.ToolPart, call: Call, owner: Owner, parent: str | None
    ) -> Iterator[Step]:
        state = part.state
        failed = state.status == "error"
        text = state.error if failed else state.output
        yield from self._open(part, call, owner, parent)
        status: ItemStatus = "failed" if failed or _exit_code(state) else "completed"
        fields: ItemFields = _result_fields(state)
        if self.is_interrupting:
            status, fields["reason"] = "failed", "interrupted"
        elif failed and state.error.startswith(_DECLINED):
            fields["reason"] = "declined"
        more = () if failed else (*self._files(part, call), *_attachments(state))
        yield CompleteItem(
            key=_result_key(part.id),
            content=(ToolResult(call_id=part.call_id, output=text), *more),
            status=status,
            fields=fields,
        )
        del self._calls[part.id]
        self._over.add(part.id)

    def _files(self, part: native.ToolPart, call: Call) -> Iterator[ContentPart]:
        given = part.state.input if isinstance(part.state.input, dict) else {}
        metadata = part.state.metadata
        path = given.get("filePath")
        if isinstance(metadata.get("files"), list):
            yield from (self._patched(file) for file in metadata["files"] if isinstance(file, dict))
        elif not isinstance(path, str):
            return
        elif part.tool == "read":
            yield FileRef(path=self._absolute(path), action="read")
        elif part.tool == "write":
            yield self._written(self._absolute(path), given, metadata, call)
        elif "diff" in metadata or call.diff is not None:
            text = metadata.get("diff") or call.diff
            name = self._absolute(path)
            yield FileRef(path=name, action="patch", diff=git_diff(name, str(text)))

    def _written(
        self, path: str, given: dict[str, Any], metadata: dict[str, Any], call: Call
    ) -> FileRef:
        """All of a file; what was there before only a request tells."""
        change = None
        if metadata.get("exists") is False:
            change = diff(path, None, str(given.get("content", "")))
        elif call.diff is not None:
            change = git_diff(path, call.diff)
        return FileRef(path=path, action="write", diff=change)

    def _patched(self, file: dict[str, Any]) -> FileRef:
        path = self._absolute(str(file.get("movePath") or file.get("filePath") or ""))
        kind = file.get("type")
        text = file.get("patch") or file.get("diff")
        if kind == "add":
            after = file.get("after")
            change = diff(path, None, after) if isinstance(after, str) else None
            return FileRef(path=path, action="write", diff=change or _maybe(path, text))
        return FileRef(path=path, action="patch", diff=_maybe(path, text))

    def _absolute(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self._directory, path))

    # --- Ends ---

    def end_turn(self) -> None:
        """Forget the calls of the turn; what still comes of them is over."""
        self.is_interrupting = False
        self._over.update(self._calls)
        self._calls.clear()
        self._keys.clear()

    def reset(self) -> None:
        """Forget everything: the process is gone."""
        self.end_turn()
        self._over.clear()


def _sanitized(name: str) -> str:
    """An MCP server's name as it stands in the names of its tools."""
    return "".join(char if char.isalnum() or char in "_-" else "_" for char in name)


def _result_key(key: str) -> str:
    return f"{key}:result"


def _content(part: native.ToolPart) -> ToolCall:
    arguments = msgspec.json.encode(part.state.input).decode()
    return ToolCall(name=part.tool, arguments=arguments, call_id=part.call_id)


def _exit_code(state: native.ToolState) -> int | None:
    code = state.metadata.get("exit")
    return code if type(code) is int else None


def _result_fields(state: native.ToolState) -> ItemFields:
    fields: ItemFields = {}
    if (code := _exit_code(state)) is not None:
        fields["exit_code"] = code
    if state.metadata.get("truncated") is True:
        fields["truncated"] = True
        if isinstance(path := state.metadata.get("outputPath"), str):
            fields["output_path"] = path
    time = state.time
    if time is not None and type(time.start) is int and type(time.end) is int:
        fields["duration_ms"] = max(0, time.end - time.start)
    return fields


def _attachments(state: native.ToolState) -> Iterator[Blob]:
    for file in state.attachments or ():
        head, _, data = file.url.partition(",")
        if head.startswith("data:") and head.endswith(";base64"):
            try:
                content = base64.b64decode(data, validate=True)
            except binascii.Error:
                continue
            yield Blob(data=content, mime=file.mime or None)


def _maybe(path: str, text: Any) -> str | None:
    return git_diff(path, text) if isinstance(text, str) and text else None


def git_diff(path: str, text: str) -> str:
    """OpenCode's diff as git would write it: only its hunks are the same."""
    start = 0 if text.startswith("@@") else text.find("\n@@") + 1
    if start == 0 and not text.startswith("@@"):
        return headed(path, "")
    return headed(path, text[start:])
