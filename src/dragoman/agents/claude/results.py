"""What tools gave back, as items: output, exit code, files with their diffs, images."""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from dragoman.adapter import Blob, CompleteItem, Content, Delta, ItemFields, StartItem, Step
from dragoman.agents.claude import model
from dragoman.agents.claude.messages import Call
from dragoman.agents.claude.tasks import Owner
from dragoman.schema.items import ContentPart, FileAction, FileRef, Json, Text, ToolResult

WRITES = ("Write", "Edit", "MultiEdit", "NotebookEdit")
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d+)")


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
        loose=given.owner.loose,
    )
    parts = content_of(given.block.content)
    output = _output(parts, given.structured)
    if output:
        yield Delta(key, output, "output")
    rest = tuple(part for part in parts if not isinstance(part, Text))
    yield CompleteItem(
        key=key,
        content=(ToolResult(call_id=call_id, output=output), *rest, *_files(given)),
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


def _output(parts: Content, structured: Any) -> str:
    """What the tool printed, rather than what the model was told about it."""
    if isinstance(structured, dict) and isinstance(structured.get("stdout"), str):
        printed = [structured["stdout"], structured.get("stderr") or ""]
        if not structured.get("backgroundTaskId"):
            return "\n".join(text for text in printed if text)
    return text_of(parts)


def _fields(given: Given, text: str) -> ItemFields:
    fields: ItemFields = {}
    about = given.structured if isinstance(given.structured, dict) else {}
    if isinstance(about.get("persistedOutputPath"), str):
        fields["output_path"] = about["persistedOutputPath"]
    if given.refused is not None:
        fields["reason"] = "declined" if "reject" in given.refused else given.refused
    elif given.call is not None and given.call.name == "Bash":
        code = _exit_code(given, text, about)
        if code is not None:
            fields["exit_code"] = code
    if given.call is not None and isinstance(given.call.input, dict):
        command = given.call.input.get("command")
        if given.call.name == "Bash" and isinstance(command, str):
            fields["command"], fields["cwd"] = command, given.directory
    return fields


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
    action: FileAction = "write" if call.name == "Write" else "patch"
    return (FileRef(path=path, action=action, diff=_diff_of(path, about)),)


def _diff_of(path: str, about: dict[str, Any]) -> str | None:
    """The change, from what Claude Code tells of the file before and after it."""
    before = about.get("originalFile", about.get("original_file"))
    after = about.get("content", about.get("updated_file"))
    if isinstance(after, str) and (before is None or isinstance(before, str)):
        return diff(path, before, after)
    old, new = about.get("oldString"), about.get("newString")
    if isinstance(before, str) and isinstance(old, str) and isinstance(new, str) and old:
        count = -1 if about.get("replaceAll") else 1
        return diff(path, before, before.replace(old, new, count))
    hunks = about.get("structuredPatch")
    return _from_hunks(path, hunks) if isinstance(hunks, list) and hunks else None


def diff(path: str, before: str | None, after: str) -> str:
    """A git-style unified diff; `before` None: the file is new."""
    name = path.lstrip("/")
    old, new = _lines(before or ""), _lines(after)
    body = list(difflib.unified_diff(old, new, "a", "b", lineterm=""))[2:]
    return _headed(name, before is None, [_ended(line) for line in body])


def _lines(text: str) -> list[str]:
    # A last line that lacks its newline is another line than one that has it.
    lines = text.split("\n")
    whole = [line + "\n" for line in lines[:-1]]
    return [*whole, lines[-1]] if lines[-1] else whole


def _ended(line: str) -> str:
    if line.startswith("@@"):
        return line
    return line[:-1] if line.endswith("\n") else f"{line}\n\\ No newline at end of file"


def _headed(name: str, fresh: bool, body: Sequence[str]) -> str:
    head = [f"diff --git a/{name} b/{name}"]
    head += ["new file mode 100644"] if fresh else []
    if body:
        head += ["--- /dev/null" if fresh else f"--- a/{name}", f"+++ b/{name}"]
    return "\n".join([*head, *body]) + "\n"


def _from_hunks(path: str, hunks: list[Any]) -> str | None:
    body: list[str] = []
    try:
        for hunk in hunks:
            old = f"{hunk['oldStart']},{hunk['oldLines']}"
            body += [f"@@ -{old} +{hunk['newStart']},{hunk['newLines']} @@", *hunk["lines"]]
    except (KeyError, TypeError):
        return None
    return _headed(path.lstrip("/"), False, [str(line) for line in body])
