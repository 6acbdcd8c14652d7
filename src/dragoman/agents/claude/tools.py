"""What tools gave back, as items: output, exit code, files with their diffs, images."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from dragoman.agents.claude import model
from dragoman.agents.claude.diffs import Edit, edited
from dragoman.agents.claude.items import Call
from dragoman.agents.claude.subagents import Owner
from dragoman.schema.items import ContentPart, FileAction, FileRef, Json, Text, ToolResult
from dragoman.steps import (
    AgentFile,
    Blob,
    CompleteItem,
    Content,
    Delta,
    ItemFields,
    StartItem,
    Step,
)
from dragoman.wire.diff import diff

WRITES = ("Write", "Edit", "MultiEdit", "NotebookEdit")
_ERROR = "Error: "
_SILENT = "(Bash completed with no output)"
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d{1,9})(?:\n|$)")
_CUT = re.compile(r"\.\.\. \[\d{1,12} characters truncated\] \.\.\.")
_OUTPUT_FILE = re.compile(r"/.*/[0-9a-f-]{36}/tool-results/[\w.-]+", re.ASCII)
"""Where Claude Code keeps what it cuts: a folder of its conversation, and nowhere else."""
_TOOL_ERROR = re.compile(r"<tool_use_error>(.*)</tool_use_error>", re.S)


class Given(Struct, frozen=True, kw_only=True):
    """A result, and what is known about its call."""

    block: model.ToolResultBlock
    call: Call | None
    owner: Owner
    native_id: str | None
    structured: Any
    """What Claude Code knows about it beyond its text; None where it does not say."""
    refused: str | None
    """Why the tool was not run."""
    directory: str


def result_steps(given: Given) -> Iterator[Step]:
    """The item of a result."""
    call_id = given.block.tool_use_id
    key = f"{call_id}:result"
    yield StartItem(
        key=key,
        kind="tool_result",
        role="tool",
        native_id=given.native_id,
        parent=given.call.message if given.call else None,
        content=(ToolResult(call_id=call_id, output=""),),
        subagent=given.owner.subagent,
        detached=given.owner.detached,
    )
    parts = content_of(given.block.content)
    output = _output(parts, given)
    if output:
        yield Delta(key, output, "output")
    rest = tuple(part for part in parts if not isinstance(part, Text))
    yield CompleteItem(
        key=key,
        content=(
            ToolResult(call_id=call_id, output=output, stderr=_stderr(given)),
            *rest,
            *_files(given),
            *_kept(given),
        ),
        status="failed" if given.block.is_error else "completed",
        fields=_fields(given, text_of(parts)),
    )


def content_of(content: Any) -> Content:
    """The parts of what stands under a role or in a result; what we do not know is a json part."""
    if isinstance(content, str):
        return (Text(text=content),)
    return tuple(_part(model.decode_block(raw)) for raw in content or ())


def _part(block: model.AnyBlock | model.Unmodelled) -> ContentPart | Blob:
    match block:
        case model.TextBlock(text=text):
            return Text(text=text)
        case model.ImageBlock(source=source) if source.data is not None:
            return Blob(data=source.data, mime=source.media_type)
        case model.Unmodelled(json=json):
            return Json(json=json)
        case _:
            return Json(json={"type": type(block).__struct_config__.tag})


def text_of(parts: Content) -> str:
    """The text of parts."""
    return "\n".join(part.text for part in parts if isinstance(part, Text))


def _output(parts: Content, given: Given) -> str:
    """What the tool printed, rather than what the model was told about it."""
    about, text = given.structured, text_of(parts)
    if isinstance(about, dict) and isinstance(about.get("stdout"), str):
        printed = [about["stdout"], about.get("stderr")]
        if not about.get("backgroundTaskId"):
            return "\n".join(text for text in printed if text and isinstance(text, str))
    if given.block.is_error:
        return _failure(text, given)
    return "" if text == _SILENT and given.call is not None and given.call.name == "Bash" else text


def _stderr(given: Given) -> str | UnsetType:
    """What of the output went to stderr; most versions merge the two."""
    about = given.structured if isinstance(given.structured, dict) else {}
    stderr = about.get("stderr")
    if not isinstance(about.get("stdout"), str) or about.get("backgroundTaskId"):
        return UNSET
    return stderr if stderr and isinstance(stderr, str) else UNSET


def _failure(text: str, given: Given) -> str:
    """What went wrong, without the words around it that are for the model only."""
    told = given.structured
    if isinstance(told, str) and told.startswith(_ERROR):
        text = told.removeprefix(_ERROR)
    wrapped = _TOOL_ERROR.fullmatch(text)
    text = wrapped[1].removeprefix(_ERROR) if wrapped else text
    code = _EXIT_CODE.match(text) if given.call is not None and given.call.name == "Bash" else None
    return text[code.end() :] if code else text


def _fields(given: Given, text: str) -> ItemFields:
    fields: ItemFields = {}
    about = given.structured if isinstance(given.structured, dict) else {}
    if isinstance(about.get("persistedOutputPath"), str):
        fields["output_path"] = about["persistedOutputPath"]
        fields["truncated"] = True
    elif given.block.is_error and _is_command(given) and _CUT.search(text):
        fields["truncated"] = True
    if given.refused is not None:
        cut = given.refused == "interrupted"
        fields["reason"] = "interrupted" if cut else "declined"
    elif _is_command(given):
        code = _exit_code(given, text, about)
        if code is not None:
            fields["exit_code"] = code
    if given.call is not None and isinstance(given.call.input, dict):
        command = given.call.input.get("command")
        if given.call.name == "Bash" and isinstance(command, str):
            fields["command"], fields["cwd"] = command, given.directory
    return fields


def _is_command(given: Given) -> bool:
    return given.call is not None and given.call.name == "Bash"


def _kept(given: Given) -> tuple[AgentFile, ...]:
    """All of an output of which Claude Code tells only the beginning."""
    about = given.structured if isinstance(given.structured, dict) else {}
    path = about.get("persistedOutputPath")
    if not isinstance(path, str) or ".." in path or not _OUTPUT_FILE.fullmatch(path):
        return ()
    return (AgentFile(path=path),)


def _exit_code(given: Given, text: str, about: dict[str, Any]) -> int | None:
    """Claude Code tells the code of a failure only, and only to the model."""
    if given.block.is_error:
        found = _EXIT_CODE.match(text)
        return int(found[1]) if found else None
    return None if about.get("interrupted") or about.get("backgroundTaskId") else 0


# --- Files ---


def _files(given: Given) -> tuple[FileRef, ...]:
    call = given.call
    if call is None or given.block.is_error or call.name not in (*WRITES, "Read"):
        return ()
    asked = call.input if isinstance(call.input, dict) else {}
    about = given.structured if isinstance(given.structured, dict) else {}
    named = about.get("filePath") or asked.get("file_path") or asked.get("notebook_path")
    if not isinstance(named, str):
        return ()
    path = posixpath.normpath(posixpath.join(given.directory, named))
    if call.name == "Read":
        return (FileRef(path=path, action="read"),)
    action: FileAction = "write" if call.name == "Write" or _creates(about) else "patch"
    return (FileRef(path=path, action=action, diff=_diff_of(path, about)),)


def _diff_of(path: str, about: dict[str, Any]) -> str | None:
    """The change, from what Claude Code tells of the file before and after it."""
    before = about.get("originalFile", about.get("original_file"))
    after = about.get("content", about.get("updated_file"))
    old, new = about.get("oldString"), about.get("newString")
    if isinstance(before, str) and isinstance(old, str) and isinstance(new, str):
        after = edited(
            Edit(
                before=before,
                old=old,
                new=new,
                everywhere=about.get("replaceAll") is True,
                hunks=about.get("structuredPatch"),
            )
        )
        before = None if _creates(about) else before
    if isinstance(after, str) and (before is None or isinstance(before, str)):
        return diff(path, before, after)
    return None


def _creates(about: dict[str, Any]) -> bool:
    """Whether an edit makes the file: it replaces nothing, where nothing was."""
    return about.get("oldString") == "" and about.get("originalFile") == ""
