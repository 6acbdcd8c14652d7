"""The normalizer: steps become drafts of events, repaired where a rule would break.

A person's message is in exactly one turn, before any answer
to it · everything open is closed when its turn or process ends · nothing follows
`session.ended` · and what `items.py` promises. `testing/conformance.py` checks the same list
from outside. The first events of a session are in `daemon_events.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from itertools import chain
from typing import Any

import msgspec
from msgspec import UNSET

from dragoman import steps as step
from dragoman.core import content_shape, endings
from dragoman.core.blobs import CopyFile, StoreFile, stored
from dragoman.core.items import Items, NewId, OpenItem
from dragoman.core.requests import OpenRequest, permission, question, resolution, withdrawal
from dragoman.core.sent_messages import Prompts
from dragoman.facts import Exit
from dragoman.schema.commands import Prompt
from dragoman.schema.events import (
    AgentUnparsed,
    Body,
    Draft,
    ErrorRaised,
    Outcome,
    PermissionRequested,
    QuestionRequested,
    SessionEnded,
    Source,
    TurnStarted,
)
from dragoman.schema.items import ItemKind, ItemStatus, Json, Role, Status, Text
from dragoman.services import Service

_BETWEEN_TURNS = ("status", "system")
"""Kinds of items that may stand between turns."""

_NO_REASON = "the turn failed; the agent did not say why"

Output = Draft | StoreFile | CopyFile | step.Outgoing | Service | step.Delivered


class Normalizer:
    """One session's way from steps to drafts. `out` is what the last steps came to, in order."""

    def __init__(self, new_id: NewId, files_dir: str = "/files") -> None:
        self.out: list[Output] = []
        self.items = Items(new_id, self._emit)
        self.requests: dict[str, OpenRequest] = {}
        self.native_session_id: str | None = None
        self.turn_id: str | None = None
        self.turn_metadata: dict[str, Any] = {}
        self.ended = False
        self._new_id = new_id
        self._files_dir = files_dir
        self._prompts = Prompts()
        self._deferred: list[Draft] = []
        """Told before a person's message was shown, which goes first."""
        self._said_why = False
        self._used: step.Used | None = None
        self._raw: bytes | None = None
        self._source: Source = "daemon"

    @property
    def idle(self) -> bool:
        """Nothing is open: no turn, no item, no request."""
        return self.turn_id is None and self.items.empty and not self.requests

    def take(self) -> list[Output]:
        """Hand over what has come out."""
        out, self.out = self.out, []
        return out

    def shows(self, raw: bytes) -> bool:
        """Whether this native message has caused an event that nobody has taken yet."""
        waiting = chain(reversed(self.out), self._deferred)
        return any(isinstance(each, Draft) and each.raw is raw for each in waiting)

    def remember(self, prompt: Prompt) -> None:
        """Know a message that is about to be sent, so that Delivered can show it."""
        self._prompts.remember(prompt)

    def forget(self, message_id: str) -> None:
        """A message that was sent to a process that is gone was taken back."""
        self._prompts.forget(message_id)

    def request(self, request_id: str) -> OpenRequest | None:
        """The open request with this id of ours."""
        return next((ask for ask in self.requests.values() if ask.id == request_id), None)

    def apply(self, given: step.Step, raw: bytes | None) -> None:
        """Take one step; `raw` is the native message that caused it, None: we did."""
        if self.ended:
            return
        self._raw = raw
        self._source = "daemon" if raw is None else getattr(given, "source", "agent")
        match given:
            case step.Delta():
                self._delta(given)
            case step.StartItem():
                self._start(given)
            case step.CompleteItem():
                self._complete(given)
            case step.BeginTurn():
                self._begin_turn(self._source, given.metadata)
            case step.EndTurn():
                self._end_turn(given)
            case step.Used():
                self._used = given
            case step.Delivered():
                self._delivered(given)
            case step.Echo():
                self._echo(given)
            case step.AskPermission() | step.AskQuestion():
                self._ask(given)
            case step.Resolve():
                self._resolve(given)
            case step.Withdraw():
                self._withdraw(given.key, given.reason)
            case step.Report():
                self._report(ErrorRaised(**msgspec.structs.asdict(given)), self._source)
            case step.Update(body=body):
                draft = Draft(body, self._source, self.native_session_id, raw)
                (self._deferred if self._prompts.due else self.out).append(draft)
            case step.Unparsed(error=error, location=location):
                self._unparsed(error, location, hashlib.sha256(raw).hexdigest() if raw else None)
            case step.EndSession():
                self._agent_ends(given)
            case step.Bind(native_session_id=native, resumable=resumable):
                self.native_session_id = native if resumable else self.native_session_id
            case step.Defer():
                pass
            case _:
                self.out.append(given)

    def _emit(self, body: Body, source: Source) -> None:
        self.out.append(Draft(body, source, self.native_session_id, self._raw))

    # --- Turns and people's messages ---

    def _begin_turn(self, source: Source, metadata: Mapping[str, Any] | None = None) -> None:
        if self.turn_id is None:
            self.turn_id = self._new_id("turn")
            self._said_why, self._used = False, None
            about = self.turn_metadata = dict(metadata or {})
            self._emit(TurnStarted(turn_id=self.turn_id, metadata=about or UNSET), source)

    def _delivered(self, given: step.Delivered) -> None:
        if self._prompts.accepted(given.message_id):
            self._begin_turn("daemon")
            if not given.echoed:
                self._show_due()

    def _show_due(self) -> None:
        while prompt := self._prompts.take():
            self._show(prompt, None, "daemon")

    def _show(self, prompt: Prompt, native_id: str | None, source: Source) -> None:
        """A person's message, always with the words that were accepted. It is delivered now."""
        self.out.append(step.Delivered(message_id=prompt.message_id))
        raw = self._raw
        self._raw = raw if source == "agent" else None
        item = self._open(f"prompt:{prompt.message_id}", "message", "user", (Text(text=""),),
                          source, native_id=native_id,
                          fields={"message_id": prompt.message_id})  # fmt: skip
        attached = stored(content_shape.attached(prompt), self._files_dir, self.out)
        self.items.finish(item, (Text(text=prompt.text), *attached), "completed", {}, source)
        self._raw = raw
        if not self._prompts.due:
            self.out += self._deferred
            self._deferred = []

    def _echo(self, given: step.Echo) -> None:
        message_id = given.message_id
        if message_id is not None:
            if self._prompts.accepted(message_id):  # to repeat a message is to accept it
                self._begin_turn("daemon")
            if prompt := self._prompts.take(message_id):
                return self._show(prompt, given.native_id, self._source)
            if self._prompts.was_shown(message_id):
                return None
        parts = (Text(text=given.text),)
        key = f"echo:{self._new_id('key')}"
        item = self._open(key, "system", "system", parts, self._source, native_id=given.native_id)
        return self.items.finish(item, parts, "completed", {}, self._source)

    def _end_turn(self, given: step.EndTurn) -> None:
        if self.turn_id is None:
            self._late("turn end", {"outcome": given.outcome})
        else:
            reason = "interrupt" if given.outcome == "interrupted" else "turn_end"
            self._close_turn(given, reason, self._source)

    def _close_turn(
        self, given: step.EndTurn, reason: str, source: Source, *, everything: bool = False
    ) -> None:
        self._show_due()
        self._close_open(reason, everything=everything)
        if given.outcome == "failed" and not self._said_why:
            self._report(ErrorRaised(message=_NO_REASON), "daemon")
        end = endings.turn_ended(self.turn_id, given, self._used, self.turn_metadata)
        self._emit(end, source)
        self.turn_id = None
        self._prompts.turn_over()
        self.items.turn_over()

    def _close_open(self, reason: str, *, everything: bool) -> None:
        self._withdraw_all(reason, everything=everything)
        why = "interrupted" if reason == "interrupt" else reason
        self.items.close_all(why, everything=everything)

    def _enter_turn(self) -> None:
        """Before anything else of a turn: the turn, then the person's message."""
        if self.turn_id is None:
            # Nobody said that a turn begins: the agent answers what was sent, if anything was.
            self._prompts.presume()
        self._begin_turn("daemon")
        self._show_due()

    # --- Items ---

    def _open(
        self,
        key: str,
        kind: ItemKind,
        role: Role | None,
        parts: content_shape.Parts,
        source: Source,
        *,
        native_id: str | None = None,
        parent_id: str | None = None,
        fields: dict[str, Any] | None = None,
        detached: bool = False,
    ) -> OpenItem:
        item = OpenItem(
            key=key, id=self._new_id("itm"), native_id=native_id, parent_id=parent_id, kind=kind,
            role=role, parts=parts, fields=fields or {}, detached=detached,
        )  # fmt: skip
        return self.items.start(item, source)

    def _start(self, given: step.StartItem) -> None:
        parts = stored(given.content, self._files_dir, self.out)
        kind, role = content_shape.kind_and_role(given.kind, given.role)
        detached = given.detached and given.subagent is not None
        idle = detached or kind in _BETWEEN_TURNS
        doubled = kind == "tool_result" and self._answered(given.key, parts)
        homeless = self.turn_id is None and given.opens is False and not idle
        if given.key in self.items.open or doubled or homeless:
            late = self._late("start", {"key": given.key, "kind": given.kind})
            return self.items.name(given.key, late)
        if given.opens or not idle:
            self._enter_turn()
        fields: dict[str, Any] = dict(given.fields)
        if given.subagent is not None:
            fields["subagent_id"] = given.subagent
        parent_id = self.items.id_of(given.parent)
        self._open(given.key, kind, role, parts, self._source, native_id=given.native_id,
                   parent_id=parent_id, fields=fields, detached=detached)  # fmt: skip
        return None

    def _answered(self, key: str, parts: content_shape.Parts) -> bool:
        return self.items.answered(content_shape.call_id_of(parts) or key)

    def _delta(self, given: step.Delta) -> None:
        item = self.items.open.get(given.key)
        if item is None:
            item = self._stub(given.key, *content_shape.stub(given.key, given.content_type))
        elif (self.turn_id is None or self._prompts.due) and not (
            item.detached or item.kind in _BETWEEN_TURNS
        ):
            self._enter_turn()
        if item is None or item.stream is None:
            self._late("delta", {"key": given.key, "delta": given.text})
        elif given.text:
            self.items.stream(item, given.text, self._source)

    def _stub(
        self, key: str, kind: ItemKind, role: Role | None, parts: content_shape.Parts
    ) -> OpenItem | None:
        """An item for what the agent said without saying that it begins; None: it is too late."""
        if self.items.knows(key) or (kind == "tool_result" and self._answered(key, parts)):
            return None
        if kind not in _BETWEEN_TURNS:
            self._enter_turn()
        return self._open(key, kind, role, parts, "daemon")

    def _complete(self, given: step.CompleteItem) -> None:
        item = self.items.open.get(given.key)
        parts = None if given.content is None else stored(given.content, self._files_dir, self.out)
        if item is None and parts is not None:
            item = self._stub(given.key, *content_shape.guess(parts), parts)
        elif item is not None and not item.detached and item.kind not in _BETWEEN_TURNS:
            self._enter_turn()
        if item is None:
            self._late("completion", {"key": given.key})
        else:
            status: ItemStatus = "failed" if given.status == "failed" else "completed"
            self.items.finish(item, parts, status, dict(given.fields), self._source)

    def _late(self, what: str, about: dict[str, Any]) -> str:
        """Keep what came too late, or twice, where it harms nothing; the id of that item."""
        parts = (Status(label="late", detail=what), Json(json=about))
        item = self._open(f"late:{self._new_id('key')}", "status", None, parts, self._source)
        self.items.finish(item, parts, "completed", {}, self._source)
        return item.id

    # --- Requests, errors ---

    def _ask(self, given: step.AskPermission | step.AskQuestion) -> None:
        if given.key in self.requests:
            self._late("request", {"key": given.key})
            return
        detached = given.detached and "subagent_id" in (given.metadata or {})
        if not detached:
            self._enter_turn()
        body: PermissionRequested | QuestionRequested
        if isinstance(given, step.AskPermission):
            body = permission(given, self._new_id("perm"), self.items.id_of(given.item))
            self._emit(body, self._source)
        else:
            body = question(given, self._new_id("qst"))
            self._emit(body, given.source)
        self.requests[given.key] = OpenRequest(
            key=given.key, body=body, detached=detached, timeout_s=given.timeout_s
        )

    def _resolve(self, given: step.Resolve) -> None:
        request = self.requests.get(given.command.key)
        body = resolution(request.body, given.command) if request else None
        if body is not None:
            del self.requests[given.command.key]
            self._emit(body, "daemon")

    def _withdraw(self, key: str, reason: str) -> None:
        request = self.requests.pop(key, None)
        if request is not None:
            self._emit(withdrawal(request.body, reason), "daemon")

    def _withdraw_all(self, reason: str, *, everything: bool) -> None:
        for request in list(self.requests.values()):
            if everything or not request.detached:
                self._withdraw(request.key, reason)

    def _report(self, error: ErrorRaised, source: Source) -> None:
        if self.turn_id is not None:
            self._enter_turn()
        self._said_why = True
        self._emit(error, source)

    def note(self, body: Body) -> None:
        """An event of the daemon's own, which no step stands for."""
        self._raw = None
        self._emit(body, "daemon")

    def oversize(self, error: str, location: str, sha256: str, head: bytes) -> None:
        """The agent said more at once than is decoded; the hash is that of all of it."""
        self._raw = head
        if not self.ended:
            self._unparsed(error, location, sha256)

    def _unparsed(self, error: str, location: str, raw_hash: str | None) -> None:
        body = AgentUnparsed(error=error, location=location, raw_hash=raw_hash)
        self._emit(body, "daemon")

    # --- Ends ---

    def take_back(self, reason: str, *, everything: bool = True) -> None:
        """Who stops an agent first takes back what it, or only its turn, asks of people."""
        self._raw = None
        self._withdraw_all(reason, everything=everything)

    def cut_turn(self, reason: str) -> None:
        """The turn is cut by us: a restart, a stop, the end of the session."""
        self._raw = None
        self._cut("interrupted", reason)

    def _cut(self, outcome: Outcome, reason: str) -> None:
        """End the turn with all that is open, also of subagents."""
        if self.turn_id is not None:
            self._close_turn(step.EndTurn(outcome=outcome), reason, "daemon", everything=True)
        self._close_open(reason, everything=True)

    def process_gone(self, exit: Exit, *, resumable: bool) -> None:
        """The agent's process ended by itself. Where it cannot resume, the session ends too."""
        if self.ended:
            return
        self._raw = None
        running = self.turn_id is not None
        error = endings.process_exit(exit)
        if running:
            self._withdraw_all("process_exit", everything=True)
            self._report(error, "daemon")
        self._cut("failed", "process_exit")
        if running and not resumable:
            self.give_up(error.message, exit)

    def give_up(self, message: str, exit: Exit | None) -> None:
        """The agent cannot go on, nor be resumed: the session ends with what is known."""
        self._raw = None
        self._end_session(endings.given_up(message, exit), "process_exit", "daemon")

    def _agent_ends(self, given: step.EndSession) -> None:
        self._cut("failed" if given.reason == "error" else "completed", "session_end")
        self._end_session(endings.said_goodbye(given), "session_end", self._source)

    def _end_session(self, body: SessionEnded, reason: str, source: Source) -> None:
        if not self.ended:
            self._close_open(reason, everything=True)
            self._emit(body, source)
            self.ended = True

    def terminate(self) -> None:
        """A person ended the session; its processes are gone."""
        self.cut_turn("session_end")
        body = SessionEnded(reason="terminated", terminated_by="daemon")
        self._end_session(body, "session_end", "daemon")
