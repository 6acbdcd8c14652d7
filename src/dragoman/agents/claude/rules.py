"""What "always" allows: what was asked for, and what is surely like it; never more.

Claude Code suggests rules, but they may flip its mode, write into the workspace, or cover less
than the command does. So only a rule that covers a plain command of the workspace is taken; all
else is allowed word for word, by our own policy.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

from msgspec import Struct

from dragoman.agents.claude import native
from dragoman.agents.claude.tools import WRITES

CREATING = frozenset({"touch", "mkdir"})
"""Programs that harm nothing, whatever they are given in the workspace."""
_QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\]*\"")
_SHELL = re.compile(r"[;&|<>$`(){}\\\n'\"]")


class Rule(Struct, frozen=True):
    """A tool, or only what its content says."""

    tool: str
    content: str | None = None
    native: bool = False
    """Claude Code can keep it for us, for as long as its process lives."""

    def __str__(self) -> str:
        """How people see it."""
        return self.tool if self.content is None else f"{self.tool}({self.content})"

    def added(self) -> dict[str, Any]:
        """The rule as Claude Code adds it, for the session only."""
        rule = {"toolName": self.tool}
        if self.content is not None:
            rule["ruleContent"] = self.content
        return {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session"}


def rule_of(wanted: native.Wanted, directory: str) -> Rule:
    """What "always" would allow."""
    tool, asked = wanted.tool_name, wanted.input if isinstance(wanted.input, dict) else {}
    suggested = _suggested(wanted)
    command, path = asked.get("command"), asked.get("file_path") or asked.get("notebook_path")
    if isinstance(command, str):
        alike = _alike(command, suggested, directory)
        return Rule(tool, alike, native=True) if alike else Rule(tool, command)
    if is_plain_edit(wanted):
        return Rule(tool, f"{directory.rstrip('/')}/**")
    if len(suggested) == 1 and suggested[0].tool == tool and tool not in WRITES:
        return suggested[0]
    return Rule(tool, path) if isinstance(path, str) else Rule(tool, native=True)


def is_plain_edit(wanted: native.Wanted) -> bool:
    """Whether a file of the workspace is to be changed, and nothing but the mode asks for leave.

    There is a reason where it is outside, or guards the agent itself.
    """
    reason = wanted.decision_reason or wanted.decision_reason_type
    return wanted.tool_name in WRITES and reason in (None, "mode")


def _suggested(wanted: native.Wanted) -> list[Rule]:
    """The rules that are suggested; one that is not understood is for no tool."""
    found: list[Rule] = []
    for suggestion in wanted.permission_suggestions or ():
        match suggestion:
            case {"type": "addRules", "rules": list(rules)}:
                found += [_read(rule) for rule in rules]
    return found


def _read(rule: Any) -> Rule:
    match rule:
        case {"toolName": str(tool), "ruleContent": str(content)}:
            return Rule(tool, content, native=True)
        case {"toolName": str(tool)}:
            return Rule(tool, native=True)
        case _:
            return Rule("")


def _alike(command: str, suggested: list[Rule], directory: str) -> str | None:
    """A rule for this command and others like it; None: there are none like it."""
    if len(suggested) != 1 or not _is_plain(command, directory):
        return None
    program, content = command.partition(" ")[0], suggested[0].content or ""
    if program in CREATING:
        return f"{program} *"
    return content if content.endswith(" *") and command.startswith(content[:-2]) else None


def _is_plain(command: str, directory: str) -> bool:
    """Whether a command is one program, with words of the workspace."""
    return not _SHELL.search(_QUOTED.sub("q", command)) and all(
        _is_inside(word.strip("'\""), directory) for word in re.split(r"[\s=]+", command)
    )


def _is_inside(word: str, directory: str) -> bool:
    if word.startswith("~") or ".." in word.split("/"):
        return False
    root = posixpath.normpath(directory)
    return not word.startswith("/") or posixpath.normpath(word).startswith(f"{root}/")
