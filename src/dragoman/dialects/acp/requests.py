"""Permissions, forms and pages to visit: what agents ask of people, and the answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from dragoman.dialects.acp import native
from dragoman.dialects.acp.owner import Owner
from dragoman.dialects.acp.profile import Extension, OwnRequest
from dragoman.dialects.acp.tools import CHANGES, ToolCalls, ToolState, text_of
from dragoman.dialects.forms import NO, form_content, form_questions, is_form
from dragoman.schema.commands import AnswerPermission, AnswerQuestion
from dragoman.schema.events import Question, QuestionOption
from dragoman.steps import AskPermission, AskQuestion, FileChange, Resolve, Respond, Step, Withdraw
from dragoman.wire.jsonrpc import RpcError

VISITED, DECLINED = "Done", "Decline"
REQUEST_CANCELLED = -32800
_CANCELLED = {"outcome": {"outcome": "cancelled"}}
_ALLOW = ("allow_once", "allow_always")
_REJECT = ("reject_once", "reject_always")

AnyRequest = native.PermissionParams | native.ElicitationParams | OwnRequest


class PendingRequest(Struct, frozen=True):
    """A request, and the tool calls of whoever makes it."""

    params: AnyRequest
    tools: ToolCalls


class PendingRequests:
    """The requests that wait for a person, by their keys."""

    def __init__(self, tools: ToolCalls, extension: Extension) -> None:
        self._tools = tools
        self._extension = extension
        self._pending: dict[str, PendingRequest] = {}

    # --- From the agent ---

    def permission(
        self, key: str, params: native.PermissionParams, tools: ToolCalls
    ) -> Iterator[Step]:
        """Ask for a permission, or for what the agent asks by the way of one."""
        told = params.tool_call
        self._pending[key] = PendingRequest(params, tools)
        questions = self._extension.questions(params)
        if questions:
            about = {"call_id": told.tool_call_id}
            yield AskQuestion(key=key, questions=questions, metadata=about)
            return
        call = tools.get(told.tool_call_id) or ToolState(name=told.title or "tool")
        yield self._ask(key, params, call, tools.owner)

    def own(
        self, key: str, questions: tuple[Question, ...], request: OwnRequest, tools: ToolCalls
    ) -> Iterator[Step]:
        """Ask what the agent asks by a method of its own."""
        self._pending[key] = PendingRequest(request, tools)
        about = {} if request.call_id is None else {"call_id": request.call_id}
        yield AskQuestion(
            key=key,
            questions=questions,
            metadata={**about, **_subagent(tools.owner)},
            detached=tools.owner.subagent is not None,
        )

    def _ask(
        self, key: str, params: native.PermissionParams, call: ToolState, owner: Owner
    ) -> AskPermission:
        files = tuple(dict.fromkeys((*call.diffs, *call.paths)))
        changes = [each.diff(path) for path, each in call.diffs.items()]
        metadata = {
            "permission": call.kind,
            "title": params.tool_call.title or call.title,
            "message": text_of(params.tool_call) or None,
            "input": call.input,
            "call_id": params.tool_call.tool_call_id,
            "command": call.command if call.kind == "execute" else None,
            "path": files[0] if files and call.kind in CHANGES else None,
            "paths": list(files) if len(files) > 1 else None,
            "diff": "".join(changes) or None,
            "options": [{"name": each.name, "kind": each.kind} for each in params.options],
            **_subagent(owner),
        }
        return AskPermission(
            key=key,
            action=call.name,
            metadata={name: value for name, value in metadata.items() if value is not None},
            item=owner.key(params.tool_call.tool_call_id),
            rule=_rule(call, files, params),
            edits_files=call.kind in CHANGES,
            files=files if call.kind in CHANGES else (),
            # Where the files are not told, nobody but a person can say that they are fine.
            guarded=not files,
            change=_change(call),
            detached=owner.subagent is not None,
        )

    def elicitation(self, key: str, params: native.ElicitationParams) -> Iterator[Step]:
        """Ask for what a form wants, or for the visit of a page."""
        questions: tuple[Question, ...]
        if params.mode == "url":
            prompt = f"{params.message}\n\n{params.url}".strip()
            options = (QuestionOption(label=VISITED), QuestionOption(label=DECLINED))
            questions = (Question(prompt=prompt, options=options),)
        elif is_form(params.requested_schema):
            questions = form_questions(params.message, params.requested_schema)
        else:
            raise msgspec.ValidationError(f"an elicitation of the mode {params.mode!r}")
        metadata = {"message": params.message, "url": params.url, "call_id": params.tool_call_id}
        self._pending[key] = PendingRequest(params, self._tools)
        yield AskQuestion(
            key=key,
            questions=questions,
            metadata={name: value for name, value in metadata.items() if value},
        )

    def visited(self, elicitation_id: str) -> Iterator[Step]:
        """The agent has seen by itself that the page was visited."""
        for key, params in [(key, each.params) for key, each in self._pending.items()]:
            if isinstance(params, native.ElicitationParams) and (
                params.elicitation_id == elicitation_id
            ):
                yield from self._take_back(key, Respond(key=key, result={"action": "accept"}))

    def cancelled(self, key: str) -> Iterator[Step]:
        """The agent waits no longer."""
        if key in self._pending:
            error = RpcError(code=REQUEST_CANCELLED, message="the request was cancelled")
            yield from self._take_back(key, Respond(key=key, error=error))

    def _take_back(self, key: str, respond: Respond) -> Iterator[Step]:
        del self._pending[key]
        yield respond
        yield Withdraw(key=key)

    # --- To the agent ---

    def answer(self, answer: AnswerPermission | AnswerQuestion) -> Iterator[Step]:
        """A person, or a rule, has decided. "Always" is a rule of ours: what an agent makes of it
        may hold for other sessions, and for ever."""
        pending = self._pending.pop(answer.key, None)
        params = None if pending is None else pending.params
        match params, answer:
            case native.PermissionParams(), AnswerPermission(reply=reply, message=why):
                assert pending is not None
                is_granted = reply != "reject"
                pending.tools.settle(params.tool_call.tool_call_id, is_granted=is_granted)
                more = self._extension.refusal(why) if why and not is_granted else {}
                choice = _choice(params, _ALLOW if is_granted else _REJECT)
                yield Respond(key=answer.key, result={**choice, **more})
            case native.PermissionParams(), AnswerQuestion(answers=None):
                yield Respond(key=answer.key, result=_choice(params, _REJECT))
            case native.PermissionParams(), AnswerQuestion(answers=(*answers,)):
                more = self._extension.answers(tuple(answers))
                yield Respond(key=answer.key, result={**_choice(params, _ALLOW), **more})
            case native.ElicitationParams(), AnswerQuestion(answers=answers):
                yield Respond(key=answer.key, result=_filled(params, answers))
            case OwnRequest(), AnswerQuestion(answers=answers):
                yield Respond(key=answer.key, result=params.answer(answers))
        yield Resolve(command=answer)

    def cancel(self) -> Iterator[Step]:
        """The turn is stopped, or over: nobody will answer. The protocol wants each answered.
        Those of subagents stay: they may work on."""
        for key in self._of(None):
            yield Respond(key=key, result=_cancelled(self._pending.pop(key).params))

    def withdraw(self, subagent: str) -> Iterator[Step]:
        """A subagent works no longer, and waits for nothing."""
        for key in self._of(subagent):
            yield Respond(key=key, result=_cancelled(self._pending.pop(key).params))
            yield Withdraw(key=key)

    def withdraw_call(self, call_id: str | None) -> Iterator[Step]:
        """A tool call waits no longer, although nobody has answered."""
        for key, pending in list(self._pending.items()):
            if call_id is not None and _call_of(pending.params) == call_id:
                del self._pending[key]
                yield Respond(key=key, result=_cancelled(pending.params))
                yield Withdraw(key=key)

    def _of(self, subagent: str | None) -> list[str]:
        pending = self._pending.items()
        return [key for key, each in pending if each.tools.owner.subagent == subagent]

    def reset(self) -> None:
        """Forget everything: the process is gone."""
        self._pending.clear()


def _change(call: ToolState) -> FileChange | None:
    """The one change that is asked for. An agent may tell only the place in the file."""
    if len(call.diffs) != 1:
        return None
    ((path, change),) = call.diffs.items()
    if not change.old_text:
        return FileChange(path=path, content=change.new_text)
    return FileChange(path=path, old=change.old_text, new=change.new_text)


def _subagent(owner: Owner) -> dict[str, str]:
    return {} if owner.subagent is None else {"subagent_id": owner.subagent}


def _call_of(params: AnyRequest) -> str | None:
    match params:
        case native.PermissionParams(tool_call=call):
            return call.tool_call_id
        case native.ElicitationParams() | OwnRequest():
            return params.call_id if isinstance(params, OwnRequest) else params.tool_call_id


def _cancelled(params: AnyRequest) -> Any:
    match params:
        case native.PermissionParams():
            return _CANCELLED
        case native.ElicitationParams():
            return {"action": "cancel"}
        case OwnRequest(cancelled=result):
            return result


def _rule(call: ToolState, files: tuple[str, ...], params: native.PermissionParams) -> str:
    """What "always" allows: the same command, the same files, or the same arguments. A command that
    is not named is known by what a person is told of it, or anything would be the same."""
    if call.kind == "execute" and call.command:
        return f"{call.name}({call.command})"
    if call.kind in CHANGES and files:
        return f"{call.name}({', '.join(files)})"
    if call.kind == "execute" or not call.input:
        told = (params.tool_call.title or call.title, text_of(params.tool_call), call.arguments)
        return f"{call.name}({' '.join(filter(None, told))})"
    return f"{call.name}({call.arguments})"


def _choice(params: native.PermissionParams, kinds: tuple[str, ...]) -> dict[str, Any]:
    """The option that does no more than what is meant; where there is none, nothing is chosen."""
    for kind in kinds:
        for option in params.options:
            if option.kind == kind:
                return {"outcome": {"outcome": "selected", "optionId": option.option_id}}
    return _CANCELLED


def _filled(
    params: native.ElicitationParams, answers: tuple[tuple[str, ...], ...] | None
) -> dict[str, Any]:
    if answers is None or answers in (((NO,),), ((DECLINED,),)):
        return {"action": "decline"}
    if params.mode == "url":
        return {"action": "accept"}
    return {"action": "accept", "content": form_content(params.requested_schema, answers)}
