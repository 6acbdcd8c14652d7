"""Folds events into the state of a session."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Struct

from dragoman.schema.commands import PERMISSION_MODES, PermissionMode
from dragoman.schema.events import (
    Body,
    Continuity,
    FileChanged,
    ItemCompleted,
    ModelUsage,
    Outcome,
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    QueueUpdated,
    SessionEnded,
    SessionUpdated,
    TurnEnded,
    TurnStarted,
    Usage,
)
from dragoman.schema.http import ChangeCount, SessionStatus
from dragoman.schema.items import Item, Text
from dragoman.wire.patch import count_lines

PREVIEW = 60
"""So many characters of a message are shown in its session's place."""


class SessionState(Struct, kw_only=True):
    """What all events of a session add up to."""

    agent_mode: str
    permission_mode: PermissionMode = "default"
    model: str | None = None
    variant: str | None = None
    title: str | None = None
    preview: str | None = None
    """The first words of the first message that has any."""
    native_session_id: str | None = None
    confirmed: bool = False
    """The agent itself confirmed the native id: it can be resumed."""
    tentative_id: str | None = None
    """A native id that the agent named before it had kept anything, if it ever has."""
    turn_id: str | None = None
    ended: bool = False
    last_outcome: Outcome | None = None
    continuity: Continuity | None = None
    """The last time that it did not go on from where it was, how that came."""
    usage: Usage | None = None
    tools: tuple[str, ...] | None = None
    """The tools of the agent, where it has told them."""
    changes: ChangeCount | None = None
    """What the last turn that changed files left of changes in the directory."""
    permissions: dict[str, PermissionRequested] = {}
    questions: dict[str, QuestionRequested] = {}
    rules: list[str] = []
    queue: list[str] = []
    """The messages that were last shown waiting."""
    open_since: int | None = None
    """The first event that a restart must read to close what is open."""

    @property
    def status(self) -> SessionStatus:
        """What the session does now."""
        if self.ended:
            return "ended"
        if self.permissions or self.questions:
            return "waiting"
        return "running" if self.turn_id else "idle"

    def copy(self) -> SessionState:
        """The state as it is now."""
        return msgspec.structs.replace(
            self,
            permissions=dict(self.permissions),
            questions=dict(self.questions),
            rules=list(self.rules),
            queue=list(self.queue),
        )

    def bind(self, native_session_id: str | None, *, resumable: bool) -> None:
        """The agent names the session."""
        self.tentative_id = None if resumable else native_session_id
        if resumable:
            self.native_session_id = native_session_id
            self.confirmed = native_session_id is not None

    def apply(self, body: Body) -> bool:
        """Take in one event; whether it changed anything here."""
        match body:
            case TurnStarted(turn_id=turn_id):
                self.turn_id = turn_id or None
            case TurnEnded():
                self._end_turn(body)
            case PermissionRequested(permission_id=request_id):
                self.permissions[request_id] = body
            case QuestionRequested(question_id=request_id):
                self.questions[request_id] = body
            case PermissionResolved():
                self._resolve(body)
            case QuestionResolved(question_id=request_id):
                self.questions.pop(request_id, None)
            case SessionUpdated():
                self._update(body)
            case QueueUpdated(messages=messages):
                self.queue = [message.message_id for message in messages]
            case FileChanged(diff=diff):
                files, additions, deletions = count_lines(diff)
                self.changes = ChangeCount(files=files, additions=additions, deletions=deletions)
            case SessionEnded():
                self.ended = True
            case ItemCompleted(item=item) if self.preview is None and item.message_id:
                self.preview = first_words(item)
                return self.preview is not None
            case _:
                return False
        return True

    def _end_turn(self, body: TurnEnded) -> None:
        self.turn_id = None
        self.last_outcome = body.outcome or None
        if body.usage:
            self.usage = add(self.usage, body.usage) if self.usage else body.usage

    def _resolve(self, body: PermissionResolved) -> None:
        asked = self.permissions.pop(body.permission_id, None)
        if body.status == "accept_for_session" and asked is not None:
            rule = (asked.metadata or {}).get("rule") or asked.action
            if rule not in self.rules:
                self.rules.append(rule)

    def news(self, body: SessionUpdated) -> SessionUpdated | None:
        """What of an update is new; None: nothing."""
        known = {
            "model": self.model,
            "variant": self.variant,
            "mode": self.agent_mode,
            "permission_mode": self.permission_mode,
            "title": self.title or "",
            "tools": self.tools,
        }
        same = {name: UNSET for name, value in known.items() if getattr(body, name) == value}
        fresh = msgspec.structs.replace(body, **same)
        return None if fresh == SessionUpdated() else fresh

    def _update(self, body: SessionUpdated) -> None:
        for name in ("model", "variant", "tools", "continuity"):
            if (value := getattr(body, name)) is not UNSET:
                setattr(self, name, value)
        if body.mode is not UNSET:
            self.agent_mode = body.mode
        if body.permission_mode is not UNSET:
            # An agent may have modes that are not ours; they are shown, and decide nothing here.
            known = [mode for mode in PERMISSION_MODES if mode == body.permission_mode]
            self.permission_mode = known[0] if known else self.permission_mode
        if body.title is not UNSET:
            self.title = body.title or None


def first_words(item: Item) -> str | None:
    """What a message is about, in one short line; None where it has no words."""
    texts = (part.text.lstrip() for part in item.content if isinstance(part, Text))
    # A message may be megabytes long, and nobody looks further than this.
    line = " ".join(next(filter(None, texts), "")[: 10 * PREVIEW].split())
    if len(line) <= PREVIEW:
        return line or None
    shown, _, _ = line[:PREVIEW].rpartition(" ")
    return f"{shown or line[: PREVIEW - 1]}…"


def add(one: Usage, other: Usage) -> Usage:
    """The sum of two usages; a cost that is known for one of them only stays what it is."""
    costs = [usage.cost_usd for usage in (one, other) if usage.cost_usd is not UNSET]
    sources = {usage.cost_source for usage in (one, other) if usage.cost_source is not UNSET}
    models = dict(one.models or {})
    for name, usage in (other.models or {}).items():
        models[name] = _add_model(models[name], usage) if name in models else usage
    return Usage(
        input_tokens=one.input_tokens + other.input_tokens,
        cached_input_tokens=one.cached_input_tokens + other.cached_input_tokens,
        cache_write_tokens=one.cache_write_tokens + other.cache_write_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        reasoning_tokens=one.reasoning_tokens + other.reasoning_tokens,
        cost_usd=round(sum(costs), 9) if costs else UNSET,
        cost_source=UNSET if not sources else sources.pop() if len(sources) == 1 else "estimated",
        models=models or UNSET,
    )


def _add_model(one: ModelUsage, other: ModelUsage) -> ModelUsage:
    costs = [usage.cost_usd for usage in (one, other) if usage.cost_usd is not None]
    return ModelUsage(
        input_tokens=one.input_tokens + other.input_tokens,
        cached_input_tokens=one.cached_input_tokens + other.cached_input_tokens,
        cache_write_tokens=one.cache_write_tokens + other.cache_write_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        reasoning_tokens=one.reasoning_tokens + other.reasoning_tokens,
        cost_usd=round(sum(costs), 9) if costs else None,
    )
