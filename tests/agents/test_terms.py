"""The page about conversion names the native messages that really cause our events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec
import pytest

from dragoman.schema.events import Event, ItemCompleted, ItemDelta, ItemStarted
from tests.agents.recordings import cases

AGENTS = sorted({case.agent for case in cases()})
OFTEN = 0.05
"""A native message that causes so many of the events of a term is named for it."""
OURS = "none"
_KINDS = {"tool_call": "tool call", "tool_result": "tool result"}


def term(event: Event) -> str | None:
    """What the page calls an event; None: it does not."""
    match event.data:
        case ItemStarted(item=item) | ItemCompleted(item=item) if item.kind == "message":
            return f"message ({item.role})"
        case ItemStarted(item=item) | ItemCompleted(item=item):
            return _KINDS.get(item.kind)
        case ItemDelta(content_type="text" | "reasoning"):
            return "message.delta"
        case ItemDelta():
            return None
        case _:
            return event.type


def cause(raw: Any) -> str:
    """The word that says most about which native message it is."""
    message = msgspec.json.decode(raw) if isinstance(raw, bytes | msgspec.Raw) else raw
    params = message.get("params") or {}
    inner = (
        (params.get("item") or {}).get("type"),
        (params.get("update") or {}).get("sessionUpdate"),
        message.get("method"),
        (message.get("event") or {}).get("type"),
        (message.get("request") or {}).get("subtype"),
        message.get("subtype") if message.get("type") == "system" else None,
        message.get("type"),
        (message.get("payload") or {}).get("type"),
        "plain text" if "encoding" in message else None,
        "reply",
    )
    return str(next(word for word in inner if word))


def terms_of(agent: str) -> Mapping[str, str]:
    """The terms of an agent that there are recordings of."""
    return next(case.adapter.terms for case in cases() if case.agent == agent)


@cache
def causes(agent: str) -> dict[str, Counter[str]]:
    """How often which native message causes the events of a term, in all recordings."""
    found: dict[str, Counter[str]] = {}
    for case in (each for each in cases() if each.agent == agent):
        for event in case.play().events:
            name = term(event)
            if name is None or event.raw is None or event.source == "daemon":
                continue
            found.setdefault(name, Counter())[cause(event.raw)] += 1
    return found


def named(word: str, text: str) -> bool:
    """Whether a text names a native message, perhaps with a star for a part of its name."""
    if word in text:
        return True
    patterns = [each.strip(",;") for each in text.split() if "*" in each]
    return any(
        word.startswith(pattern.partition("*")[0]) and word.endswith(pattern.partition("*")[2])
        for pattern in patterns
    )


@pytest.mark.parametrize("agent", AGENTS)
def test_a_term_names_what_causes_its_events(agent: str) -> None:
    """Before, it named messages that leave no event, and left out those that cause most."""
    terms = terms_of(agent)
    for name, counted in causes(agent).items():
        if name not in terms:
            continue
        often = [word for word, count in counted.items() if count >= OFTEN * counted.total()]
        missing = [word for word in often if not named(word, terms[name])]
        assert missing == [], f"{name}: {terms[name]} ({counted})"


@pytest.mark.parametrize("agent", AGENTS)
def test_what_an_agent_never_says_is_named_so(agent: str) -> None:
    terms = terms_of(agent)
    for name in ("session.started", "permission.resolved", "question.resolved"):
        assert terms[name].startswith(OURS), f"{name}: {terms[name]}"
        assert name not in causes(agent)
