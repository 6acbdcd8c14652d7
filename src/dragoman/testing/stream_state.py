"""The state of a stream so far, which the conformance rules read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from dragoman.schema.events import (
    ErrorRaised,
    Event,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    QueueUpdated,
    SessionEnded,
    SessionStarted,
    TurnEnded,
    TurnStarted,
)
from dragoman.schema.items import DeltaType, Item, Reasoning, ToolCall, ToolResult

Requested = PermissionRequested | QuestionRequested
Resolved = PermissionResolved | QuestionResolved

QUIET = ("status", "system")
"""Kinds of items that may stand between turns."""


class Turn(Struct, kw_only=True):
    """The turn that goes on."""

    turn_id: str | UnsetType
    first: bool
    """No turn of the session was before it."""
    prompted: bool = False
    """It holds a person's message."""
    busy: bool = False
    """It holds anything else but status items, system items and what subagents do."""
    failed: bool = False
    """It holds an error."""


class StreamItem(Struct, kw_only=True):
    """An item that has started and not completed."""

    item: Item
    turn: Turn | None
    streamed: dict[DeltaType, list[str]]
    overtaken: bool = False
    """A thought of the same speaker has started since."""


class StreamRequest(Struct, kw_only=True):
    """A request that nobody has answered."""

    body: Requested
    turn: Turn | None


class Ledger:
    """Reads a stream once. Of what is closed it keeps ids, no content."""

    def __init__(self, *, strict: bool) -> None:
        self.strict = strict
        self.sequence = 0
        self.session_id: str | None = None
        self.started = False
        self.ended = False
        self.event_ids: set[str] = set()
        self.turn: Turn | None = None
        self.turn_ids: set[str] = set()
        self.items: dict[str, StreamItem] = {}
        self.item_ids: set[str] = set()
        self.message_ids: dict[str, str] = {}
        self.calls: dict[str, Item] = {}
        """Completed calls without a result."""
        self.call_ids: set[str] = set()
        self.answered: set[str] = set()
        self.requests: dict[str, StreamRequest] = {}
        self.request_ids: set[str] = set()
        self.queue: tuple[str, ...] = ()
        """The messages that people saw waiting last."""
        self.speakers: set[str | None] = set()
        """Who has said something in this turn: the agent, None, and subagents; of these also who
        runs on from an earlier one."""

    def advance(self, event: Event) -> None:
        """Take the next event, right or wrong."""
        self.sequence = event.sequence
        self.session_id = self.session_id or event.session_id
        self.event_ids.add(event.event_id)
        match event.data:
            case SessionStarted():
                self.started = True
            case SessionEnded():
                self.ended = True
            case TurnStarted(turn_id=turn_id):
                self.turn = Turn(turn_id=turn_id, first=not self.turn_ids)
                self.turn_ids.add(str(turn_id))
            case TurnEnded():
                self.turn = None
                running = {speaker(opened.item) for opened in self.items.values()}
                self.speakers &= running - {None}
                self.calls = {name: call for name, call in self.calls.items() if of_subagent(call)}
            case ItemStarted(item=item):
                self._start(item)
            case ItemDelta() as delta if delta.item_id in self.items:
                pieces = self.items[delta.item_id].streamed
                pieces.setdefault(delta.content_type, []).append(delta.delta)
            case ItemCompleted(item=item):
                self._complete(item)
            case PermissionRequested() | QuestionRequested() as body:
                self._ask(body)
            case PermissionResolved() | QuestionResolved() as body:
                self.requests.pop(request_id(body), None)
            case QueueUpdated(messages=messages):
                self.queue = tuple(message.message_id for message in messages)
            case ErrorRaised() if self.turn is not None:
                self.turn.busy = self.turn.failed = True

    def _start(self, item: Item) -> None:
        self.item_ids.add(item.item_id)
        if is_thought(item):
            for opened in self.items.values():
                opened.overtaken |= speaker(opened.item) == speaker(item)
        elif item.kind == "message":
            self.speakers.add(speaker(item))
        self.items[item.item_id] = StreamItem(item=item, turn=self.turn, streamed={})
        if item.message_id is not UNSET:
            self.message_ids.setdefault(item.message_id, item.item_id)
        if self.turn is not None and item.kind not in QUIET and not of_subagent(item):
            if is_prompt(item):
                self.turn.prompted = True
            else:
                self.turn.busy = True

    def _complete(self, item: Item) -> None:
        self.item_ids.add(item.item_id)
        self.items.pop(item.item_id, None)
        if item.message_id is not UNSET:
            self.message_ids.setdefault(item.message_id, item.item_id)
        for call_id in calls_of(item):
            self.calls[call_id] = item
            self.call_ids.add(call_id)
            self.answered.discard(call_id)
        for call_id in results_of(item):
            self.calls.pop(call_id, None)
            self.answered.add(call_id)

    def _ask(self, body: Requested) -> None:
        self.request_ids.add(request_id(body))
        self.requests[request_id(body)] = StreamRequest(body=body, turn=self.turn)
        if self.turn is not None and not asked_by_subagent(body):
            self.turn.busy = True


def speaker(item: Item) -> str | None:
    """The subagent that produced it; None: the agent, or a person."""
    return item.subagent_id if isinstance(item.subagent_id, str) else None


def is_thought(item: Item) -> bool:
    """What the model thinks."""
    return any(isinstance(part, Reasoning) for part in item.content)


def is_prompt(item: Item) -> bool:
    """A person's message."""
    return item.kind == "message" and item.role == "user" and not of_subagent(item)


def of_subagent(item: Item) -> bool:
    """A subagent produced it."""
    return item.subagent_id is not UNSET


def asked_by_subagent(body: Requested) -> bool:
    """A subagent waits for the answer."""
    metadata: Any = body.metadata
    return isinstance(metadata, dict) and metadata.get("subagent_id") is not None


def request_id(body: Requested | Resolved) -> str:
    """The id of a permission or question."""
    match body:
        case PermissionRequested() | PermissionResolved():
            return body.permission_id
        case _:
            return body.question_id


def calls_of(item: Item) -> Iterator[str]:
    """The ids of the calls that a tool call's item makes."""
    if item.kind == "tool_call":
        yield from (part.call_id for part in item.content if isinstance(part, ToolCall))


def results_of(item: Item) -> Iterator[str]:
    """The ids of the calls that a tool result's item answers."""
    if item.kind == "tool_result":
        yield from (part.call_id for part in item.content if isinstance(part, ToolResult))
