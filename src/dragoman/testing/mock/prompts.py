"""Which prompt plays which script."""

from __future__ import annotations

import re
from collections.abc import Callable

from dragoman.testing.mock import faults as trials
from dragoman.testing.mock import scripts as scripts
from dragoman.testing.mock.lines import Script, say


def help() -> Script:
    """Lists the prompts."""
    lines = [f"- `{', '.join(names)}`: {play.__doc__}" for names, play in _listed().items()]
    lines.append("- `echo …, say …`: Says it. Anything else is echoed, too.")
    lines.append("- `Reply with exactly the word …`: Says that word.")
    lines.append("- `Use the bash tool to run `…``: Calls that tool, in name only.")
    lines.append("- `Call the AskUserQuestion tool …`: Asks a question with yes and no.")
    yield from say("These prompts do something:\n\n" + "\n".join(lines) + "\n")
    return None


PLAIN: dict[str, Callable[[], Script]] = {
    "help": help,
    "demo": scripts.demo,
    "markdown": scripts.markdown,
    "reasoning": scripts.reasoning,
    "tool": scripts.tools,
    "tools": scripts.tools,
    "tooling": scripts.tools,
    "status": scripts.status,
    "image": scripts.picture,
    "unknown": scripts.unknown,
    "permission": scripts.permission,
    "permissions": scripts.permission,
    "edit": scripts.edit,
    "files": scripts.real_file,
    "question": scripts.question,
    "questions": scripts.questions,
    "subagent": scripts.subagent,
    "usage": scripts.usage,
    "error": scripts.error,
    "unparsed": scripts.unparsed,
    "end": scripts.end,
    "crash": trials.crash,
    "hang": trials.hang,
    "garbage": trials.garbage,
    "ignore-sigterm": trials.ignore_sigterm,
    "spawn-children": trials.spawn_children,
}
"""Prompts of one word."""

COUNTED: dict[str, tuple[int, Callable[..., Script]]] = {
    "slow": (1, trials.slow),
    "burst": (2, trials.burst),
    "huge": (1, trials.huge),
}
"""Prompts that take up to so many numbers."""

_EXACTLY = re.compile(
    r"\b(?:reply|respond|answer)\b[^.!?\n]{0,40}?"
    r"\b(?:exactly|(?:only|just)(?=(?:\s+with)?\s+(?:the|this|one)\s+(?:single\s+)?word\b))"
    r"(?:\s+(?:with|the|this|one|single|following|word|text|string))*"
    r"(?:\s*:\s*|\s+)(?P<word>\"[^\"]+\"|'[^']+'|`[^`]+`|\S+)",
    re.IGNORECASE,
)


_RUN = re.compile(r"\buse the bash tool to run `(?P<command>[^`]+)`", re.IGNORECASE)
_ASK = re.compile(r"\bcall the AskUserQuestion tool\b", re.IGNORECASE)


def choose(prompt: str) -> Script:
    """Find what a prompt asks for."""
    name, _, rest = prompt.strip().partition(" ")
    name, words = name.lower(), rest.split()
    if name in ("echo", "say") and words:
        return say(rest.strip())
    if name in PLAIN and not words:
        return PLAIN[name]()
    if name in COUNTED and all(word.isdecimal() for word in words):
        most, play = COUNTED[name]
        if len(words) <= most:
            return play(*map(int, words))
    return _sentence(prompt) or say(exact_word(prompt) or prompt)


def _sentence(prompt: str) -> Script | None:
    """Find what a sentence asks for: any agent understands it, so clients try all with it."""
    if found := _RUN.search(prompt):
        return scripts.run(found["command"])
    return scripts.yes_or_no() if _ASK.search(prompt) else None


def exact_word(prompt: str) -> str | None:
    """Give the word that a sentence asks to reply with, if it asks for one."""
    found = _EXACTLY.search(prompt)
    return found["word"].rstrip(".,;:!?").strip("\"'`") if found else None


def _listed() -> dict[tuple[str, ...], Callable[..., Script]]:
    """Give each script once, with all its names."""
    plays = {**PLAIN, **{name: play for name, (_, play) in COUNTED.items()}}
    names: dict[Callable[..., Script], list[str]] = {}
    for name, play in plays.items():
        names.setdefault(play, []).append(name)
    return {tuple(listed): play for play, listed in names.items()}
