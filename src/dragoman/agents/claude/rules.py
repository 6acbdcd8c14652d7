"""What "always" means to Claude Code: rules for the session, made from what it suggests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

# Programs that do about the same with other arguments; of the second kind, with other arguments
# after the next word. Everything else may run, or destroy, whatever it is given.
_ALIKE = frozenset({"touch", "mkdir", "ls", "cat", "head", "tail", "wc", "grep", "rg", "sort",
                    "uniq", "diff", "stat", "tree", "echo", "printf", "which", "cp", "mv", "ln",
                    "pytest", "ruff", "mypy", "eslint", "tsc", "prettier"})  # fmt: skip
_ALIKE_AFTER_A_WORD = frozenset({"git", "npm", "pnpm", "yarn", "cargo", "go", "make"})


def native_rules(tool: str, suggestions: Iterable[Any]) -> list[dict[str, str]]:
    """Rules that allow this and what is like it; the whole tool where nothing is suggested."""
    found: list[dict[str, str]] = []
    for suggestion in suggestions:
        if not isinstance(suggestion, dict) or suggestion.get("type") != "addRules":
            continue
        for rule in suggestion.get("rules") or ():
            content = rule.get("ruleContent") if isinstance(rule, dict) else None
            if isinstance(content, str):
                name = str(rule.get("toolName") or tool)
                found.append({"toolName": name, "ruleContent": _wider(name, content)})
    return found or [{"toolName": tool}]


def _wider(tool: str, content: str) -> str:
    """The same program with other arguments, where that is harmless to assume."""
    program, _, rest = content.partition(" ")
    word = rest.partition(" ")[0]
    if tool == "Bash" and program in _ALIKE:
        return f"{program}:*"
    if tool == "Bash" and program in _ALIKE_AFTER_A_WORD and word.isalpha():
        return f"{program} {word}:*"
    return content


def rule_name(rules: Iterable[dict[str, str]]) -> str:
    """How a rule is shown to people, and known to our own policy."""
    return ", ".join(
        f"{rule['toolName']}({rule['ruleContent']})" if "ruleContent" in rule else rule["toolName"]
        for rule in rules
    )
