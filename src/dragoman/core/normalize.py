"""Steps become drafts of events. The same for every agent: it repairs what would break a rule.

First event `session.started`, once · a person's message is in exactly one turn, before any answer
to it · everything open is closed when its turn or process ends · nothing follows
`session.ended` · and what `items.py` promises. `testing/conformance.py` checks the same list
from outside.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from msgspec import UNSET

from dragoman import adapter as step
from dragoman.core import shape
from dragoman.core.blobs import StoreFile, file_of
from dragoman.core.items import Items, NewId, OpenItem
from dragoman.core.requests import Request, permission, question, resolution, withdrawal
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
    TurnEnded,
    TurnStarted,
)
from dragoman.schema.items import Image, ItemKind, ItemStatus, Json, Role, Status, Text

_QUIET = ("status", "system")
"""Kinds of items that may stand between turns."""

Output = Draft | StoreFile | step.Send | step.Delivered


class Normalizer:
    """One session's way from steps to drafts. `out` is what the last steps came to, in order."""

    def __init__(self, new_id: NewId, files_dir: str = "/files") -> None:
        self.out: list[Output] = []
        self.items = Items(new_id, self._emit)
        self.requests: dict[str, Request] = {}
        self.native_session_id: str | None = None
        self.turn_id: str | None = None
        self.ended = False
        self._new_id = new_id
        self._files_dir = files_dir
        self._prompts: dict[str, Prompt] = {}
        self._due: list[Prompt] = []
        self._shown: set[str] = set()
        self._said_why = False
        self._raw: bytes | None = None

    @property
    def quiet(self) -> bool:
        """Nothing is open: no turn, no item, no request."""
        return self.turn_id is None and self.items.empty and not self.requests

    def take(self) -> list[Output]:
        """Hand over what has come out."""
        out, self.out = self.out, []
        return out

    def remember(self, prompt: Prompt) -> None:
        """Know a message that is about to be sent, so that Delivered can show it."""
        self._prompts[prompt.message_id] = prompt

    def request(self, request_id: str) -> Request | None:
        """The open request with this id of ours."""
        return next((ask for ask in self.requests.values() if ask.id == request_id), None)

    def apply(self, given: step.Step, raw: bytes | None) -> None:
        """Take one step; `raw` is the native message that caused it."""
        if self.ended:
            return
        self._raw = raw
        match given:
            case step.Delta():
                self._delta(given)
            case step.StartItem():
                self._start(given)
            case step.CompleteItem():
                self._complete(given)
            case step.BeginTurn():
                self._begin_turn("agent", given.metadata)
            case step.EndTurn():
                self._end_turn(given)
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
                self._report(given.message, given.code, given.details, "agent")
            case step.Update(body=body):
                self._emit(body, "agent")
            case step.Unparsed():
                self._unparsed(given)
            case step.EndSession():
                self._agent_ends(given)
            case step.Bind(native_session_id=native):
                self.native_session_id = native
            case step.Send():
                self.out.append(given)

    def _emit(self, body: Body, source: Source) -> None:
        self.out.append(Draft(body, source, self.native_session_id, self._raw))

    # --- Turns and people's messages ---

    def _begin_turn(self, source: Source, metadata: Mapping[str, Any] | None = None) -> None:
        if self.turn_id is None:
            self.turn_id = self._new_id("turn")
            self._said_why = False
            about = UNSET if metadata is None else dict(metadata)
            self._emit(TurnStarted(turn_id=self.turn_id, metadata=about), source)

    def _delivered(self, given: step.Delivered) -> None:
        self.out.append(given)
        prompt = self._prompts.pop(given.message_id, None)
        if prompt is not None:
            self._begin_turn("daemon")
            self._due.append(prompt)
            if not given.echoed:
                self._show_due()

    def _show_due(self) -> None:
        while self._due:
            self._show(self._due.pop(0), None, "daemon")

    def _show(self, prompt: Prompt, native_id: str | None, source: Source) -> None:
        """A person's message, always with the words that were accepted."""
        raw = self._raw
        self._raw = raw if source == "agent" else None
        self._shown.add(prompt.message_id)
        item = self._open(f"prompt:{prompt.message_id}", "message", "user", (Text(text=""),),
                          source, native_id=native_id,
                          fields={"message_id": prompt.message_id})  # fmt: skip
        attached = [shape.attached(file.path, file.mime) for file in prompt.attachments]
        self.items.finish(item, (Text(text=prompt.text), *attached), "completed", {}, source)
        self._raw = raw

    def _echo(self, given: step.Echo) -> None:
        prompt = next((due for due in self._due if due.message_id == given.message_id), None)
        if prompt is not None:
            self._due.remove(prompt)
            self._show(prompt, given.native_id, "agent")
        elif given.message_id not in self._shown:
            parts = (Text(text=given.text),)
            key = f"echo:{self._new_id('key')}"
            item = self._open(key, "system", "system", parts, "agent", native_id=given.native_id)
            self.items.finish(item, parts, "completed", {}, "agent")

    def _end_turn(self, given: step.EndTurn) -> None:
        if self.turn_id is None:
            self._late("turn end", {"outcome": given.outcome})
        else:
            reason = "interrupt" if given.outcome == "interrupted" else "turn_end"
            self._close_turn(given, reason, "agent")

    def _close_turn(self, given: step.EndTurn, reason: str, source: Source) -> None:
        self._show_due()
        self._close_open(reason, everything=False)
        if given.outcome == "failed" and not self._said_why:
            self._report("the turn failed; the agent did not say why", None, None, "daemon")
        body = TurnEnded(
            turn_id=self.turn_id or UNSET,
            outcome=given.outcome,
            metadata=UNSET if given.metadata is None else dict(given.metadata),
            usage=UNSET if given.usage is None else given.usage,
            stop_reason=UNSET if given.stop_reason is None else given.stop_reason,
        )
        self._emit(body, source)
        self.turn_id = None
        self._shown.clear()
        self.items.turn_over()

    def _close_open(self, reason: str, *, everything: bool) -> None:
        self._withdraw_all(reason, everything=everything)
        why = "interrupted" if reason == "interrupt" else reason
        self.items.close_all(why, everything=everything)

    def _enter_turn(self) -> None:
        """Before anything else of a turn: the turn, then the person's message."""
        if self.turn_id is None:
            self._begin_turn("daemon")
        if self._due:
            self._show_due()

    # --- Items ---

    def _open(
        self,
        key: str,
        kind: ItemKind,
        role: Role | None,
        parts: shape.Parts,
        source: Source,
        *,
        native_id: str | None = None,
        parent_id: str | None = None,
        fields: dict[str, Any] | None = None,
        loose: bool = False,
    ) -> OpenItem:
        item = OpenItem(
            key=key, id=self._new_id("itm"), native_id=native_id, parent_id=parent_id, kind=kind,
            role=role, parts=parts, fields=fields or {}, loose=loose,
        )  # fmt: skip
        return self.items.start(item, source)

    def _start(self, given: step.StartItem) -> None:
        parts = self._stored(given.content)
        doubled = given.kind == "tool_result" and self._answered(given.key, parts)
        if given.key in self.items.open or doubled:
            return self._late("start", {"key": given.key, "kind": given.kind})
        loose = given.loose and given.subagent is not None
        if given.opens or not (loose or given.kind in _QUIET):
            self._enter_turn()
        fields: dict[str, Any] = dict(given.fields)
        if given.subagent is not None:
            fields["subagent_id"] = given.subagent
        self._open(given.key, given.kind, given.role, parts, "agent", native_id=given.native_id,
                   parent_id=self.items.id_of(given.parent), fields=fields,
                   loose=loose)  # fmt: skip
        return None

    def _answered(self, key: str, parts: shape.Parts) -> bool:
        return self.items.answered(shape.call_id_of(parts) or key)

    def _delta(self, given: step.Delta) -> None:
        item = self.items.open.get(given.key)
        if item is None:
            item = self._stub(given.key, *shape.stub(given.key, given.content_type))
        elif not item.loose and (self._due or self.turn_id is None):
            self._enter_turn()
        if item is None or item.stream is None:
            self._late("delta", {"key": given.key, "delta": given.text})
        elif given.text:
            self.items.stream(item, given.text, "agent")

    def _stub(
        self, key: str, kind: ItemKind, role: Role | None, parts: shape.Parts
    ) -> OpenItem | None:
        """An item for what the agent said without saying that it begins; None: it is too late."""
        if self.items.knows(key) or (kind == "tool_result" and self._answered(key, parts)):
            return None
        if kind not in _QUIET:
            self._enter_turn()
        return self._open(key, kind, role, parts, "daemon")

    def _complete(self, given: step.CompleteItem) -> None:
        item = self.items.open.get(given.key)
        parts = None if given.content is None else self._stored(given.content)
        if item is None and parts is not None:
            item = self._stub(given.key, *shape.guess(parts), parts)
        elif item is not None and not item.loose and item.kind not in _QUIET:
            self._enter_turn()
        if item is None:
            self._late("completion", {"key": given.key})
        else:
            status: ItemStatus = "failed" if given.status == "failed" else "completed"
            self.items.finish(item, parts, status, dict(given.fields), "agent")

    def _late(self, what: str, about: dict[str, Any]) -> None:
        """Keep what came too late, or twice, where it harms nothing."""
        parts = (Status(label="late", detail=what), Json(json=about))
        item = self._open(f"late:{self._new_id('key')}", "status", None, parts, "agent")
        self.items.finish(item, parts, "completed", {}, "agent")

    def _stored(self, content: step.Content) -> shape.Parts:
        return tuple(self._store(p) if isinstance(p, step.Blob) else p for p in content)

    def _store(self, blob: step.Blob) -> Image:
        file = file_of(blob, self._files_dir)
        self.out.append(file)
        return Image(path=file.path, mime=blob.mime)

    # --- Requests, errors ---

    def _ask(self, given: step.AskPermission | step.AskQuestion) -> None:
        if given.key in self.requests:
            return self._late("request", {"key": given.key})
        loose = given.loose and "subagent_id" in (given.metadata or {})
        if not loose:
            self._enter_turn()
        body: PermissionRequested | QuestionRequested
        if isinstance(given, step.AskPermission):
            body = permission(given, self._new_id("perm"), self.items.id_of(given.item))
            self._emit(body, "agent")
        else:
            body = question(given, self._new_id("qst"))
            self._emit(body, given.source)
        self.requests[given.key] = Request(key=given.key, body=body, loose=loose)
        return None

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
            if everything or not request.loose:
                self._withdraw(request.key, reason)

    def _report(self, message: str, code: str | None, details: Any, source: Source) -> None:
        if self.turn_id is not None:
            self._enter_turn()
        self._said_why = True
        self._emit(ErrorRaised(message=message, code=code, details=details), source)

    def _unparsed(self, given: step.Unparsed) -> None:
        raw_hash = None if self._raw is None else hashlib.sha256(self._raw).hexdigest()
        body = AgentUnparsed(error=given.error, location=given.location, raw_hash=raw_hash)
        self._emit(body, "daemon")

    # --- Ends ---

    def withdraw_for_interrupt(self) -> None:
        """An interrupt first takes back what the turn asks of people."""
        self._raw = None
        self._withdraw_all("interrupt", everything=False)

    def interrupted(self, reason: str) -> None:
        """The turn is cut by us: a restart, a stop, the end of the session."""
        self._raw = None
        if self.turn_id is not None:
            self._close_turn(step.EndTurn(outcome="interrupted"), reason, "daemon")
        self._close_open(reason, everything=True)

    def process_gone(self, exit: step.Exit, *, resumable: bool) -> None:
        """The agent's process ended by itself. Where it cannot resume, the session ends too."""
        if self.ended:
            return
        self._raw = None
        running = self.turn_id is not None
        how = f"exit code {exit.code}" if exit.signal is None else f"signal {exit.signal}"
        message = f"the agent's process ended ({how})"
        if running:
            self._withdraw_all("process_exit", everything=True)
            details = {"exit_code": exit.code, "signal": exit.signal, "stderr": exit.stderr}
            self._report(message, "process_exit", details, "daemon")
            self._close_turn(step.EndTurn(outcome="failed"), "process_exit", "daemon")
        self._close_open("process_exit", everything=True)
        if running and not resumable:
            self.never_came_up(message, exit)

    def never_came_up(self, message: str, exit: step.Exit | None) -> None:
        """The agent cannot go on, nor be resumed: the session ends with what is known."""
        code = exit.code if exit is not None else None
        body = SessionEnded(
            reason="error",
            terminated_by="agent",
            message=message,
            exit_code=UNSET if code is None else code,
            stderr=UNSET if exit is None else exit.stderr,
        )
        self._emit(body, "daemon")
        self.ended = True

    def _agent_ends(self, given: step.EndSession) -> None:
        outcome: Outcome = "failed" if given.reason == "error" else "completed"
        if self.turn_id is not None:
            self._close_turn(step.EndTurn(outcome=outcome), "session_end", "daemon")
        self._close_open("session_end", everything=True)
        message = UNSET if given.message is None else given.message
        self._emit(
            SessionEnded(reason=given.reason, terminated_by="agent", message=message), "agent"
        )
        self.ended = True

    def terminated(self) -> None:
        """A person ended the session; its processes are gone."""
        if not self.ended:
            self.interrupted("session_end")
            self._emit(SessionEnded(reason="terminated", terminated_by="daemon"), "daemon")
            self.ended = True
