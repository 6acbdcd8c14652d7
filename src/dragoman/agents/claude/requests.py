"""Permissions and questions, both ways: what Claude Code asks of people, and their answers."""

from __future__ import annotations

import posixpath
import re
from typing import Any

from msgspec import UNSET, Struct

from dragoman.agents.claude import native
from dragoman.agents.claude.subagents import Owner
from dragoman.agents.claude.tools import WRITES
from dragoman.schema.commands import AnswerPermission, AnswerQuestion
from dragoman.schema.events import Question, QuestionOption
from dragoman.steps import AskPermission, AskQuestion, FileChange
from dragoman.wire.diff import diff

APPROVE, REFINE = "Approve", "Keep planning"
DECLINED = "The user does not want this; ask what to do instead."
NO_PLAN = "The agent wants to leave plan mode. It has written no plan."


# --- From the agent: questions ---


def question(key: str, request: native.ControlRequestBody, owner: Owner) -> AskQuestion | None:
    """The question that a tool asks; None: the tool needs a permission."""
    about = {"call_id": request.tool_use_id, "subagent_id": owner.subagent}
    metadata = {name: value for name, value in about.items() if value is not None}
    arguments = request.input if isinstance(request.input, dict) else {}
    if request.tool_name == "AskUserQuestion":
        questions = tuple(_question(each) for each in _list(arguments.get("questions")))
        return AskQuestion(key=key, questions=questions, metadata=metadata, detached=owner.detached)
    if request.tool_name == "ExitPlanMode":
        plan = arguments.get("plan")
        approval = Question(
            header="Plan",
            prompt=plan if isinstance(plan, str) and plan.strip() else NO_PLAN,
            options=(QuestionOption(label=APPROVE), QuestionOption(label=REFINE)),
            allow_other=True,
        )
        # Claude Code asks for a permission; that it is shown as a question is our doing.
        return AskQuestion(
            key=key,
            questions=(approval,),
            metadata=metadata,
            source="daemon",
            detached=owner.detached,
        )
    return None


def _question(value: Any) -> Question:
    fields = value if isinstance(value, dict) else {"question": str(value)}
    header = fields.get("header")
    return Question(
        header=header if isinstance(header, str) else UNSET,
        prompt=str(fields.get("question", "")),
        options=tuple(_option(option) for option in _list(fields.get("options"))),
        multi_select=fields.get("multiSelect") is True,
        allow_other=True,
    )


def _option(option: Any) -> QuestionOption:
    if not isinstance(option, dict):
        return QuestionOption(label=str(option))
    description = option.get("description")
    return QuestionOption(
        label=str(option.get("label", "")),
        description=description if isinstance(description, str) else None,
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


# --- From the agent: permissions ---


def permission(
    key: str, request: native.ControlRequestBody, rule: PermissionRule, owner: Owner
) -> AskPermission:
    """The permission that a tool needs."""
    arguments = request.input if isinstance(request.input, dict) else {}
    change = _change(request.tool_name, arguments)
    paths = [arguments.get("file_path"), arguments.get("notebook_path"), request.blocked_path]
    about = {
        "input": request.input,
        "call_id": request.tool_use_id,
        "permission": request.display_name,
        "command": arguments.get("command"),
        "paths": list(dict.fromkeys(path for path in paths if isinstance(path, str))) or None,
        "diff": None if change is None else _preview(change),
        "description": request.description,
        "agent_reason": request.decision_reason,
        "subagent_id": owner.subagent,
    }
    return AskPermission(
        key=key,
        action=request.tool_name,
        metadata={name: value for name, value in about.items() if value is not None},
        item=request.tool_use_id,
        rule=str(rule),
        # Where Claude Code has a reason of its own to ask, no mode of ours answers.
        edits_files=is_plain_edit(request),
        change=change,
        detached=owner.detached,
    )


def _change(tool: str, arguments: dict[str, Any]) -> FileChange | None:
    """The change of a file that needs the permission."""
    path, content = arguments.get("file_path"), arguments.get("content")
    if not isinstance(path, str):
        return None
    if tool == "Write" and isinstance(content, str):
        return FileChange(path=path, content=content)
    old, new = arguments.get("old_string"), arguments.get("new_string")
    if isinstance(old, str) and isinstance(new, str):
        everywhere = arguments.get("replace_all") is True
        return FileChange(path=path, old=old, new=new, everywhere=everywhere)
    return None


def _preview(change: FileChange) -> str:
    """The change without the file: what is replaced, but not where in the file."""
    if change.content is not None:
        return diff(change.path, None, change.content)
    return diff(change.path, _with_newline(change.old), _with_newline(change.new))


def _with_newline(text: str) -> str:
    # The text seldom ends where the file does, so the diff must not say "no newline at the end".
    return text if text.endswith("\n") or not text else f"{text}\n"


# --- What "always" allows ---
#
# What was asked for, and what is surely like it; never more. Claude Code suggests rules, but they
# may change its mode, write into the workspace, or cover less than the command does. So only a rule
# that covers a plain command of the workspace is sent back. All else is allowed word for word, by
# our own policy.

HARMLESS = frozenset({"touch", "mkdir"})
"""Programs that harm nothing, whatever their arguments in the workspace are."""
_QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\]*\"")
_SHELL = re.compile(r"[;&|<>$`(){}\\\n'\"]")


class PermissionRule(Struct, frozen=True):
    """A tool, or only what matches the content."""

    tool: str
    content: str | None = None
    is_native: bool = False
    """Claude Code can apply it itself, for as long as its process lives."""

    def __str__(self) -> str:
        """How people see it."""
        return self.tool if self.content is None else f"{self.tool}({self.content})"

    def as_update(self) -> dict[str, Any]:
        """The update that adds the rule in Claude Code, for the session only."""
        rule = {"toolName": self.tool}
        if self.content is not None:
            rule["ruleContent"] = self.content
        return {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session"}


def rule_of(request: native.ControlRequestBody, directory: str) -> PermissionRule:
    """What "always" would allow."""
    tool = request.tool_name
    arguments = request.input if isinstance(request.input, dict) else {}
    suggestions = _suggestions(request)
    command = arguments.get("command")
    path = arguments.get("file_path") or arguments.get("notebook_path")
    if isinstance(command, str):
        pattern = _pattern(command, suggestions, directory)
        if pattern:
            return PermissionRule(tool, pattern, is_native=True)
        return PermissionRule(tool, command)
    if is_plain_edit(request):
        return PermissionRule(tool, f"{directory.rstrip('/')}/**")
    if len(suggestions) == 1 and suggestions[0].tool == tool and tool not in WRITES:
        return suggestions[0]
    if isinstance(path, str):
        return PermissionRule(tool, path)
    return PermissionRule(tool, is_native=True)


def is_plain_edit(request: native.ControlRequestBody) -> bool:
    """Whether a file of the workspace is to be changed, and only the mode makes Claude Code ask.

    It gives a reason where the file is outside, or protects Claude Code itself.
    """
    reason = request.decision_reason or request.decision_reason_type
    return request.tool_name in WRITES and reason in (None, "mode")


def _suggestions(request: native.ControlRequestBody) -> list[PermissionRule]:
    """The rules that Claude Code suggests; one that makes no sense is for no tool."""
    rules: list[PermissionRule] = []
    for suggestion in request.permission_suggestions or ():
        match suggestion:
            case {"type": "addRules", "rules": list(suggested)}:
                rules += [_suggestion(rule) for rule in suggested]
    return rules


def _suggestion(rule: Any) -> PermissionRule:
    match rule:
        case {"toolName": str(tool), "ruleContent": str(content)}:
            return PermissionRule(tool, content, is_native=True)
        case {"toolName": str(tool)}:
            return PermissionRule(tool, is_native=True)
        case _:
            return PermissionRule("")


def _pattern(command: str, suggestions: list[PermissionRule], directory: str) -> str | None:
    """A pattern for this command and others like it; None: only the command itself."""
    if len(suggestions) != 1 or not _is_plain(command, directory):
        return None
    program, content = command.partition(" ")[0], suggestions[0].content or ""
    if program in HARMLESS:
        return f"{program} *"
    return content if content.endswith(" *") and command.startswith(content[:-2]) else None


def _is_plain(command: str, directory: str) -> bool:
    """Whether a command is one program, with arguments that stay in the workspace."""
    return not _SHELL.search(_QUOTED.sub("q", command)) and all(
        _is_inside(word.strip("'\""), directory) for word in re.split(r"[\s=]+", command)
    )


def _is_inside(word: str, directory: str) -> bool:
    if word.startswith("~") or ".." in word.split("/"):
        return False
    root = posixpath.normpath(directory)
    return not word.startswith("/") or posixpath.normpath(word).startswith(f"{root}/")


# --- To the agent: answers ---


class PendingRequest(Struct, frozen=True):
    """A request that waits, with what its answer needs."""

    call_id: str
    input: Any
    rule: PermissionRule


NO_REQUEST = PendingRequest("", None, PermissionRule(""))
"""What is answered too late: the request no longer waits."""


def pending_request(request: native.ControlRequestBody, directory: str) -> PendingRequest:
    """A request, and what "always" would allow."""
    return PendingRequest(request.tool_use_id or "", request.input, rule_of(request, directory))


def permission_answer(request: PendingRequest, answer: AnswerPermission) -> dict[str, Any]:
    """A person's decision, as Claude Code expects it."""
    if answer.reply == "reject":
        return {"behavior": "deny", "message": answer.message or DECLINED}
    response: dict[str, Any] = {
        "behavior": "allow",
        "updatedInput": request.input if answer.updated_input is None else answer.updated_input,
    }
    if answer.reply == "always" and request.rule.is_native:
        response["updatedPermissions"] = [request.rule.as_update()]
    return response


def question_answer(request: PendingRequest, answer: AnswerQuestion) -> dict[str, Any]:
    """A person's answers, as Claude Code expects them: by the text of their question."""
    if answer.answers is None:
        return {"behavior": "deny", "message": DECLINED}
    arguments = request.input if isinstance(request.input, dict) else {}
    if request.rule.tool == "ExitPlanMode":
        text = ", ".join(label for labels in answer.answers for label in labels)
        if text == APPROVE:
            return {"behavior": "allow", "updatedInput": arguments}
        return {"behavior": "deny", "message": text or REFINE}
    prompts = [_question(each).prompt for each in _list(arguments.get("questions"))]
    pairs = zip(prompts, answer.answers, strict=False)
    answers = {prompt: ", ".join(labels) for prompt, labels in pairs if labels}
    return {"behavior": "allow", "updatedInput": {**arguments, "answers": answers}}
