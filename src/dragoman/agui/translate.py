"""The translator: events of a session in, frames of AG-UI out. Pure.

A turn is a run. What asks a person ends the run with an interrupt; when it is answered, another run
goes on with the same turn. Between turns nothing may be said in AG-UI: what happens there waits for
the next run, but for the work of subagents that outlive their turn, which is a run of its own.

What comes out depends on the events alone, never on when they came: so a stream that is read again
has the same frames at the same places.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import UNSET

from dragoman.adapter import Adapter
from dragoman.agui.events import (
    CancelledOutcome,
    Custom,
    InterruptOutcome,
    MessagesSnapshot,
    RawNative,
    RunError,
    RunFinished,
    RunOutcome,
    SuccessOutcome,
    TokenUsage,
)
from dragoman.agui.frames import AguiFrame, FrameWriter
from dragoman.agui.interrupts import Request, interrupt_of, request_id
from dragoman.agui.items import ItemTranslator
from dragoman.agui.messages import MessageHistory
from dragoman.agui.run import OpenRun
from dragoman.agui.state import Announcer
from dragoman.agui.usage import token_usage
from dragoman.core.custom_events import sandbox_event
from dragoman.core.fold import SessionState
from dragoman.core.policy import DEADLINE
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
    SessionEnded,
    SessionUpdated,
    TurnEnded,
    TurnStarted,
)

_REASONS = {"max_tokens": "length", "length": "length", "refusal": "content_filter"}
"""Why a model stopped, in the words of TanStack; otherwise it is `stop`."""


class Translator:
    """Translates one session, or the part of it that one run is about."""

    def __init__(
        self,
        thread_id: str,
        adapter: Adapter,
        state: SessionState | None = None,
        *,
        run_id: str | None = None,
        parent_run_id: str | None = None,
        own_message_id: str | None = None,
        messages: Iterable[dict[str, Any]] = (),
        client_state: dict[str, Any] | None = None,
    ) -> None:
        """`state` is that of the session before the first event; None: it begins with that.

        `run_id` and `parent_run_id` name the first run, `own_message_id` the message that the
        client knows already, `messages` and `client_state` what else it knows.
        """
        self._thread_id = thread_id
        self._adapter = adapter
        self._writer = FrameWriter(MessageHistory(messages))
        self._announcer = Announcer(self._writer, adapter.event_prefix, state, client_state)
        self._items = ItemTranslator(
            self._writer, groups_messages=adapter.groups_messages, own_message_id=own_message_id
        )
        self._names = iter(() if run_id is None else ((run_id, parent_run_id),))
        self._run: OpenRun | None = None
        self._turn_id: str | None = None
        self._run_count = 0
        self._requests: dict[str, Request] = {}
        self._asking: Event | None = None
        """A request of which the next event says whether a rule has answered it."""
        self._interrupted: tuple[str, frozenset[str]] | None = None
        """The run that waits for people, and for which requests."""
        self._backlog: list[Event] = []
        """What came while a run waits, or between turns."""
        self._error: ErrorRaised | None = None
        self._raw: Any = None

    def receive(self, event: Event) -> list[AguiFrame]:
        """Translate the next event."""
        self._decide(event)
        self._writer.move(event.sequence)
        self._announcer.note(event)
        self._route(event)
        return self._writer.take()

    def settle(self) -> list[AguiFrame]:
        """What was asked last is asked of a person: no rule answers it."""
        self._decide(None)
        return self._writer.take()

    def close(self) -> list[AguiFrame]:
        """There will be nothing more: a run that is open was cancelled."""
        self._decide(None)
        if self._run is not None:
            self._finish(CancelledOutcome(), all_of_it=True)
        return self._writer.take()

    # --- Requests ---

    def _decide(self, following: Event | None) -> None:
        """A request that the next event answers by a rule is nobody's business."""
        if (asking := self._asking) is None:
            return
        self._asking = None
        request = asking.data
        assert isinstance(request, PermissionRequested | QuestionRequested)
        self._writer.move(asking.sequence)
        self._writer.attribute(asking)
        if following is not None and _is_ruled(following.data, request):
            self._say_custom(asking)
        else:
            self._requests[request_id(request)] = request
            self._interrupt()

    def _interrupt(self) -> None:
        """End the run with all that is asked."""
        run = self._ensure_run()
        self._finish(self._outcome_of_requests(run))

    def _outcome_of_requests(self, run: OpenRun) -> InterruptOutcome:
        return InterruptOutcome(
            interrupts=tuple(
                interrupt_of(
                    request,
                    run.run_id,
                    self._items.owner(run, _subagent_of(request)),
                    takes_updated_input=self._adapter.takes_updated_input,
                )
                for request in self._requests.values()
            )
        )

    def _resume(self, trigger: Event) -> None:
        """Go on with what was held, in another run."""
        assert self._interrupted is not None
        (parent, _), self._interrupted = self._interrupted, None
        held, self._backlog = self._backlog, []
        resolved = {_resolved_id(event.data) for event in held}
        if self._turn_id is not None or _resolved_id(trigger.data) is not None:
            self._writer.attribute(trigger)
            self._start(parent)
        for event in held:
            match event.data:
                case PermissionRequested() | QuestionRequested() as request if not self._waits:
                    if request_id(request) in resolved:
                        self._tell(event)
                    else:
                        self._say_raw(event)
                        self._requests[request_id(request)] = request
                case _:
                    self._route(event)
        # A turn that begins while something older is still asked is not held up by it.
        is_new_turn = isinstance(trigger.data, TurnStarted)
        if self._run is not None and self._requests and not is_new_turn:
            self._interrupt()

    @property
    def _waits(self) -> bool:
        return self._interrupted is not None

    # --- Events ---

    def _route(self, event: Event) -> None:
        """Handle an event, or hold it while a run waits for people."""
        if self._interrupted is not None:
            self._backlog.append(event)
            _, waiting = self._interrupted
            if (resolved := _resolved_id(event.data)) is not None:
                self._requests.pop(resolved, None)
            is_answered = waiting.isdisjoint(self._requests)
            if is_answered or isinstance(event.data, TurnStarted | SessionEnded):
                self._resume(event)
            return
        self._handle(event)

    def _handle(self, event: Event) -> None:
        self._writer.attribute(event)
        match event.data:
            case TurnStarted(turn_id=turn_id):
                self._start_turn(turn_id or event.event_id)
                self._say_raw(event)
            case TurnEnded():
                self._ensure_run()
                self._say_raw(event)
                self._end_turn(event.data)
            case SessionEnded():
                self._end_session(event, event.data)
            case PermissionRequested() | QuestionRequested():
                self._ensure_run()
                self._say_raw(event)
                self._asking = event
            case body if self._run is None and not self._is_work(body):
                self._backlog.append(event)
            case _:
                self._tell(event)
                if self._turn_id is None and not self._items.has_subagents and self._run:
                    self._finish(SuccessOutcome())

    def _is_work(self, body: Any) -> bool:
        """Whether it is worth a run of its own between turns: what a subagent does."""
        match body:
            case ItemStarted(item=item) | ItemCompleted(item=item):
                return item.subagent_id is not UNSET
            case ItemDelta(item_id=item_id):
                return self._items.is_of_subagent(item_id)
            case _:
                return False

    def _tell(self, event: Event) -> None:
        """Say in the open run what an event is about."""
        run = self._ensure_run()
        self._writer.attribute(event)
        self._say_raw(event)
        match event.data:
            case ItemStarted(item=item):
                self._announcer.announce(is_prompt=item.role == "user")
                self._items.start(run, item)
            case ItemDelta():
                self._items.delta(run, event.data)
            case ItemCompleted(item=item):
                self._items.complete(run, item)
            case SessionUpdated():
                self._say_custom(event)
                self._announcer.announce()
                self._announcer.say_state()
            case body:
                if (resolved := _resolved_id(body)) is not None:
                    self._requests.pop(resolved, None)
                self._error = body if isinstance(body, ErrorRaised) else self._error
                self._say_custom(event)

    def _say_custom(self, event: Event) -> None:
        name, value = sandbox_event(event.data) or (
            f"dragoman.{event.type}",
            msgspec.to_builtins(event.data),
        )
        self._writer.say(Custom, name=name, value=value)

    def _say_raw(self, event: Event) -> None:
        """The native message, once for all events that come of it."""
        if self._run is not None and event.raw is not None and event.raw != self._raw:
            self._writer.say(RawNative, event=event.raw, source=self._adapter.id)
        self._raw = event.raw

    # --- Runs ---

    def _start_turn(self, turn_id: str) -> None:
        if self._run is not None:
            self._finish(SuccessOutcome() if self._turn_id is None else CancelledOutcome())
        self._turn_id, self._run_count, self._error = turn_id, 0, None
        self._items.start_turn()
        self._start(None)

    def _end_turn(self, body: TurnEnded) -> None:
        self._turn_id = None
        usage = token_usage(body.usage) if body.usage else None
        about = {
            "outcome": body.outcome or "completed",
            **({"stopReason": body.stop_reason} if body.stop_reason else {}),
            **({"usage": msgspec.to_builtins(body.usage)} if body.usage else {}),
            **({"turn": body.metadata} if body.metadata else {}),
        }
        if body.outcome == "failed":
            self._fail(usage, about)
        elif body.outcome == "interrupted":
            self._finish(CancelledOutcome(), usage=usage, about=about)
        else:
            self._finish(SuccessOutcome(), usage=usage, about=about)

    def _end_session(self, event: Event, body: SessionEnded) -> None:
        self._ensure_run()
        self._writer.attribute(event)
        self._requests.clear()
        self._say_custom(event)
        self._turn_id = None
        if body.reason == "error":
            failure = ErrorRaised(message=body.message or "the session ended with an error")
            self._error = self._error or failure
            self._fail(None, {}, all_of_it=True)
        else:
            is_completed = body.reason == "completed"
            outcome = SuccessOutcome() if is_completed else CancelledOutcome()
            self._finish(outcome, all_of_it=True)

    def _ensure_run(self) -> OpenRun:
        if self._run is None:
            self._start(None)
        assert self._run is not None
        return self._run

    def _start(self, parent_run_id: str | None) -> None:
        """Begin a run, and tell in it what has happened since the last one."""
        run_id, parent = next(self._names, (self._run_name(), parent_run_id))
        self._run = OpenRun(self._writer, self._thread_id, run_id)
        self._run.start(parent or parent_run_id)
        self._announcer.begin()
        held, self._backlog = self._backlog, []
        cause = self._writer.cause
        for event in held:
            self._tell(event)
        if cause is not None:
            self._writer.attribute(cause)

    def _run_name(self) -> str:
        """A run has its turn's id; one that goes on with it a number too."""
        if self._turn_id is None:
            return f"between_{self._writer.cause_id}"
        self._run_count += 1
        return self._turn_id if self._run_count == 1 else f"{self._turn_id}.{self._run_count}"

    def _finish(
        self,
        outcome: RunOutcome,
        *,
        usage: tuple[TokenUsage, ...] | None = None,
        about: dict[str, Any] | None = None,
        all_of_it: bool = False,
    ) -> None:
        """End the run, unless something is asked: then it waits for that."""
        run = self._ensure_run()
        if self._requests and not all_of_it and not isinstance(outcome, CancelledOutcome):
            outcome = self._outcome_of_requests(run)
        if isinstance(outcome, InterruptOutcome):
            ids = tuple(self._requests)
            self._interrupted = (run.run_id, frozenset(ids))
        else:
            ids = ()
        self._close(run, ids, all_of_it=all_of_it)
        if ids and (messages := self._writer.history.snapshot()) is not None:
            self._writer.say(MessagesSnapshot, messages=messages)
        stop = str((about or {}).get("stopReason", ""))
        tanstack = {"finishReason": _REASONS.get(stop, "stop"), **self._announcer.model}
        self._writer.say(
            RunFinished, thread_id=run.thread_id, run_id=run.run_id, outcome=outcome, usage=usage,
            about=about, tanstack=tanstack,
        )  # fmt: skip

    def _fail(
        self,
        usage: tuple[TokenUsage, ...] | None,
        about: dict[str, Any],
        *,
        all_of_it: bool = False,
    ) -> None:
        run, error = self._ensure_run(), self._error or ErrorRaised(message="the turn failed")
        self._close(run, (), all_of_it=all_of_it)
        self._writer.say(
            RunError, message=error.message, code=error.code, usage=usage,
            about={"runId": run.run_id, **about},
        )  # fmt: skip

    def _close(self, run: OpenRun, interrupts: tuple[str, ...], *, all_of_it: bool) -> None:
        self._announcer.announce()
        if self._turn_id is None or all_of_it:
            self._items.end_turn(run, all_of_it=all_of_it)
        run.close(interrupts)
        self._run = None


def _resolved_id(body: Any) -> str | None:
    match body:
        case PermissionResolved(permission_id=found) | QuestionResolved(question_id=found):
            return found
        case _:
            return None


def _is_ruled(body: Any, request: Request) -> bool:
    """Whether one of our own rules has answered a request, before a person could."""
    if _resolved_id(body) != request_id(request) or not body.approver:
        return False
    return bool(body.approver.rule) and body.approver.rule != DEADLINE


def _subagent_of(request: Request) -> str | None:
    metadata = request.metadata if isinstance(request.metadata, dict) else {}
    found = metadata.get("subagent_id")
    return found if isinstance(found, str) else None


def translate(events: Iterable[Event], thread_id: str, adapter: Adapter) -> Iterator[AguiFrame]:
    """Translate a stored session, to its end."""
    translator = Translator(thread_id, adapter)
    for event in events:
        yield from translator.receive(event)
    yield from translator.close()
