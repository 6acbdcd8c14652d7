"""Tool calls and their results: commands, output, exit codes, files and their diffs."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from dragoman.agents.pi import native
from dragoman.agents.pi.numbered_diff import hunks_of
from dragoman.schema.items import FileRef, Text, ToolCall, ToolResult
from dragoman.steps import CompleteItem, Content, Delta, ItemFields, StartItem, Step
from dragoman.wire import decode as wire
from dragoman.wire.diff import diff, headed

SHELLS = ("bash", "powershell")
EDITS = ("edit", "write")
REPLACED_FILE = "dragoman.replaced"
"""The status in which our extension tells what `write` is about to replace."""
_EXIT_CODE = re.compile(r"(?:\n\n|\A)Command exited with code (\d{1,9})\s*$")
_NO_OUTPUT = "(no output)"
_HEADER = re.compile(r"\A--- [^\n]*\n\+\+\+ [^\n]*\n")
_MCP = "mcp__"


class ReplacedFile(Struct, frozen=True, kw_only=True, rename="camel"):
    """A file that is about to be written over."""

    tool_call_id: str
    content: str | None = None
    """None: it is too long, or no text."""


_replaced_file = msgspec.json.Decoder(ReplacedFile)


class PendingCall(Struct):
    """A call that has no result yet, with what its result needs to know."""

    name: str
    message: str | None
    """The key of the message that makes the call; None: another tool makes it."""
    input: Any = None
    output: str | None = None
    """What it printed so far; None: its result has not started."""
    is_declined: bool = False
    replaced: ReplacedFile | None = None
    """What it replaces; None: it makes a new file, where it writes one."""


def command_in(name: str, input: Any) -> str | None:
    """The command of a shell; None: it is none."""
    command = input.get("command") if isinstance(input, dict) else None
    return command if name in SHELLS and isinstance(command, str) else None


def path_in(input: Any, directory: str) -> str | None:
    """The file that a tool works on."""
    path = input.get("path") if isinstance(input, dict) else None
    if not isinstance(path, str) or not path:
        return None
    return posixpath.normpath(posixpath.join(directory, path))


def call_fields(name: str, input: Any, directory: str) -> ItemFields:
    """The fields of a call: its command, and the MCP server whose tool it is."""
    fields: ItemFields = {}
    command = command_in(name, input)
    if command is not None:
        fields["command"], fields["cwd"] = command, directory
    if name.startswith(_MCP):
        fields["server"] = name.split("__")[1]
    return fields


# --- Results ---


class Tools:
    """Turns what runs into results; the calls are those that the model made."""

    def __init__(self, calls: dict[str, PendingCall], directory: str) -> None:
        self._calls = calls
        self._directory = directory

    def start(self, line: native.ToolStart) -> Iterator[Step]:
        """A tool begins; one that another tool calls was announced by nobody."""
        key = line.tool_call_id
        known = self._calls.get(key)
        if known is not None:
            known.input = known.input if line.args is None else line.args
            return
        if line.parent_tool_call_id is None:
            return
        parent = self._calls.get(line.parent_tool_call_id)
        self._calls[key] = PendingCall(
            line.tool_name, parent.message if parent else None, line.args
        )
        call = ToolCall(name=line.tool_name, arguments="", call_id=key)
        yield StartItem(
            key=key,
            kind="tool_call",
            role="assistant",
            native_id=key,
            parent=line.parent_tool_call_id,
            content=(call,),
        )
        arguments = _encode(line.args)
        yield Delta(key, arguments, "arguments")
        yield CompleteItem(
            key=key,
            content=(ToolCall(name=line.tool_name, arguments=arguments, call_id=key),),
            fields=call_fields(line.tool_name, line.args, self._directory),
        )

    def on_replaced_file(self, text: str) -> None:
        """Our extension tells what a call is about to replace."""
        file = wire.decode(text.encode(), _replaced_file)
        if file.tool_call_id in self._calls:
            self._calls[file.tool_call_id].replaced = file

    def update(self, line: native.ToolUpdate) -> Iterator[Step]:
        """Pi repeats all that a tool printed so far; what is new is shown."""
        result = line.partial_result
        if result is not None and line.tool_call_id in self._calls:
            yield from self._print(line.tool_call_id, native.text_of(result.content))

    def _print(self, key: str, output: str) -> Iterator[Step]:
        call = self._calls[key]
        before = call.output or ""
        # Of a long output Pi keeps the end: then what comes at the end is all that is told.
        if output and output.startswith(before) and output != before:
            if call.output is None:
                yield self._result_item(key, call)
            call.output = output
            yield Delta(_result_key(key), output[len(before) :], "output")

    def _result_item(self, key: str, call: PendingCall | None) -> StartItem:
        return StartItem(
            key=_result_key(key),
            kind="tool_result",
            role="tool",
            native_id=key,
            parent=call.message if call else None,
            content=(ToolResult(call_id=key, output=""),),
        )

    def end(self, line: native.ToolEnd, parts: Content, *, interrupted: bool) -> Iterator[Step]:
        """A tool is done."""
        key = line.tool_call_id
        call = self._calls.pop(key, None)
        if call is None or call.output is None:
            yield self._result_item(key, call)
        result = line.result or native.ToolOutput()
        code, output = _output(line, result, parts)
        printed = "" if call is None else call.output or ""
        if output.startswith(printed) and output != printed:
            yield Delta(_result_key(key), output[len(printed) :], "output")
        fields = {} if call is None else call_fields(call.name, call.input, self._directory)
        fields.pop("server", None)
        if code is not None:
            fields["exit_code"] = code
        if line.duration_ms is not None:
            fields["duration_ms"] = line.duration_ms
        if call is not None and call.is_declined:
            fields["reason"] = "declined"
        elif line.is_error and interrupted:
            fields["reason"] = "interrupted"
            fields.pop("exit_code", None)
        fields = {**fields, **_truncation(result)}
        yield CompleteItem(
            key=_result_key(key),
            content=(
                ToolResult(call_id=key, output=output),
                *(part for part in parts if not isinstance(part, Text)),
                *self._files(line, call),
            ),
            status="failed" if line.is_error else "completed",
            fields=fields,
        )

    def _files(self, line: native.ToolEnd, call: PendingCall | None) -> tuple[FileRef, ...]:
        if call is None or line.is_error or call.name not in (*EDITS, "read"):
            return ()
        path = path_in(call.input, self._directory)
        if path is None:
            return ()
        if call.name == "read":
            return (FileRef(path=path, action="read"),)
        if call.name == "write":
            return (FileRef(path=path, action="write", diff=self._written(path, call)),)
        hunks = _edit_hunks(line.result.details if line.result else None)
        change = None if hunks is None else headed(path, hunks)
        return (FileRef(path=path, action="patch", diff=change),)

    def _written(self, path: str, call: PendingCall) -> str | None:
        """The diff of a file that was written."""
        content, replaced = call.input.get("content"), call.replaced
        for key, other in self._calls.items():
            # Calls of one message are announced together, and write the same file in turn.
            if other.name == "write" and path_in(other.input, self._directory) == path:
                other.replaced = ReplacedFile(tool_call_id=key, content=content)
        if not isinstance(content, str) or (replaced and replaced.content is None):
            return None
        return diff(path, replaced.content if replaced else None, content)


def _result_key(call_id: str) -> str:
    return f"{call_id}:result"


def _encode(value: Any) -> str:
    return msgspec.json.encode({} if value is None else value).decode()


def _output(
    line: native.ToolEnd, result: native.ToolOutput, parts: Content
) -> tuple[int | None, str]:
    """The exit code of a command, and what it printed rather than what the model reads."""
    text = "\n".join(part.text for part in parts if isinstance(part, Text))
    if line.tool_name not in SHELLS:
        return None, text
    structured = result.structured_content
    if isinstance(structured, dict) and isinstance(structured.get("output"), str):
        code = structured.get("exit_code")
        return (code if type(code) is int else None), structured["output"]
    # Before 0.99.0, and where a command was stopped, the text is all there is.
    found = _EXIT_CODE.search(text)
    code = int(found[1]) if found else None if line.is_error else 0
    output = text[: found.start()] if found else text
    return code, "" if output == _NO_OUTPUT else output


def _edit_hunks(details: Any) -> str | None:
    """What an edit changed; before 0.75.5 only in a form of Pi's own."""
    match details:
        case {"patch": str(patch)}:
            return _HEADER.sub("", patch)
        case {"diff": str(numbered)}:
            return hunks_of(numbered)
        case _:
            return None


def _truncation(result: native.ToolOutput) -> ItemFields:
    """Whether the output was cut, and where all of it is."""
    fields: ItemFields = {}
    told = [each for each in (result.structured_content, result.details) if isinstance(each, dict)]
    if any(each.get("truncated") is True or each.get("truncation") for each in told):
        fields["truncated"] = True
    path = next((each["fullOutputPath"] for each in told if each.get("fullOutputPath")), None)
    if isinstance(path, str):
        fields["output_path"] = path
    return fields
