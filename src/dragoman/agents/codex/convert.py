"""Codex's dialect: threads of one app server, in JSON-RPC both ways."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, assert_never

from msgspec import UNSET
from msgspec.structs import replace

from dragoman.adapter import Spec
from dragoman.agents.codex import lines, native, native_items, replies, wanted
from dragoman.agents.codex.delivery import Outbox
from dragoman.agents.codex.desk import Desk
from dragoman.agents.codex.items import Work, between_turns
from dragoman.agents.codex.launch import input_of, opening, turn_of
from dragoman.agents.codex.notices import Notices
from dragoman.agents.codex.settings import Manners
from dragoman.agents.codex.subagents import Owner, Threads
from dragoman.agents.codex.usage import Meter
from dragoman.facts import Exit
from dragoman.schema.commands import (
    AnswerPermission,
    AnswerQuestion,
    Command,
    Configure,
    Interrupt,
    Prompt,
)
from dragoman.schema.events import Outcome, SessionUpdated
from dragoman.steps import (
    BeginTurn,
    Bind,
    Claim,
    Delivered,
    Echo,
    EndSession,
    EndTurn,
    Report,
    Request,
    Step,
    Update,
)
from dragoman.wire.jsonrpc import Reply, Result, key_of

LOOK_BACK = 50
"""So many items back a message is looked for that was to join a turn."""
DOUBTFUL = "Codex took this message, and does not tell whether the model has heard it"
KNOWN = "Codex had this message before it, or the daemon, was restarted"
_OUTCOMES: dict[str, Outcome] = {"completed": "completed", "interrupted": "interrupted"}


class CodexConverter:
    """Speaks for one session's thread, on one app server after another."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._threads = Threads()
        self._kept = spec.tentative_id or (None if spec.fork else spec.native_session_id)
        """The thread that Codex can resume."""
        self._perhaps = spec.tentative_id
        """It may not have kept this one yet."""
        self._bound = False
        self._manners = Manners(spec)
        self._outbox = Outbox()
        self._work = Work()
        self._notices = Notices()
        self._meter = Meter()
        self._desk = Desk(spec.directory, self._work, self._notices)
        self._turn: str | None = None
        self._ended: str | None = None
        self._begun = False
        """The turn is in the stream."""
        self._interrupting = False
        self._said_why = False

    # --- The process ---

    def on_open(self, spec: Spec) -> Iterator[Step]:
        """Start a thread, or go on with one."""
        self._spec, self._manners = spec, Manners(spec)
        self._outbox.opening()
        if self._kept is not None:
            yield Claim(self._kept)
        method, params = opening(spec, self._kept)
        yield Request(method=method, params={**params, **self._manners.thread()}, tag="open")

    def on_close(self, exit: Exit) -> Iterator[Step]:
        """Forget what was on its way, and who worked."""
        self._turn, self._begun, self._interrupting = None, False, False
        self._outbox.forget()
        self._threads.forget()
        self._work.forget()
        self._desk.forget()
        return iter(())

    def steers(self) -> bool:
        """Whether a turn runs that takes more."""
        return self._turn is not None and self._outbox.steerable and not self._interrupting

    # --- To the agent ---

    def command(self, command: Command) -> Iterator[Step]:
        """Translate what a person says."""
        match command:
            case Prompt():
                yield from self._prompt(command)
            case Interrupt():
                yield from self._interrupt()
            case AnswerPermission() | AnswerQuestion():
                yield from self._desk.answer(command, self._aside if self.steers() else None)
            case Configure():
                yield Update(body=self._manners.configure(command))
                self._spec = self._manners.applied(self._spec)
            case _:
                assert_never(command)

    def _prompt(self, prompt: Prompt) -> Iterator[Step]:
        if not self._outbox.is_open:
            self._outbox.early(prompt)
            if not self._outbox.is_opening:
                yield from self.on_open(self._spec)  # the last try failed
        elif self._turn is not None:
            self._outbox.joins(prompt)
            yield self._request("turn/steer", f"steer:{prompt.message_id}",
                                expectedTurnId=self._turn, input=input_of(prompt),
                                clientUserMessageId=prompt.message_id)  # fmt: skip
        else:
            yield from self._start(prompt)

    def _start(self, prompt: Prompt) -> Iterator[Step]:
        turn = self._outbox.turn_with(prompt)
        if turn is not None:
            yield from self._not_again(prompt, turn)
            return
        if self._outbox.seeks(prompt):
            yield self._request("thread/items/list", "seek", sortDirection="desc", limit=LOOK_BACK)
            return
        method, params = turn_of(prompt)
        manners = self._manners.turn()
        if method == "turn/start":
            params |= manners
        elif manners:
            yield self._request("thread/settings/update", "settings", **manners)
        self._outbox.starts(prompt, plain=method == "turn/start")
        yield self._request(method, f"start:{prompt.message_id}", **params)

    def _not_again(self, prompt: Prompt, turn: str) -> Iterator[Step]:
        self._turn = self._ended = turn
        yield from self._open_turn()
        yield Delivered(message_id=prompt.message_id)
        yield from self._notices.status(self._threads.owner(None), "not answered again", KNOWN)
        yield EndTurn(outcome="interrupted", metadata=self._turn_metadata())
        self._turn, self._begun = None, False

    def _interrupt(self) -> Iterator[Step]:
        self._interrupting = True
        if self._turn is not None:
            yield self._request("turn/interrupt", "interrupt", turnId=self._turn)
        yield from self._threads.stop()

    def _aside(self, text: str, tag: str) -> Request:
        words = [{"type": "text", "text": text}]
        return self._request("turn/steer", tag, expectedTurnId=self._turn, input=words)

    def _request(self, method: str, tag: str, **params: Any) -> Request:
        return Request(method=method, params={"threadId": self._threads.main, **params}, tag=tag)

    # --- Replies ---

    def on_reply(self, tag: str, reply: Reply) -> Iterator[Step]:
        """Translate what became of a request."""
        what, _, message_id = tag.partition(":")
        match what:
            case "open" if isinstance(reply, Result):
                yield from self._at_home(replies.opened(reply))
            case "open":
                yield from self._not_opened(reply)
            case "start" if isinstance(reply, Result):
                yield from self._accepted(replies.turn_of(reply))
            case "start":
                yield from self._refused(message_id, reply)
            case "seek":
                self._outbox.found(replies.listed(reply))
                yield from self._next()
            case "explain":
                yield from self._desk.release(message_id)
            case "steer" if isinstance(reply, Result):
                self._outbox.accepted(message_id)
            case "steer":
                # The turn is over by now, or takes nothing: the message gets one of its own.
                self._outbox.later(message_id)
                yield from self._next()
            case _:
                return

    def _at_home(self, found: replies.Resumed) -> Iterator[Step]:
        self._threads.main = found.thread.id
        yield Claim(found.thread.id)
        told = self._manners.opened(found.model, found.reasoning_effort)
        yield Update(body=replace(told, title=found.thread.name or UNSET))
        if self._kept is None:
            # Its first message must be looked for there, should it ever be sent again.
            self._kept = self._perhaps = found.thread.id
            yield Bind(found.thread.id, resumable=False)
        self._outbox.opened(found.known)
        yield from self._next()

    def _not_opened(self, reply: Reply) -> Iterator[Step]:
        lost = replies.is_lost(reply)
        if lost and self._kept == self._perhaps:
            # Codex was killed before it had written anything down: nothing is lost.
            self._kept = self._perhaps = None
            yield from self.on_open(self._spec)
            return
        self._interrupting = False
        waiting = self._outbox.refused()
        for prompt in waiting:
            yield Delivered(message_id=prompt.message_id)
        code = "thread_not_found" if lost else "thread_not_opened"
        yield Report(message=replies.why(reply), code=code)
        if waiting:
            yield EndTurn(outcome="failed")
        if lost:
            yield EndSession(reason="error", message=replies.why(reply))

    def _accepted(self, turn: str | None) -> Iterator[Step]:
        if turn is not None and turn != self._ended and self._turn is None:
            self._turn = turn
            if self._interrupting:
                yield from self._interrupt()

    def _refused(self, message_id: str, reply: Reply) -> Iterator[Step]:
        self._interrupting = False
        self._outbox.heard(message_id)
        yield Delivered(message_id=message_id)
        yield Report(message=replies.why(reply), code="refused")
        yield EndTurn(outcome="failed")
        yield from self._next()

    def _next(self) -> Iterator[Step]:
        """What waits here for the end of a turn, or for its thread."""
        while self._turn is None and (prompt := self._outbox.next()) is not None:
            yield from self._start(prompt)

    # --- From the agent ---

    def receive(self, message: bytes) -> Iterator[Step]:
        """Translate what the agent says. Raise only msgspec errors, and only before a step."""
        told = lines.decode(message)
        owner = self._threads.owner(told.thread_id)
        match told:
            case native.Piece():
                yield from self._begun_by(owner)
                yield from self._work.piece(told, owner)
            case native.ItemStarted(item=raw):
                yield from self._item(native_items.decode(raw), owner, over=False)
            case native.ItemCompleted(item=raw):
                yield from self._item(native_items.decode(raw), owner, over=True)
            case native.TurnStarted():
                yield from self._turn_started(told, owner)
            case native.TurnCompleted():
                yield from self._turn_completed(told, owner)
            case native.Wanted():
                yield from self._asked(told, owner)
            case native.RequestResolved(request_id=request_id):
                stopped = self._interrupting or self._threads.is_stopped(owner)
                yield from self._desk.resolved(key_of(request_id), interrupted=stopped)
            case native.ErrorTold():
                yield from self._error(told, owner)
            case native.UsageUpdated():
                in_turn = self._turn is not None and told.turn_id != self._ended
                yield from self._meter.hear(told, owner, in_turn=in_turn)
            case _:
                yield from self._about(told, owner)

    def _item(self, item: native_items.AnyItem, owner: Owner, *, over: bool) -> Iterator[Step]:
        if isinstance(item, native_items.UserMessage):
            yield from () if over else self._said(item, owner)
            return
        yield from self._begun_by(owner)
        steps = self._work.completed if over else self._work.started
        for step in steps(item, owner):
            yield step if self._turn is not None else between_turns(step, owner)
        yield from self._threads.adopt(item, owner)

    def _asked(self, asked: native.Wanted, owner: Owner) -> Iterator[Step]:
        wish = wanted.decode(asked)
        yield from self._begun_by(owner)
        # Between turns nobody waits at the desk, and nothing would ever end what it began.
        heard = self._begun or owner.subagent is not None
        yield from self._desk.asked(asked, wish if heard else wanted.Other(), owner)

    def _said(self, item: native_items.UserMessage, owner: Owner) -> Iterator[Step]:
        """Words to the model: a person's, which we know, or Codex's own."""
        if self._outbox.is_shown(item.client_id):
            return
        yield from self._work.cut(owner)
        message_id = None
        if owner.subagent is None:
            message_id = self._outbox.echoed(item.client_id, item.text)
        if message_id is None:
            yield from self._work.said(item, owner)
            return
        yield from self._open_turn()
        yield Echo(message_id=message_id, native_id=item.id, text=item.text)

    def _open_turn(self) -> Iterator[Step]:
        if not self._bound or self._kept != self._threads.main:
            # From its first message on Codex keeps a thread, and can resume it.
            self._kept, self._perhaps, self._bound = self._threads.main, None, True
            yield Bind(self._kept)
        if not self._begun:
            self._begun = True
            yield BeginTurn(metadata=self._turn_metadata())

    def _begin(self) -> Iterator[Step]:
        """Something is done before the person's message was repeated, if it ever is."""
        if self._begun or self._turn is None:
            return
        yield from self._open_turn()
        message_id = self._outbox.unheard()
        if message_id is not None:
            yield Delivered(message_id=message_id)

    def _begun_by(self, owner: Owner) -> Iterator[Step]:
        return self._begin() if owner.subagent is None else iter(())

    def _turn_metadata(self) -> dict[str, Any] | None:
        return None if self._turn is None else {"native_turn_id": self._turn}

    # --- Turns ---

    def _turn_started(self, told: native.TurnStarted, owner: Owner) -> Iterator[Step]:
        if owner.subagent is not None:
            yield from self._threads.began(told, owner)
            return
        self._said_why = False
        if self._turn != told.turn.id:
            # A review goes on under another id than the one it was accepted with.
            self._turn = told.turn.id
            if self._interrupting:
                yield from self._interrupt()
        if not self._outbox.expects_echo:
            yield from self._begin()

    def _turn_completed(self, told: native.TurnCompleted, owner: Owner) -> Iterator[Step]:
        turn = told.turn
        if turn.status == "interrupted":
            yield from self._work.stop(owner)
        else:
            yield from self._work.leave(owner)
        if owner.subagent is not None:
            yield from self._work.abandon(owner)
            yield from self._threads.ended(told, owner)
            return
        self._turn = self._turn or turn.id
        yield from self._begin()
        for message_id in self._outbox.doubtful():
            yield Delivered(message_id=message_id)
            yield from self._notices.status(owner, "perhaps not heard", DOUBTFUL)
        if turn.status == "completed":
            yield from self._work.finish(owner)
        if turn.status == "failed" and turn.error is not None and not self._said_why:
            yield self._notices.failure(turn.error)
        about = {**(self._turn_metadata() or {}), "duration_ms": turn.duration_ms}
        yield EndTurn(
            outcome=_OUTCOMES.get(turn.status, "failed"),
            usage=self._meter.usage(),
            metadata={name: value for name, value in about.items() if value is not None},
        )
        self._ended, self._turn = turn.id, None
        self._begun = self._interrupting = self._said_why = False
        self._work.turn_over(owner.thread)
        self._notices.turn_over()
        self._outbox.turn_over()
        yield from self._next()

    def _error(self, told: native.ErrorTold, owner: Owner) -> Iterator[Step]:
        yield from self._begun_by(owner)
        if told.will_retry:
            yield from self._work.cut(owner, "retracted")  # it is said anew
            yield from self._notices.retry(told.error, owner)
        elif owner.subagent is not None:
            yield from self._notices.status(owner, "error", told.error.message, status="failed")
        else:
            self._said_why = True
            yield self._notices.failure(told.error)

    # --- What is about the session ---

    def _about(self, told: native.Told | native.Remark, owner: Owner) -> Iterator[Step]:
        main = owner.subagent is None
        match told:
            case native.SettingsUpdated(thread_settings=settings) if main:
                yield Update(body=self._manners.settled(settings))
            case native.NameUpdated(thread_name=str(name)) if main:
                yield Update(body=SessionUpdated(title=name))
            case native.Closed() if main:
                self._outbox.closed()
            case _:
                if isinstance(told, native.HookStarted):
                    yield from self._begun_by(owner)
                yield from self._notices.told(told, owner)
