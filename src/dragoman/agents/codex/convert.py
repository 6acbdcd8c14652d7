"""The converter: a session's thread on a Codex app server, in JSON-RPC both ways."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from typing import Any, assert_never

from msgspec import UNSET
from msgspec.structs import replace

from dragoman.adapter import Spec
from dragoman.agents.codex import native, native_items, requests
from dragoman.agents.codex.delivery import Delivery
from dragoman.agents.codex.items import ThreadItems, between_turns
from dragoman.agents.codex.launch import open_request, turn_input, turn_request
from dragoman.agents.codex.notices import Notices
from dragoman.agents.codex.requests import PendingRequests
from dragoman.agents.codex.settings import SessionSettings
from dragoman.agents.codex.subagents import Owner, Threads
from dragoman.agents.codex.tools import ToolCalls
from dragoman.agents.codex.usage import TokenCounter
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

SEARCH_LIMIT = 50
"""So many items back a thread is searched for a message that was to join a turn."""
UNCONFIRMED = "Codex took this message, and does not tell whether the model has heard it"
ALREADY_DELIVERED = "Codex had this message before it, or the daemon, was restarted"
_OUTCOMES: dict[str, Outcome] = {"completed": "completed", "interrupted": "interrupted"}


# --- The conversation's state ---
#
# Two machines run side by side. The thread's says whether messages can be sent at all. The
# turn's says how much of the running turn is known: Codex names a turn in the reply to
# `turn/start` and in `turn/started`, and the stream shows it from the person's message on, which
# Codex repeats as an item (its echo), or from the first item that comes before the echo.
#
#     thread   CLOSED ──> OPENING ──> OPEN            turn   IDLE ──> ACCEPTED ──> RUNNING ──> IDLE
#                 └──────────┴──────────┘                      └────> ECHOED ───────┘
#
# They are two because neither follows from the other: nothing promises that Codex unloads a
# thread only between its turns, or that a resumed thread begins no turn before the reply to
# `thread/resume`. Naming and showing a turn are two triggers for the same reason: what comes
# first does not matter. A trigger that a table does not list leaves the state as it is, since an
# agent may say anything at any time, and the stream goes on.


class ThreadState(Enum):
    """Whether the session has a thread on the app server."""

    CLOSED = auto()
    """There is none: not asked for yet, refused, unloaded, or gone with its process."""
    OPENING = auto()
    """It is asked for; messages are queued."""
    OPEN = auto()
    """Messages can be sent."""


class TurnState(Enum):
    """How much is known of the turn that the session's thread runs."""

    IDLE = auto()
    """No turn runs. A message that is to begin one may be on its way."""
    ACCEPTED = auto()
    """Codex has named the turn, and the stream does not show it."""
    ECHOED = auto()
    """The stream shows the turn by the echo of its message, and Codex has not named it."""
    RUNNING = auto()
    """The turn has a name, and the stream shows it."""


class Trigger(Enum):
    """What changes a state."""

    OPEN_SENT = auto()
    OPENED = auto()
    OPEN_REFUSED = auto()
    UNLOADED = auto()
    TURN_NAMED = auto()
    TURN_SHOWN = auto()
    TURN_ENDED = auto()
    PROCESS_EXITED = auto()


THREAD_TRANSITIONS: dict[ThreadState, dict[Trigger, ThreadState]] = {
    ThreadState.CLOSED: {
        Trigger.OPEN_SENT: ThreadState.OPENING,
    },
    ThreadState.OPENING: {
        Trigger.OPENED: ThreadState.OPEN,
        Trigger.OPEN_REFUSED: ThreadState.CLOSED,
        Trigger.PROCESS_EXITED: ThreadState.CLOSED,
    },
    ThreadState.OPEN: {
        Trigger.UNLOADED: ThreadState.CLOSED,
        Trigger.PROCESS_EXITED: ThreadState.CLOSED,
    },
}
TURN_TRANSITIONS: dict[TurnState, dict[Trigger, TurnState]] = {
    TurnState.IDLE: {
        Trigger.TURN_NAMED: TurnState.ACCEPTED,
        Trigger.TURN_SHOWN: TurnState.ECHOED,
    },
    TurnState.ACCEPTED: {
        Trigger.TURN_SHOWN: TurnState.RUNNING,
        Trigger.TURN_ENDED: TurnState.IDLE,
        Trigger.PROCESS_EXITED: TurnState.IDLE,
    },
    TurnState.ECHOED: {
        Trigger.TURN_NAMED: TurnState.RUNNING,
        Trigger.TURN_ENDED: TurnState.IDLE,
        Trigger.PROCESS_EXITED: TurnState.IDLE,
    },
    TurnState.RUNNING: {
        Trigger.TURN_ENDED: TurnState.IDLE,
        Trigger.PROCESS_EXITED: TurnState.IDLE,
    },
}


class ConversationState:
    """The two machines, and the facts that are independent of them."""

    def __init__(self, spec: Spec) -> None:
        self.thread = ThreadState.CLOSED
        self.turn = TurnState.IDLE
        self.turn_id: str | None = None
        """Codex's name of the turn, where it is ACCEPTED or RUNNING."""
        self.last_turn_id: str | None = None
        """The turn that ended last: what still comes under its name begins nothing."""
        self.is_interrupting = False
        """A person wants the turn to end; before Codex has named it, the request waits for that."""
        self.is_error_reported = False
        """The error that fails the turn is in the stream."""
        self.resume_id = spec.tentative_id or (None if spec.fork else spec.native_session_id)
        """The thread that Codex is asked to resume; None: it is asked for a new one."""
        self.tentative_id = spec.tentative_id
        """The same, as long as Codex may not have stored the thread."""
        self.is_bound = False
        """The daemon knows that Codex can resume the thread."""

    def trigger(self, trigger: Trigger) -> None:
        """Go where the tables say, or stay."""
        self.thread = THREAD_TRANSITIONS[self.thread].get(trigger, self.thread)
        self.turn = TURN_TRANSITIONS[self.turn].get(trigger, self.turn)

    @property
    def in_stream(self) -> bool:
        """Whether the stream shows the turn."""
        return self.turn in (TurnState.ECHOED, TurnState.RUNNING)

    @property
    def metadata(self) -> dict[str, Any] | None:
        """The turn's name, for the stream."""
        return None if self.turn_id is None else {"native_turn_id": self.turn_id}

    def name_turn(self, turn_id: str) -> None:
        """Codex has named the turn; a review gets another name when it starts."""
        self.turn_id = turn_id
        self.trigger(Trigger.TURN_NAMED)

    def show_turn(self, thread_id: str | None) -> Iterator[Step]:
        """Show the turn in the stream, if it is not there. From now on Codex stores its thread."""
        if not self.is_bound or self.resume_id != thread_id:
            self.resume_id, self.tentative_id, self.is_bound = thread_id, None, True
            yield Bind(thread_id)
        if not self.in_stream:
            self.trigger(Trigger.TURN_SHOWN)
            yield BeginTurn(metadata=self.metadata)

    def end_turn(self, turn_id: str) -> None:
        """The turn is over."""
        self.last_turn_id, self.turn_id = turn_id, None
        self.trigger(Trigger.TURN_ENDED)

    def exit(self) -> None:
        """The process is gone, and its turn with it."""
        self.turn_id, self.is_interrupting = None, False
        self.trigger(Trigger.PROCESS_EXITED)


# --- The converter ---


class CodexConverter:
    """Converts for one session's thread, on one app server after another."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._threads = Threads()
        self._state = ConversationState(spec)
        self._settings = SessionSettings(spec)
        self._delivery = Delivery()
        self._tools = ToolCalls()
        self._items = ThreadItems(self._tools)
        self._notices = Notices()
        self._tokens = TokenCounter()
        self._requests = PendingRequests(
            spec.directory, self._threads, self._items, self._tools, self._notices
        )

    # --- The process ---

    def on_open(self, spec: Spec) -> Iterator[Step]:
        """Start a thread, or resume one."""
        self._spec, self._settings = spec, SessionSettings(spec)
        self._state.trigger(Trigger.OPEN_SENT)
        if self._state.resume_id is not None:
            yield Claim(self._state.resume_id)
        method, params = open_request(spec, self._state.resume_id)
        params |= self._settings.thread_params()
        yield Request(method=method, params=params, tag="open")

    def on_close(self, exit: Exit) -> Iterator[Step]:
        """Forget what was on its way, and who worked."""
        self._state.exit()
        self._delivery.reset()
        self._threads.reset()
        self._items.reset()
        self._requests.reset()
        return iter(())

    def steers(self) -> bool:
        """Whether a turn runs that takes more messages."""
        has_turn = self._state.turn_id is not None
        return has_turn and self._delivery.steerable and not self._state.is_interrupting

    # --- To the agent ---

    def command(self, command: Command) -> Iterator[Step]:
        """Translate what a person says."""
        match command:
            case Prompt():
                yield from self._prompt(command)
            case Interrupt():
                yield from self._interrupt()
            case AnswerPermission() | AnswerQuestion():
                turn_id = self._state.turn_id if self.steers() else None
                yield from self._requests.answer(command, turn_id)
            case Configure():
                yield Update(body=self._settings.configure(command))
                self._spec = self._settings.apply_to(self._spec)
            case _:
                assert_never(command)

    def _prompt(self, prompt: Prompt) -> Iterator[Step]:
        if self._state.thread is not ThreadState.OPEN:
            self._delivery.enqueue(prompt)
            if self._state.thread is ThreadState.CLOSED:
                yield from self.on_open(self._spec)
        elif self._state.turn_id is not None:
            self._delivery.send_into_turn(prompt)
            yield self._threads.request("turn/steer", f"steer:{prompt.message_id}",
                                expectedTurnId=self._state.turn_id, input=turn_input(prompt),
                                clientUserMessageId=prompt.message_id)  # fmt: skip
        else:
            yield from self._start_turn(prompt)

    def _start_turn(self, prompt: Prompt) -> Iterator[Step]:
        turn = self._delivery.pop_turn(prompt)
        if turn is not None:
            yield from self._already_delivered(prompt, turn)
            return
        if self._delivery.search_first(prompt):
            yield self._threads.request(
                "thread/items/list", "search", sortDirection="desc", limit=SEARCH_LIMIT
            )
            return
        method, params = turn_request(prompt)
        settings = self._settings.turn_params()
        if method == "turn/start":
            params |= settings
        elif settings:
            yield self._threads.request("thread/settings/update", "settings", **settings)
        self._delivery.send_as_turn(prompt, plain=method == "turn/start")
        yield self._threads.request(method, f"start:{prompt.message_id}", **params)

    def _already_delivered(self, prompt: Prompt, turn: str) -> Iterator[Step]:
        """Show a message that Codex got before a restart, in a turn that is over."""
        self._state.name_turn(turn)
        yield from self._state.show_turn(self._threads.main)
        yield Delivered(message_id=prompt.message_id)
        owner = self._threads.owner(None)
        yield from self._notices.status(owner, "not answered again", ALREADY_DELIVERED)
        yield EndTurn(outcome="interrupted", metadata=self._state.metadata)
        self._state.end_turn(turn)
        self._state.is_interrupting = False  # it was for this turn, and never for the next

    def _interrupt(self) -> Iterator[Step]:
        self._state.is_interrupting = True
        if self._state.turn_id is not None:
            yield self._threads.request("turn/interrupt", "interrupt", turnId=self._state.turn_id)
        yield from self._threads.interrupt()

    # --- Replies ---

    def on_reply(self, tag: str, reply: Reply) -> Iterator[Step]:
        """Translate the reply to a request."""
        purpose, _, key = tag.partition(":")
        match purpose:
            case "open" if isinstance(reply, Result):
                yield from self._on_thread(native.decode_thread(reply))
            case "open":
                yield from self._on_no_thread(reply)
            case "start" if isinstance(reply, Result):
                yield from self._on_turn_accepted(native.decode_turn_id(reply))
            case "start":
                yield from self._on_turn_refused(key, reply)
            case "search":
                self._delivery.on_search_result(native.decode_item_list(reply))
                yield from self._start_next()
            case "explain":
                yield from self._requests.send_delayed(key)
            case "steer" if isinstance(reply, Result):
                self._delivery.accept(key)
            case "steer":
                # The turn is over by now, or takes nothing: the message gets one of its own.
                self._delivery.requeue(key)
                yield from self._start_next()
            case _:
                return

    def _on_thread(self, response: native.ThreadResumeResponse) -> Iterator[Step]:
        thread = response.thread
        self._threads.main = thread.id
        yield Claim(thread.id)
        update = self._settings.on_thread_opened(response.model, response.reasoning_effort)
        yield Update(body=replace(update, title=thread.name or UNSET))
        if self._state.resume_id is None:
            # Its first message must be looked for there, should it ever be sent again.
            self._state.resume_id = self._state.tentative_id = thread.id
            yield Bind(thread.id, resumable=False)
        self._state.trigger(Trigger.OPENED)
        self._delivery.on_thread_opened(response.turn_of_message)
        yield from self._start_next()

    def _on_no_thread(self, reply: Reply) -> Iterator[Step]:
        is_unknown = native.is_unknown_thread(reply)
        tentative_id = self._state.tentative_id
        if is_unknown and tentative_id is not None and self._state.resume_id == tentative_id:
            # Codex was killed before it had stored the thread: nothing is lost.
            self._state.resume_id = self._state.tentative_id = None
            yield from self.on_open(self._spec)
            return
        self._state.is_interrupting = False
        self._state.trigger(Trigger.OPEN_REFUSED)
        prompts = self._delivery.clear_queue()
        for prompt in prompts:
            yield Delivered(message_id=prompt.message_id)
        code = "thread_not_found" if is_unknown else "thread_not_opened"
        yield Report(message=native.error_message(reply), code=code)
        if prompts:
            yield EndTurn(outcome="failed")
        if is_unknown:
            yield EndSession(reason="error", message=native.error_message(reply))

    def _on_turn_accepted(self, turn: str | None) -> Iterator[Step]:
        if turn is not None and turn != self._state.last_turn_id and self._state.turn_id is None:
            self._state.name_turn(turn)
            if self._state.is_interrupting:
                yield from self._interrupt()

    def _on_turn_refused(self, message_id: str, reply: Reply) -> Iterator[Step]:
        self._state.is_interrupting = False
        self._delivery.drop(message_id)
        yield Delivered(message_id=message_id)
        yield Report(message=native.error_message(reply), code="refused")
        yield EndTurn(outcome="failed")
        yield from self._start_next()

    def _start_next(self) -> Iterator[Step]:
        """Send what is queued, now that the thread is open or a turn is over."""
        while self._state.turn_id is None and (prompt := self._delivery.pop_next()) is not None:
            yield from self._start_turn(prompt)

    # --- From the agent ---

    def receive(self, message: bytes) -> Iterator[Step]:
        """Translate what the agent says. Raise only msgspec errors, and only before a step."""
        event = native.decode(message)
        owner = self._threads.owner(event.thread_id)
        match event:
            case native.ItemDelta():
                yield from self._begin_turn(owner)
                yield from self._items.delta(event, owner)
            case native.ItemStarted(item=raw):
                yield from self._item(native_items.decode(raw), owner, is_complete=False)
            case native.ItemCompleted(item=raw):
                yield from self._item(native_items.decode(raw), owner, is_complete=True)
            case native.TurnStarted():
                yield from self._turn_started(event, owner)
            case native.TurnCompleted():
                yield from self._turn_completed(event, owner)
            case native.ServerRequest():
                yield from self._server_request(event, owner)
            case native.RequestResolved(request_id=request_id):
                is_interrupted = self._state.is_interrupting or self._threads.is_interrupted(owner)
                key = key_of(request_id)
                yield from self._requests.resolve(key, is_interrupted=is_interrupted)
            case native.ErrorNotification():
                yield from self._error(event, owner)
            case native.UsageUpdated(turn_id=turn_id):
                in_turn = self._state.turn_id is not None and turn_id != self._state.last_turn_id
                yield from self._tokens.update(event, owner, in_turn=in_turn)
            case _:
                yield from self._notice(event, owner)

    def _item(
        self, item: native_items.AnyItem, owner: Owner, *, is_complete: bool
    ) -> Iterator[Step]:
        if isinstance(item, native_items.UserMessage):
            yield from () if is_complete else self._user_message(item, owner)
            return
        yield from self._begin_turn(owner)
        convert = self._items.complete if is_complete else self._items.start
        for step in convert(item, owner):
            yield step if self._state.turn_id is not None else between_turns(step, owner)
        yield from self._threads.adopt(item, owner)

    def _server_request(self, request: native.ServerRequest, owner: Owner) -> Iterator[Step]:
        params = requests.decode(request)
        yield from self._begin_turn(owner)
        if not self._state.in_stream and owner.subagent is None:
            # Between turns nothing would ever end the request.
            params = requests.UnsupportedRequest()
        yield from self._requests.ask(request, params, owner)

    def _user_message(self, item: native_items.UserMessage, owner: Owner) -> Iterator[Step]:
        """Input to the model: a person's message that we sent, or Codex's own."""
        if self._delivery.was_shown(item.client_id):
            return
        yield from self._items.cut_messages(owner)
        message_id = None
        if owner.subagent is None:
            message_id = self._delivery.match_echo(item.client_id, item.text)
        if message_id is None:
            yield from self._items.system_message(item, owner)
            return
        yield from self._state.show_turn(self._threads.main)
        yield Echo(message_id=message_id, native_id=item.id, text=item.text)

    def _begin_turn(self, owner: Owner) -> Iterator[Step]:
        """The session's turn does something before Codex repeats the person's message, if ever."""
        if owner.subagent is not None or self._state.in_stream or self._state.turn_id is None:
            return
        yield from self._state.show_turn(self._threads.main)
        message_id = self._delivery.show_before_echo()
        if message_id is not None:
            yield Delivered(message_id=message_id)

    # --- Turns ---

    def _turn_started(self, notification: native.TurnStarted, owner: Owner) -> Iterator[Step]:
        if owner.subagent is not None:
            yield from self._threads.start_turn(notification, owner)
            return
        self._state.is_error_reported = False
        if self._state.turn_id != notification.turn.id:
            # A review goes on under another id than the one it was accepted with.
            self._state.name_turn(notification.turn.id)
            if self._state.is_interrupting:
                yield from self._interrupt()
        if not self._delivery.expects_echo:
            yield from self._begin_turn(owner)

    def _turn_completed(self, notification: native.TurnCompleted, owner: Owner) -> Iterator[Step]:
        turn = notification.turn
        if turn.status == "interrupted":
            yield from self._tools.terminate(owner)
        else:
            yield from self._tools.detach(owner)
        if owner.subagent is not None:
            yield from self._items.abandon(owner)
            yield from self._threads.end_turn(notification, owner)
            return
        if self._state.turn_id is None:
            self._state.name_turn(turn.id)
        yield from self._begin_turn(owner)
        for message_id in self._delivery.pop_unconfirmed():
            yield Delivered(message_id=message_id)
            yield from self._notices.status(owner, "perhaps not heard", UNCONFIRMED)
        if turn.status == "completed":
            yield from self._items.complete_messages(owner)
        if turn.status == "failed" and turn.error is not None and not self._state.is_error_reported:
            yield self._notices.failure(turn.error)
        metadata = {**(self._state.metadata or {}), "duration_ms": turn.duration_ms}
        yield EndTurn(
            outcome=_OUTCOMES.get(turn.status, "failed"),
            usage=self._tokens.end_turn(),
            metadata={name: value for name, value in metadata.items() if value is not None},
        )
        self._state.end_turn(turn.id)
        self._state.is_interrupting = self._state.is_error_reported = False
        self._items.end_turn(owner.thread)
        self._notices.end_turn()
        self._delivery.end_turn()
        yield from self._start_next()

    def _error(self, notification: native.ErrorNotification, owner: Owner) -> Iterator[Step]:
        error = notification.error
        yield from self._begin_turn(owner)
        if notification.will_retry:
            yield from self._items.cut_messages(owner, "retracted")  # the model says it anew
            yield from self._notices.retry(error, owner)
        elif owner.subagent is not None:
            yield from self._notices.status(owner, "error", error.message, status="failed")
        else:
            self._state.is_error_reported = True
            yield self._notices.failure(error)

    # --- What is about the session ---

    def _notice(
        self, notification: native.Notification | native.OtherNotification, owner: Owner
    ) -> Iterator[Step]:
        is_main = owner.subagent is None
        match notification:
            case native.SettingsUpdated(thread_settings=settings) if is_main:
                yield Update(body=self._settings.on_model(settings.model, settings.effort))
            case native.NameUpdated(thread_name=str(name)) if is_main:
                yield Update(body=SessionUpdated(title=name))
            case native.ThreadClosed() if is_main:
                if not self._delivery.is_in_flight:
                    self._state.trigger(Trigger.UNLOADED)
            case _:
                if isinstance(notification, native.HookStarted):
                    yield from self._begin_turn(owner)
                yield from self._notices.show(notification, owner)
