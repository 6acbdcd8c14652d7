"""Permissions, forms and pages to visit: what agents ask of people, and the answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from dragoman.dialects.acp import native
from dragoman.dialects.acp.profile import Extension
from dragoman.dialects.acp.tools import CHANGES, ToolCalls, ToolState, text_of
from dragoman.dialects.forms import NO, form_content, form_questions, is_form
from dragoman.schema.commands import AnswerPermission, AnswerQuestion
from dragoman.schema.events import Question, QuestionOption
from dragoman.steps import AskPermission, AskQuestion, Resolve, Respond, Step, Withdraw
from dragoman.wire.diff import diff
from dragoman.wire.jsonrpc import RpcError

VISITED, DECLINED = "Done", "Decline"
REQUEST_CANCELLED = -32800
_CANCELLED = {"outcome": {"outcome": "cancelled"}}
_ALLOW = ("allow_once", "allow_always")
_REJECT = ("reject_once", "reject_always")

AnyRequest = native.PermissionParams | native.ElicitationParams


class PendingRequests:
    """The requests that wait for a person, by their keys."""

    def __init__(self, tools: ToolCalls, extension: Extension) -> None:
        self._tools = tools
        self._extension = extension
        self._pending: dict[str, AnyRequest] = {}

    # --- From the agent ---

    def permission(self, key: str, params: native.PermissionParams) -> Iterator[Step]:
        """Ask for a permission, or for what the agent asks by the way of one."""
        told = params.tool_call
        self._pending[key] = params
        questions = self._extension.questions(params)
        if questions:
            about = {"call_id": told.tool_call_id}
            yield AskQuestion(key=key, questions=questions, metadata=about)
            return
        call = self._tools.get(told.tool_call_id) or ToolState(name=told.title or "tool")
        yield self._ask(key, params, call)

    def _ask(self, key: str, params: native.PermissionParams, call: ToolState) -> AskPermission:
        files = tuple(dict.fromkeys((*call.diffs, *call.paths)))
        changes = [
            diff(path, each.old_text or None, each.new_text) for path, each in call.diffs.items()
        ]
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
        }
        return AskPermission(
            key=key,
            action=call.name,
            metadata={name: value for name, value in metadata.items() if value is not None},
            item=params.tool_call.tool_call_id,
            rule=_rule(call, files, params),
            edits_files=call.kind in CHANGES,
            files=files if call.kind in CHANGES else (),
            # Where the files are not told, nobody but a person can say that they are fine.
            guarded=not files,
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
        self._pending[key] = params
        yield AskQuestion(
            key=key,
            questions=questions,
            metadata={name: value for name, value in metadata.items() if value},
        )

    def visited(self, elicitation_id: str) -> Iterator[Step]:
        """The agent has seen by itself that the page was visited."""
        for key, params in list(self._pending.items()):
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
        params = self._pending.pop(answer.key, None)
        match params, answer:
            case native.PermissionParams(), AnswerPermission(reply=reply):
                if reply == "reject":
                    self._tools.decline(params.tool_call.tool_call_id)
                kinds = _REJECT if reply == "reject" else _ALLOW
                yield Respond(key=answer.key, result=_choice(params, kinds))
            case native.PermissionParams(), AnswerQuestion(answers=None):
                yield Respond(key=answer.key, result=_choice(params, _REJECT))
            case native.PermissionParams(), AnswerQuestion(answers=(*answers,)):
                more = self._extension.answers(tuple(answers))
                yield Respond(key=answer.key, result={**_choice(params, _ALLOW), **more})
            case native.ElicitationParams(), AnswerQuestion(answers=answers):
                yield Respond(key=answer.key, result=_filled(params, answers))
        yield Resolve(command=answer)

    def cancel(self) -> Iterator[Step]:
        """The turn is stopped, or over: nobody will answer. The protocol wants each answered."""
        for key, params in self._pending.items():
            is_permission = isinstance(params, native.PermissionParams)
            yield Respond(key=key, result=_CANCELLED if is_permission else {"action": "cancel"})
        self._pending.clear()

    def reset(self) -> None:
        """Forget everything: the process is gone."""
        self._pending.clear()


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
