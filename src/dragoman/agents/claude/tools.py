"""Tool calls and their results as items: commands, output, exit codes, files and their diffs."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from dragoman.agents.claude import native
from dragoman.agents.claude.subagents import Owner
from dragoman.schema.items import FileAction, FileRef, Text, ToolResult
from dragoman.steps import AgentFile, CompleteItem, Content, Delta, ItemFields, StartItem, Step
from dragoman.wire.diff import diff, lines_of

SHELL = "Bash"
WRITES = ("Write", "Edit", "MultiEdit", "NotebookEdit")


# --- Calls ---


class PendingCall(Struct):
    """A tool call that has no result yet, with what the result needs to know of it."""

    name: str
    message: str
    """The key of the message that makes the call."""
    owner: Owner
    is_main: bool
    """The main agent makes it, not a subagent."""
    input: Any = None

    @property
    def command(self) -> str | None:
        """The command of a call of the shell."""
        return shell_command(self.name, self.input)


def shell_command(tool: str, input: Any) -> str | None:
    """The command of a call of the shell; None: it is none."""
    command = input.get("command") if isinstance(input, dict) else None
    return command if tool == SHELL and isinstance(command, str) else None


def call_fields(block: native.AnyBlock, directory: str) -> ItemFields:
    """The fields of a finished call: its command, and the model's own title for it."""
    fields = server_fields(block)
    if isinstance(block, native.TOOL_USES) and isinstance(block.input, dict):
        command, title = shell_command(block.name, block.input), block.input.get("description")
        if command is not None:
            fields["command"], fields["cwd"] = command, directory
        if isinstance(title, str):
            fields["title"] = title
    return fields


def server_fields(block: native.AnyBlock) -> ItemFields:
    """The MCP server of a tool that is called `mcp__SERVER__TOOL`."""
    if isinstance(block, native.TOOL_USES) and block.name.startswith("mcp__"):
        return {"server": block.name.split("__")[1]}
    return {}


# --- Results ---

_ERROR = "Error: "
_NO_OUTPUT = "(Bash completed with no output)"
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d{1,9})(?:\n|$)")
_TRUNCATED = re.compile(r"\.\.\. \[\d{1,12} characters truncated\] \.\.\.")
_OUTPUT_FILE = re.compile(r"/.*/[0-9a-f-]{36}/tool-results/[\w.-]+", re.ASCII)
"""Where Claude Code stores long output: a folder of its conversation, and nowhere else."""
_TOOL_ERROR = re.compile(r"<tool_use_error>(.*)</tool_use_error>", re.S)


class ToolOutcome(Struct, frozen=True, kw_only=True):
    """The result of a tool, and what is known about its call."""

    block: native.ToolResultBlock
    content: Content
    """The content of the block, as parts."""
    call: PendingCall | None
    owner: Owner
    native_id: str | None
    native_result: Any
    """What Claude Code says about the result beyond its text, if anything."""
    refusal: str | None
    """Why the tool was not run."""
    directory: str

    @property
    def text(self) -> str:
        """The text that the model reads."""
        return "\n".join(part.text for part in self.content if isinstance(part, Text))

    @property
    def details(self) -> dict[str, Any]:
        """The native result, where it is an object."""
        return self.native_result if isinstance(self.native_result, dict) else {}

    @property
    def is_shell(self) -> bool:
        """It is the result of a command."""
        return self.call is not None and self.call.name == SHELL


def result_steps(outcome: ToolOutcome) -> Iterator[Step]:
    """The item of a result."""
    call_id = outcome.block.tool_use_id
    key = f"{call_id}:result"
    yield StartItem(
        key=key,
        kind="tool_result",
        role="tool",
        native_id=outcome.native_id,
        parent=outcome.call.message if outcome.call else None,
        content=(ToolResult(call_id=call_id, output=""),),
        subagent=outcome.owner.subagent,
        detached=outcome.owner.detached,
    )
    output = _output(outcome)
    if output:
        yield Delta(key, output, "output")
    rest = tuple(part for part in outcome.content if not isinstance(part, Text))
    yield CompleteItem(
        key=key,
        content=(
            ToolResult(call_id=call_id, output=output, stderr=_stderr(outcome)),
            *rest,
            *_files(outcome),
            *_output_file(outcome),
        ),
        status="failed" if outcome.block.is_error else "completed",
        fields=_result_fields(outcome),
    )


def _output(outcome: ToolOutcome) -> str:
    """What the tool printed, rather than what the model reads about it."""
    details, text = outcome.details, outcome.text
    if isinstance(details.get("stdout"), str) and not details.get("backgroundTaskId"):
        streams = [details["stdout"], details.get("stderr")]
        return "\n".join(each for each in streams if each and isinstance(each, str))
    if outcome.block.is_error:
        return _failure(outcome)
    return "" if text == _NO_OUTPUT and outcome.is_shell else text


def _stderr(outcome: ToolOutcome) -> str | UnsetType:
    """What of the output went to stderr; most versions merge the two."""
    details = outcome.details
    stderr = details.get("stderr")
    if not isinstance(details.get("stdout"), str) or details.get("backgroundTaskId"):
        return UNSET
    return stderr if stderr and isinstance(stderr, str) else UNSET


def _failure(outcome: ToolOutcome) -> str:
    """What went wrong, without what is around it for the model."""
    text, native_result = outcome.text, outcome.native_result
    if isinstance(native_result, str) and native_result.startswith(_ERROR):
        text = native_result.removeprefix(_ERROR)
    wrapped = _TOOL_ERROR.fullmatch(text)
    text = wrapped[1].removeprefix(_ERROR) if wrapped else text
    code = _EXIT_CODE.match(text) if outcome.is_shell else None
    return text[code.end() :] if code else text


def _result_fields(outcome: ToolOutcome) -> ItemFields:
    fields: ItemFields = {}
    path = outcome.details.get("persistedOutputPath")
    if isinstance(path, str):
        fields["output_path"] = path
        fields["truncated"] = True
    elif outcome.block.is_error and outcome.is_shell and _TRUNCATED.search(outcome.text):
        fields["truncated"] = True
    if outcome.refusal is not None:
        is_interrupted = outcome.refusal == "interrupted"
        fields["reason"] = "interrupted" if is_interrupted else "declined"
    elif outcome.is_shell:
        code = _exit_code(outcome)
        if code is not None:
            fields["exit_code"] = code
    if outcome.call is not None and outcome.call.command is not None:
        fields["command"], fields["cwd"] = outcome.call.command, outcome.directory
    return fields


def _exit_code(outcome: ToolOutcome) -> int | None:
    """2.1.325 gives the exit code of a failure only, and only in the text for the model."""
    if outcome.block.is_error:
        code = _EXIT_CODE.match(outcome.text)
        return int(code[1]) if code else None
    details = outcome.details
    return None if details.get("interrupted") or details.get("backgroundTaskId") else 0


def _output_file(outcome: ToolOutcome) -> tuple[AgentFile, ...]:
    """The file with the whole of an output of which the result has only the beginning."""
    path = outcome.details.get("persistedOutputPath")
    if not isinstance(path, str) or ".." in path or not _OUTPUT_FILE.fullmatch(path):
        return ()
    return (AgentFile(path=path),)


# --- Files ---


def _files(outcome: ToolOutcome) -> tuple[FileRef, ...]:
    call, details = outcome.call, outcome.details
    if call is None or outcome.block.is_error or call.name not in (*WRITES, "Read"):
        return ()
    arguments = call.input if isinstance(call.input, dict) else {}
    name = details.get("filePath") or arguments.get("file_path") or arguments.get("notebook_path")
    if not isinstance(name, str):
        return ()
    path = posixpath.normpath(posixpath.join(outcome.directory, name))
    if call.name == "Read":
        return (FileRef(path=path, action="read"),)
    action: FileAction = "write" if call.name == "Write" or _creates(details) else "patch"
    return (FileRef(path=path, action=action, diff=_diff_of(path, details)),)


def _diff_of(path: str, details: dict[str, Any]) -> str | None:
    """The change, from what Claude Code says about the file before and after it."""
    before = details.get("originalFile", details.get("original_file"))
    after = details.get("content", details.get("updated_file"))
    old, new = details.get("oldString"), details.get("newString")
    if isinstance(before, str) and isinstance(old, str) and isinstance(new, str):
        after = text_after(
            Edit(
                before=before,
                old=old,
                new=new,
                everywhere=details.get("replaceAll") is True,
                hunks=details.get("structuredPatch"),
            )
        )
        before = None if _creates(details) else before
    if isinstance(after, str) and (before is None or isinstance(before, str)):
        return diff(path, before, after)
    return None


def _creates(details: dict[str, Any]) -> bool:
    """Whether an edit makes the file: it replaces nothing, in an empty file."""
    return details.get("oldString") == "" and details.get("originalFile") == ""


# --- Edits ---

_TABS = re.compile(r"^\t+", re.M)


class Hunk(Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of a file, with the lines that are removed and added."""

    old_start: Annotated[int, Meta(ge=0)]
    lines: tuple[Annotated[str, Meta(min_length=1)], ...]


class Edit(Struct, frozen=True, kw_only=True):
    """What Claude Code says about an edit: the strings, and hunks to show to people."""

    before: str
    old: str
    new: str
    everywhere: bool
    hunks: Any


def text_after(edit: Edit) -> str | None:
    """The file after an edit; None where strings and hunks make no sense.

    The strings alone are not enough: 2.1.325 removes a deleted line with its newline, and keeps
    curly quotes curly. Nor are the hunks: there, tabs at the start of a line are spaces. So the
    strings are replaced in the way that agrees with the hunks.
    """
    patched = _apply_hunks(edit.before, edit.hunks)
    for after in _candidates(edit):
        if patched is None or _without_tabs(after) == _without_tabs(patched):
            return after
    return patched


def _candidates(edit: Edit) -> Iterator[str]:
    count = -1 if edit.everywhere else 1
    if edit.old and edit.old in edit.before:
        yield edit.before.replace(edit.old, edit.new, count)
        if not edit.new:
            yield edit.before.replace(f"{edit.old}\n", "", count)


def _apply_hunks(before: str, value: Any) -> str | None:
    """The file with the hunks applied; None where there are none, or not for this file."""
    try:
        hunks = msgspec.convert(value, tuple[Hunk, ...])
    except msgspec.ValidationError:
        return None
    if not hunks:
        return None
    lines, at, above = lines_of(before), 0, ""
    after: list[str] = []
    try:
        for hunk in hunks:
            after += lines[at : hunk.old_start - 1]
            at = hunk.old_start - 1
            for line in _with_newlines(hunk.lines):
                if line[0] == "+":
                    after.append(_with_tabs(line[1:], above))
                    continue
                above = lines[at]
                after += [above] if line[0] == " " else []
                at += 1
    except IndexError:
        return None
    return "".join([*after, *lines[at:]])


def _with_newlines(lines: tuple[str, ...]) -> list[str]:
    """A hunk's lines with their newlines, but for one that is marked to have none."""
    ended: list[str] = []
    for line in lines:
        if line.startswith("\\"):
            ended[-1] = ended[-1][:-1]
        else:
            ended.append(f"{line}\n")
    return ended


def _with_tabs(line: str, replaced: str) -> str:
    """A line whose tabs were shown as spaces, with the tabs of the line that it replaces."""
    tabs = replaced[: len(replaced) - len(replaced.lstrip("\t"))]
    spaces = _without_tabs(tabs)
    return f"{tabs}{line[len(spaces) :]}" if line.startswith(spaces) else line


def _without_tabs(text: str) -> str:
    return _TABS.sub(lambda tabs: "  " * len(tabs[0]), text)
