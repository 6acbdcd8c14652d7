"""What Claude Code asks of people: permissions, questions, and leave to carry out a plan."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct

from dragoman.agents.claude import native
from dragoman.agents.claude.rules import Rule, is_plain_edit, rule_of
from dragoman.agents.claude.subagents import Owner
from dragoman.schema.commands import AnswerPermission, AnswerQuestion
from dragoman.schema.events import Question, QuestionOption
from dragoman.steps import AskPermission, AskQuestion, FileChange
from dragoman.wire.diff import diff

APPROVE, REFINE = "Approve", "Keep planning"
DECLINED = "The user does not want this; ask what to do instead."
NO_PLAN = "The agent wants to leave plan mode. It has written no plan."


class Ask(Struct, frozen=True):
    """A request that waits, as the answer needs it."""

    call_id: str
    input: Any
    rule: Rule


NOTHING = Ask("", None, Rule(""))
"""An answer to what is no longer asked."""


def ask_of(wanted: native.Wanted, directory: str) -> Ask:
    """What is asked, and what "always" would allow."""
    return Ask(wanted.tool_use_id or "", wanted.input, rule_of(wanted, directory))


def question(key: str, wanted: native.Wanted, owner: Owner) -> AskQuestion | None:
    """The question that a tool is; None: it is no question."""
    metadata = {"call_id": wanted.tool_use_id, "subagent_id": owner.subagent}
    about = {name: value for name, value in metadata.items() if value is not None}
    asked = wanted.input if isinstance(wanted.input, dict) else {}
    if wanted.tool_name == "AskUserQuestion":
        questions = tuple(_question(each) for each in _list(asked.get("questions")))
        return AskQuestion(key=key, questions=questions, metadata=about, detached=owner.detached)
    if wanted.tool_name == "ExitPlanMode":
        plan = asked.get("plan")
        asking = Question(
            header="Plan",
            prompt=plan if isinstance(plan, str) and plan.strip() else NO_PLAN,
            options=(QuestionOption(label=APPROVE), QuestionOption(label=REFINE)),
            allow_other=True,
        )
        # The agent asks for leave; that it is a question is our way to show it.
        return AskQuestion(
            key=key, questions=(asking,), metadata=about, source="daemon", detached=owner.detached
        )
    return None


def _question(asked: Any) -> Question:
    asked = asked if isinstance(asked, dict) else {"question": str(asked)}
    header = asked.get("header")
    return Question(
        header=header if isinstance(header, str) else UNSET,
        prompt=str(asked.get("question", "")),
        options=tuple(_option(option) for option in _list(asked.get("options"))),
        multi_select=asked.get("multiSelect") is True,
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


def permission(key: str, wanted: native.Wanted, rule: Rule, owner: Owner) -> AskPermission:
    """The permission that a tool needs."""
    asked = wanted.input if isinstance(wanted.input, dict) else {}
    change = _change(wanted.tool_name, asked)
    paths = [asked.get("file_path"), asked.get("notebook_path"), wanted.blocked_path]
    about = {
        "input": wanted.input,
        "call_id": wanted.tool_use_id,
        "permission": wanted.display_name,
        "command": asked.get("command"),
        "paths": list(dict.fromkeys(path for path in paths if isinstance(path, str))) or None,
        "diff": None if change is None else _preview(change),
        "description": wanted.description,
        "agent_reason": wanted.decision_reason,
        "subagent_id": owner.subagent,
    }
    return AskPermission(
        key=key,
        action=wanted.tool_name,
        metadata={name: value for name, value in about.items() if value is not None},
        item=wanted.tool_use_id,
        rule=str(rule),
        # What Claude Code has a reason of its own to ask for, no mode of ours answers.
        edits_files=is_plain_edit(wanted),
        change=change,
        detached=owner.detached,
    )


def _change(tool: str, asked: dict[str, Any]) -> FileChange | None:
    """The change of a file that is asked for."""
    path, content = asked.get("file_path"), asked.get("content")
    if not isinstance(path, str):
        return None
    if tool == "Write" and isinstance(content, str):
        return FileChange(path=path, content=content)
    old, new = asked.get("old_string"), asked.get("new_string")
    if isinstance(old, str) and isinstance(new, str):
        everywhere = asked.get("replace_all") is True
        return FileChange(path=path, old=old, new=new, everywhere=everywhere)
    return None


def _preview(change: FileChange) -> str:
    """The change where the file is not known: what will be replaced, but not where it stands."""
    if change.content is not None:
        return diff(change.path, None, change.content)
    return diff(change.path, _ended(change.old), _ended(change.new))


def _ended(text: str) -> str:
    # Where a string ends is seldom where the file ends.
    return text if text.endswith("\n") or not text else f"{text}\n"


def permission_answer(ask: Ask, answer: AnswerPermission) -> dict[str, Any]:
    """What Claude Code wants to hear."""
    if answer.reply == "reject":
        return {"behavior": "deny", "message": answer.message or DECLINED}
    given: dict[str, Any] = {
        "behavior": "allow",
        "updatedInput": ask.input if answer.updated_input is None else answer.updated_input,
    }
    if answer.reply == "always" and ask.rule.native:
        given["updatedPermissions"] = [ask.rule.added()]
    return given


def question_answer(ask: Ask, answer: AnswerQuestion) -> dict[str, Any]:
    """What Claude Code wants to hear: answers by the text of their question."""
    if answer.answers is None:
        return {"behavior": "deny", "message": DECLINED}
    asked = ask.input if isinstance(ask.input, dict) else {}
    if ask.rule.tool == "ExitPlanMode":
        said = ", ".join(label for given in answer.answers for label in given)
        if said == APPROVE:
            return {"behavior": "allow", "updatedInput": asked}
        return {"behavior": "deny", "message": said or REFINE}
    questions = [_question(each).prompt for each in _list(asked.get("questions"))]
    pairs = zip(questions, answer.answers, strict=False)
    answers = {prompt: ", ".join(given) for prompt, given in pairs if given}
    return {"behavior": "allow", "updatedInput": {**asked, "answers": answers}}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
