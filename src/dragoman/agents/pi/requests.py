"""What extensions ask of people: permissions and questions, and the answers to them.

Pi asks for nothing itself (1.5.0). Extensions do: ours before a tool runs (`extension.ts`), those
of the user whenever they like. A request may have a time-out, after which Pi goes on by itself and
tells nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from dragoman.agents.pi import native
from dragoman.agents.pi.tools import EDITS, command_in, path_in
from dragoman.schema.commands import AnswerPermission, AnswerQuestion
from dragoman.schema.events import Question, QuestionOption
from dragoman.steps import AskPermission, AskQuestion, FileChange, Withdraw
from dragoman.wire import decode as wire
from dragoman.wire.diff import diff

OURS = "dragoman.permission"
"""The title of what our own extension asks."""
ALLOW = "allow"
DECLINED = "The user declined this tool call."
DIALOGS = ("confirm", "select", "input", "editor")
"""The methods that wait for an answer."""


class ToolRequest(Struct, frozen=True, kw_only=True, rename="camel"):
    """What our own extension asks: whether a tool may run."""

    tool_call_id: str
    tool_name: str
    input: Any = None


class PendingRequest(Struct, frozen=True, kw_only=True):
    """A request that waits, with what its answer needs."""

    method: str
    call_id: str | None = None
    """The call that our own extension asks about."""


_tool_request = msgspec.json.Decoder(ToolRequest)


class Requests:
    """What extensions ask, and nobody has answered."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._pending: dict[str, PendingRequest] = {}

    def ask(self, line: native.UiRequest) -> AskPermission | AskQuestion:
        """An extension asks."""
        about = tool_request(line)
        call_id = None if about is None else about.tool_call_id
        self._pending[line.id] = PendingRequest(method=line.method, call_id=call_id)
        if about is None:
            return dialog(line)
        return tool_permission(line.id, about, self._directory)

    def answer(
        self, answer: AnswerPermission | AnswerQuestion
    ) -> tuple[dict[str, Any], str | None]:
        """A person answers: what Pi is told, and the call that is declined by it."""
        request = self._pending.pop(answer.key, None)
        told = {
            "type": "extension_ui_response",
            "id": answer.key,
            **response_to(request, answer),
        }
        declines = isinstance(answer, AnswerPermission) and answer.reply == "reject"
        return told, request.call_id if request is not None and declines else None

    def withdraw(self, call_id: str | None, reason: str) -> Iterator[Withdraw]:
        """Pi went on without an answer: about one call, or, without one, about all that waits."""
        for key, request in list(self._pending.items()):
            if call_id in (None, request.call_id):
                del self._pending[key]
                yield Withdraw(key=key, reason=reason)

    def clear(self) -> None:
        """The process is gone."""
        self._pending.clear()


def tool_request(line: native.UiRequest) -> ToolRequest | None:
    """What our own extension asks; None: another one asks."""
    if line.title != OURS or line.method != "input" or line.placeholder is None:
        return None
    return wire.decode(line.placeholder.encode(), _tool_request)


def tool_permission(key: str, about: ToolRequest, directory: str) -> AskPermission:
    """May the tool run?"""
    name, given = about.tool_name, about.input
    command, path = command_in(name, given), path_in(given, directory)
    metadata: dict[str, Any] = {"tool": name, "input": given, "call_id": about.tool_call_id}
    edits = name in EDITS and path is not None
    change = _change(name, given, path) if edits and path is not None else None
    if command is not None:
        metadata["command"] = command
    if edits:
        metadata["path"] = path
    if change is not None:
        metadata["diff"] = _preview(change)
    return AskPermission(
        key=key,
        action=name,
        metadata=metadata,
        item=about.tool_call_id,
        rule=f"{name}({command or path})" if command or edits else name,
        edits_files=edits,
        files=(path,) if edits and path is not None else (),
        change=change,
    )


def _change(name: str, given: Any, path: str) -> FileChange | None:
    if name == "write":
        content = given.get("content")
        return FileChange(path=path, content=content) if isinstance(content, str) else None
    edits = given.get("edits")
    match edits:
        case [{"oldText": str(old), "newText": str(new)}]:
            return FileChange(path=path, old=old, new=new)
        case _:
            return None


def _preview(change: FileChange) -> str:
    """The change without the file: what is replaced, but not where in the file."""
    if change.content is not None:
        return diff(change.path, None, change.content)
    old, new = (f"{text}\n" if text else "" for text in (change.old, change.new))
    return diff(change.path, old, new)


def dialog(line: native.UiRequest) -> AskPermission | AskQuestion:
    """What an extension of the user's asks: a permission where yes or no is the answer."""
    timeout_s = None if line.timeout is None or line.timeout <= 0 else line.timeout / 1000
    about = {"method": line.method, "title": line.title, "message": line.message}
    metadata: dict[str, Any] = {name: value for name, value in about.items() if value is not None}
    if timeout_s is not None:
        metadata["timeout_s"] = timeout_s
    if line.method == "confirm":
        title = line.title or line.message or "confirm"
        return AskPermission(
            key=line.id,
            action=title,
            metadata=metadata,
            rule=f"{title}({line.message})" if line.message else title,
            guarded=True,
            timeout_s=timeout_s,
        )
    metadata.pop("message", None)
    for name in ("placeholder", "prefill"):
        if (value := getattr(line, name)) is not None:
            metadata[name] = value
    question = Question(
        prompt=line.title or line.message or line.method,
        options=tuple(QuestionOption(label=label) for label in line.options),
        allow_other=line.method != "select" or UNSET,
    )
    return AskQuestion(key=line.id, questions=(question,), metadata=metadata, timeout_s=timeout_s)


def response_to(
    request: PendingRequest | None, answer: AnswerPermission | AnswerQuestion
) -> dict[str, Any]:
    """An answer, as Pi expects it."""
    if isinstance(answer, AnswerPermission):
        allowed = answer.reply != "reject"
        if request is not None and request.method == "confirm":
            return {"confirmed": allowed}
        return {"value": ALLOW if allowed else answer.message or DECLINED}
    if answer.answers is None:
        return {"cancelled": True}
    return {"value": "\n".join(label for labels in answer.answers for label in labels)}
