"""What Codex asks of people, and how their answers go back."""

from __future__ import annotations

import posixpath
from typing import Any

from msgspec import UNSET, Struct
from msgspec.json import encode

from dragoman.agents.codex import forms, native_items, wanted
from dragoman.agents.codex.patches import diff_of, paths_of
from dragoman.schema.commands import AnswerPermission, AnswerQuestion
from dragoman.schema.events import Question, QuestionOption
from dragoman.steps import AskPermission, AskQuestion

_DECISIONS = {"once": "accept", "always": "acceptForSession", "reject": "decline"}
VISITED, DECLINED = "Done", "Decline"
_GUARDED = frozenset({".git", ".codex", ".agents"})
"""Folders that Codex's own sandbox keeps from being written: what is in them may be run later."""


class Place(Struct, frozen=True, kw_only=True):
    """Whose request it is, and for which tool."""

    directory: str
    tool: native_items.Tool | None = None
    call: str | None = None
    """The key of its call."""
    subagent: str | None = None


def permission(key: str, wish: wanted.AnyWish, place: Place) -> AskPermission | None:
    """The permission that is asked for; None: it is none."""
    match wish:
        case wanted.RunCommand():
            action, about, rule = (
                "commandExecution",
                _command(wish, place),
                _command_rule(wish, place),
            )
        case wanted.ChangeFiles():
            action, about, rule = "fileChange", _patch(wish, place), _patch_rule(place)
        case wanted.GrantPermissions():
            action, rule = "permissions", f"permissions({encode(wish.permissions).decode()})"
            about = {
                "input": wish.permissions,
                "permission": "permissions",
                "permissions": wish.permissions,
                "cwd": wish.cwd,
            }
        case wanted.Elicitation() if _is_call(wish):
            action = rule = tool_name(wish, place.tool)
            about = {
                "input": wish.about.get("tool_params"),
                "permission": wish.about["codex_approval_kind"],
                "agent_reason": wish.message,
                "description": wish.about.get("tool_description"),
            }
        case _:
            return None
    told = {
        **about,
        "agent_reason": about.get("agent_reason") or wish.reason,
        "call_id": None if place.tool is None else place.tool.id,
        "subagent_id": place.subagent,
    }
    return AskPermission(
        key=key,
        action=action,
        metadata={name: value for name, value in told.items() if value is not None},
        item=place.call,
        rule=rule,
        edits_files=isinstance(wish, wanted.ChangeFiles),
        files=paths_of(_changes(place)),
        guarded=isinstance(wish, wanted.ChangeFiles) and not _in_workspace(wish, place),
        detached=place.subagent is not None,
    )


def _command(wish: wanted.RunCommand, place: Place) -> dict[str, Any]:
    item = place.tool if isinstance(place.tool, native_items.CommandExecution) else None
    command = wish.command or (item.command if item else None)
    cwd = wish.cwd or (item.cwd if item else None)
    network = wish.network_approval_context
    return {
        "input": {"command": command, "cwd": cwd},
        "command": command,
        "cwd": cwd,
        "permission": wish.kind,
        "network": None
        if network is None
        else {"host": network.host, "protocol": network.protocol},
        "permissions": wish.additional_permissions,
        "available_decisions": wish.available_decisions,
    }


def _command_rule(wish: wanted.RunCommand, place: Place) -> str:
    """What "always" allows: the same command, at the same place, with the same sandbox.

    Codex does not say that a command is to leave the sandbox, but then there is a reason.
    """
    network = wish.network_approval_context
    if network is not None:
        return f"network({network.protocol}://{network.host})"
    where = "" if wish.cwd in (None, place.directory) else f" in {wish.cwd}"
    more = wish.additional_permissions
    beyond = [wish.reason, None if more is None else encode(more).decode()]
    return "; ".join([f"{wish.kind}({wish.command}){where}", *filter(None, beyond)])


def _patch(wish: wanted.ChangeFiles, place: Place) -> dict[str, Any]:
    changes = _changes(place)
    return {
        "input": {"changes": [{"path": each.path, "kind": each.kind.type} for each in changes]},
        "permission": "fileChange",
        "paths": list(paths_of(changes)),
        "diff": "".join(map(diff_of, changes)) or None,
        "grant_root": wish.grant_root,
    }


def _patch_rule(place: Place) -> str:
    return f"fileChange({', '.join(paths_of(_changes(place)))})"


def _changes(place: Place) -> tuple[native_items.Change, ...]:
    return place.tool.changes if isinstance(place.tool, native_items.FileChange) else ()


def _in_workspace(wish: wanted.ChangeFiles, place: Place) -> bool:
    """Whether a mode may answer: what is elsewhere, guarded, or for good is for a person."""
    paths = paths_of(_changes(place))
    return bool(paths) and wish.grant_root is None and all(_is_own(path, place) for path in paths)


def _is_own(path: str, place: Place) -> bool:
    root = posixpath.normpath(place.directory)
    found = posixpath.normpath(posixpath.join(root, path))
    inside = posixpath.commonpath([root, found]) == root
    return inside and _GUARDED.isdisjoint(posixpath.relpath(found, root).split("/"))


def _is_call(wish: wanted.Elicitation) -> bool:
    about = wish.about
    return isinstance(about, dict) and about.get("codex_approval_kind") == "mcp_tool_call"


def is_about(wish: wanted.Elicitation, item: native_items.Tool) -> bool:
    """Whether this is the call that leave is asked for. Codex names neither item nor tool."""
    return (
        _is_call(wish)
        and isinstance(item, native_items.McpToolCall)
        and item.server == wish.server_name
        and item.arguments == wish.about.get("tool_params")
        and f'"{item.tool}"' in wish.message
    )


def tool_name(wish: wanted.Elicitation, item: native_items.Tool | None) -> str:
    """The tool's whole name; where no item tells it, the one that the message quotes."""
    if isinstance(item, native_items.McpToolCall):
        return f"mcp__{item.server}__{item.tool}"
    quoted = wish.message.split('"')
    return f"mcp__{wish.server_name}__{quoted[1]}" if len(quoted) > 2 else wish.server_name


# --- Questions ---


def question(key: str, wish: wanted.AnyWish, place: Place) -> AskQuestion | None:
    """The question that is asked; None: it is none."""
    match wish:
        case wanted.UserInput():
            questions = tuple(map(_question, wish.questions))
            about = {"call_id": wish.item_id or None}
        case wanted.Elicitation(mode="url"):
            prompt = f"{wish.message}\n\n{wish.url}".strip()
            options = (QuestionOption(label=VISITED), QuestionOption(label=DECLINED))
            questions = (Question(header=wish.server_name, prompt=prompt, options=options),)
            about = {"url": wish.url, "server": wish.server_name}
        case wanted.Elicitation() if not _is_call(wish) and forms.is_form(wish.requested_schema):
            questions = forms.questions(wish.message, wish.requested_schema)
            required = wish.requested_schema.get("required")
            about = {"server": wish.server_name, "message": wish.message, "required": required}
        case _:
            return None
    told = {**about, "subagent_id": place.subagent}
    return AskQuestion(
        key=key,
        questions=questions,
        metadata={name: value for name, value in told.items() if value is not None},
        detached=place.subagent is not None,
    )


def _question(asked: wanted.Asked) -> Question:
    options = tuple(
        QuestionOption(label=option.label, description=option.description or None)
        for option in asked.options or ()
    )
    return Question(
        question_id=asked.id,
        header=asked.header or UNSET,
        prompt=asked.question,
        options=options,
        allow_other=asked.is_other or not options,
        secret=asked.is_secret or UNSET,
    )


# --- Answers ---


def permission_answer(wish: wanted.AnyWish, answer: AnswerPermission) -> dict[str, Any]:
    """What Codex wants to hear."""
    match wish:
        case wanted.GrantPermissions():
            given = {} if answer.reply == "reject" else wish.permissions
            scope = "session" if answer.reply == "always" else "turn"
            return {"permissions": given, "scope": scope}
        case wanted.Elicitation():
            if answer.reply == "reject":
                return {"action": "decline"}
            lasting = {"_meta": {"persist": "session"}} if answer.reply == "always" else {}
            return {"action": "accept", "content": {}, **lasting}
        case _:
            return {"decision": _DECISIONS[answer.reply]}


def question_answer(wish: wanted.AnyWish, answer: AnswerQuestion) -> dict[str, Any]:
    """What Codex wants to hear."""
    answers = answer.answers
    match wish:
        case wanted.UserInput(questions=asked):
            pairs = zip(asked, answers or (), strict=False)
            return {"answers": {each.id: {"answers": list(given)} for each, given in pairs}}
        case wanted.Elicitation() if answers is None or answers == ((forms.NO,),):
            return {"action": "decline"}
        case wanted.Elicitation(mode="url"):
            return {"action": "accept" if answers == ((VISITED,),) else "decline"}
        case wanted.Elicitation(requested_schema=schema):
            return {"action": "accept", "content": forms.content(schema, answers or ())}
        case _:
            return {}
