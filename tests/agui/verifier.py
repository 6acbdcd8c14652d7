"""The rules of order that AG-UI's own client enforces (`@ag-ui/client` 1.0.0, `verify.ts`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Json = dict[str, Any]

_OPENERS = {
    "TEXT_MESSAGE_START": ("text", "messageId"),
    "TOOL_CALL_START": ("call", "toolCallId"),
    "REASONING_START": ("span", "messageId"),
    "REASONING_MESSAGE_START": ("thought", "messageId"),
}
_CONTINUED = {
    "TEXT_MESSAGE_CONTENT": ("text", "messageId", False),
    "TEXT_MESSAGE_END": ("text", "messageId", True),
    "TOOL_CALL_ARGS": ("call", "toolCallId", False),
    "TOOL_CALL_END": ("call", "toolCallId", True),
    "REASONING_MESSAGE_CONTENT": ("thought", "messageId", False),
    "REASONING_MESSAGE_END": ("thought", "messageId", True),
    "REASONING_END": ("span", "messageId", True),
}
_BUCKET = {"text": "message", "call": "call", "span": "reasoning", "thought": "reasoning"}


class Verifier:
    """Raises AssertionError at the first event that the client would refuse."""

    def __init__(self) -> None:
        self.is_running = False
        self.runs = 0
        self._reset()

    def _reset(self) -> None:
        self._open: set[tuple[str, str]] = set()
        self._owners: dict[tuple[str, str], str | None] = {}
        self._steps: set[tuple[str | None, str]] = set()
        self._subagents: set[str] = set()
        self._gone: set[str] = set()

    def verify(self, event: Json) -> None:
        """Take in one event."""
        kind = event["type"]
        if not self.is_running:
            assert kind == "RUN_STARTED", f"{kind} outside of a run"
            self._reset()
            self.is_running, self.runs = True, self.runs + 1
            return
        assert kind != "RUN_STARTED", "a run begins inside of another"
        if kind in _OPENERS:
            self._start(event, *_OPENERS[kind])
        elif kind in _CONTINUED:
            self._continue(event, *_CONTINUED[kind])
        elif kind.startswith("STEP_"):
            self._step(event)
        elif kind.startswith("SUBAGENT_"):
            self._subagent(event)
        elif kind == "TOOL_CALL_RESULT":
            self._owners["message", event["messageId"]] = event.get("subagentRunId")
        elif kind == "RUN_FINISHED":
            left = self._open | self._steps | self._subagents
            assert not left, f"open at the end: {left}"
        if kind in ("RUN_FINISHED", "RUN_ERROR"):
            self.is_running = False

    def _start(self, event: Json, kind: str, field: str) -> None:
        key, owner = event[field], event.get("subagentRunId")
        assert (kind, key) not in self._open, f"{kind} {key} is open"
        if parent := event.get("parentMessageId"):
            speaker = self._owners.get(("message", parent), owner)
            assert owner is None or speaker == owner, f"{key} is in the message of another"
        known = self._owners.setdefault((_BUCKET[kind], key), owner)
        assert owner is None or known == owner, f"{key} is another's"
        self._open.add((kind, key))

    def _continue(self, event: Json, kind: str, field: str, closes: bool) -> None:
        key, owner = event[field], event.get("subagentRunId")
        assert (kind, key) in self._open, f"{event['type']} of {key}, which is not open"
        assert owner is None or self._owners[_BUCKET[kind], key] == owner, f"{key} is another's"
        if closes:
            self._open.remove((kind, key))

    def _step(self, event: Json) -> None:
        step = (event.get("subagentRunId"), event["stepName"])
        if event["type"] == "STEP_STARTED":
            assert step not in self._steps, f"{step} is open"
            self._steps.add(step)
        else:
            self._steps.remove(step)

    def _subagent(self, event: Json) -> None:
        key = event["subagentRunId"]
        if event["type"] == "SUBAGENT_STARTED":
            assert key not in self._subagents | self._gone, f"subagent {key} begins twice"
            parent = event.get("parentSubagentRunId")
            assert parent is None or parent in self._subagents | self._gone, "unknown parent"
            self._subagents.add(key)
        else:
            self._subagents.remove(key)
            self._gone.add(key)


def verify(events: Iterable[Json]) -> Verifier:
    """All events of a stream, which must end with a run."""
    verifier = Verifier()
    for event in events:
        verifier.verify(event)
    assert not verifier.is_running, "no terminal event"
    return verifier
