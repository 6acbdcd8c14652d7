"""The converter: a session on an OpenCode server, by calls and one stream of events."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from typing import Any, assert_never

import msgspec
from msgspec import Raw

from dragoman.adapter import Spec
from dragoman.agents.opencode import native
from dragoman.agents.opencode.delivery import Delivery
from dragoman.agents.opencode.items import Messages
from dragoman.agents.opencode.launch import Calls, prompt_parts
from dragoman.agents.opencode.notices import MOST_RETRIES, Notices, gave_up, report
from dragoman.agents.opencode.requests import PendingRequests
from dragoman.agents.opencode.settings import SessionSettings, read_windows
from dragoman.agents.opencode.subagents import Owner, Sessions
from dragoman.agents.opencode.tools import TASK, ToolCalls
from dragoman.agents.opencode.usage import StepUsage
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
from dragoman.wire.decode import decode
from dragoman.wire.jsonrpc import Reply, Result, RpcError

NOT_FOUND = 404
MISSED = 20
"""So many messages are read again after the stream broke."""
_UNTITLED = "New session"


# --- The conversation's state ---
#
# Two machines run side by side. The session's says whether messages can be sent at all. The
# turn's says how far a turn is: a message is sent, OpenCode repeats it as a part of a message of
# its own (its echo), works, and is idle again.
#
#     session   CLOSED ──> OPENING ──> OPEN       turn   IDLE ──> SENT ──> BUSY ──> IDLE
#                  └──────────┴─────────┘                            └──> STOPPING ──┘
#
# `idle` is said once or twice, and after an abort or an error a second time (1.18.33): that of
# the turn before may come when the next message was sent, so it ends a turn only where OpenCode
# said that it works. After an abort it is idle before the message that was cut is complete, so
# STOPPING waits for that, or for the second time. A trigger that a table does not list leaves the
# state as it is: an agent may say anything at any time, and the stream goes on.


class SessionState(Enum):
    """Whether the session is open on a server."""

    CLOSED = auto()
    OPENING = auto()
    OPEN = auto()


class TurnState(Enum):
    """How far the turn is."""

    IDLE = auto()
    """No turn runs."""
    SENT = auto()
    """A message is on its way, or was repeated, and OpenCode has not begun to work on it."""
    BUSY = auto()
    """OpenCode works."""
    STOPPING = auto()
    """OpenCode said that it is idle, and a message of the turn is not complete."""


class Trigger(Enum):
    """What changes a state."""

    OPEN_SENT = auto()
    OPENED = auto()
    OPEN_REFUSED = auto()
    PROMPT_SENT = auto()
    PROMPT_REFUSED = auto()
    WORK_SEEN = auto()
    IDLE_SEEN = auto()
    TURN_ENDED = auto()
    PROCESS_EXITED = auto()


SESSION_TRANSITIONS: dict[SessionState, dict[Trigger, SessionState]] = {
    SessionState.CLOSED: {Trigger.OPEN_SENT: SessionState.OPENING},
    SessionState.OPENING: {
        Trigger.OPENED: SessionState.OPEN,
        Trigger.OPEN_REFUSED: SessionState.CLOSED,
        Trigger.PROCESS_EXITED: SessionState.CLOSED,
    },
    SessionState.OPEN: {Trigger.PROCESS_EXITED: SessionState.CLOSED},
}
TURN_TRANSITIONS: dict[TurnState, dict[Trigger, TurnState]] = {
    TurnState.IDLE: {
        Trigger.PROMPT_SENT: TurnState.SENT,
        Trigger.WORK_SEEN: TurnState.BUSY,
    },
    TurnState.SENT: {
        Trigger.PROMPT_REFUSED: TurnState.IDLE,
        Trigger.WORK_SEEN: TurnState.BUSY,
        Trigger.TURN_ENDED: TurnState.IDLE,
        Trigger.PROCESS_EXITED: TurnState.IDLE,
    },
    TurnState.BUSY: {
        Trigger.IDLE_SEEN: TurnState.STOPPING,
        Trigger.TURN_ENDED: TurnState.IDLE,
        Trigger.PROCESS_EXITED: TurnState.IDLE,
    },
    TurnState.STOPPING: {
        Trigger.WORK_SEEN: TurnState.BUSY,
        Trigger.TURN_ENDED: TurnState.IDLE,
        Trigger.PROCESS_EXITED: TurnState.IDLE,
    },
}


class ConversationState:
    """The two machines, and the facts that are independent of them."""

    def __init__(self, spec: Spec) -> None:
        self.session = SessionState.CLOSED
        self.turn = TurnState.IDLE
        self.session_id = None if spec.fork else spec.native_session_id
        """OpenCode's id of the session; None: there is none yet."""
        self.is_interrupting = False
        """A person, or a limit, wants the turn to end."""
        self.is_abort_sent = False
        self.has_failed = False
        """The error that fails the turn is in the stream."""
        self.idles = 0
        """How often it was idle while a message was not complete."""

    def trigger(self, trigger: Trigger) -> None:
        """Go where the tables say, or stay."""
        self.session = SESSION_TRANSITIONS[self.session].get(trigger, self.session)
        self.turn = TURN_TRANSITIONS[self.turn].get(trigger, self.turn)

    @property
    def works(self) -> bool:
        """OpenCode works on a turn."""
        return self.turn in (TurnState.BUSY, TurnState.STOPPING)

    @property
    def outcome(self) -> Outcome:
        """How the turn ends, if it ends now."""
        if self.has_failed:
            return "failed"
        return "interrupted" if self.is_interrupting else "completed"

    def end_turn(self, trigger: Trigger) -> None:
        """The turn is over."""
        self.is_interrupting = self.is_abort_sent = self.has_failed = False
        self.idles = 0
        self.trigger(trigger)


# --- The converter ---


class OpenCodeConverter:
    """Converts for one session, on one server after another."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._calls = Calls(spec.directory)
        self._state = ConversationState(spec)
        self._settings = SessionSettings(spec)
        self._sessions = Sessions()
        self._delivery = Delivery()
        self._messages = Messages()
        self._tools = ToolCalls(spec.directory, spec.mcp)
        self._usage = StepUsage()
        self._notices = Notices()
        self._requests = PendingRequests(spec.directory, self._sessions, self._tools, self._calls)
        self._models: dict[str, str] = {}
        """Which model each message is of."""
        self._waiting_prompt: Request | None = None
        """A message that waits for the rules it is under."""

    # --- The process ---

    def on_open(self, spec: Spec) -> Iterator[Step]:
        """Open the session: a new one, one that was there, or a copy of one."""
        self._spec, self._settings = spec, SessionSettings(spec)
        self._state.trigger(Trigger.OPEN_SENT)
        known = self._state.session_id
        if known is not None:
            yield Claim(known)
            yield self._calls.get(f"/session/{known}", "open")
        elif spec.fork and spec.native_session_id:
            yield self._calls.post(f"/session/{spec.native_session_id}/fork", "open", {})
        else:
            rules = self._settings.new_rules()
            yield self._calls.post("/session", "open", {"permission": rules})
        if not self._usage.windows:
            yield self._calls.get("/config/providers", "models")

    def on_close(self, exit: Exit) -> Iterator[Step]:
        """Forget what was on its way, and who worked."""
        self._state.end_turn(Trigger.PROCESS_EXITED)
        self._delivery.reset()
        self._sessions.reset()
        self._messages.reset()
        self._tools.reset()
        self._requests.reset()
        self._notices.end_turn()
        self._usage.end_turn()
        return iter(())

    def steers(self) -> bool:
        """Say no: a message that OpenCode holds is not answered when its turn is aborted."""
        return False

    # --- To the agent ---

    def command(self, command: Command) -> Iterator[Step]:
        """Translate what a person says."""
        match command:
            case Prompt():
                yield from self._prompt(command)
            case Interrupt():
                yield from self._interrupt()
            case AnswerPermission() | AnswerQuestion():
                yield from self._requests.answer(command)
            case Configure():
                yield Update(body=self._settings.configure(command))
                self._spec = self._settings.apply_to(self._spec)
            case _:
                assert_never(command)

    def _prompt(self, prompt: Prompt) -> Iterator[Step]:
        if self._state.session is not SessionState.OPEN:
            self._delivery.enqueue(prompt)
            if self._state.session is SessionState.CLOSED:
                yield from self.on_open(self._spec)
            return
        path = f"/session/{self._state.session_id}"
        rules = self._settings.new_rules()
        self._delivery.send(prompt)
        self._state.trigger(Trigger.PROMPT_SENT)
        body = {"parts": prompt_parts(prompt), **self._settings.turn_params()}
        send = self._calls.post(f"{path}/prompt_async", f"prompt:{prompt.message_id}", body)
        if rules is None:
            yield send
        else:
            # Calls are not carried out in order: the message waits for the rules it is under.
            self._waiting_prompt = send
            yield self._calls.patch(path, "rules", {"permission": rules})

    def _interrupt(self) -> Iterator[Step]:
        if self._state.turn is TurnState.IDLE:
            return
        self._state.is_interrupting = True
        yield from self._abort()

    def _abort(self) -> Iterator[Step]:
        """Stop OpenCode, once it works: before that there is nothing that it would stop."""
        if self._state.works and not self._state.is_abort_sent:
            self._state.is_abort_sent = self._tools.is_interrupting = True
            for session in (*self._sessions.running, self._state.session_id):
                yield self._calls.post(f"/session/{session}/abort", "abort")

    # --- Replies ---

    def on_reply(self, tag: str, reply: Reply) -> Iterator[Step]:
        """Translate what became of a call."""
        kind, _, about = tag.partition(":")
        match kind:
            case "open":
                yield from self._opened(reply)
            case "rules":
                if self._waiting_prompt is not None:
                    yield self._waiting_prompt
                self._waiting_prompt = None
            case "prompt":
                yield from self._sent(about, reply)
            case "models" if isinstance(reply, Result):
                self._usage.windows = read_windows(reply.result)
            case "messages" if isinstance(reply, Result):
                yield from self._catch_up(reply.result)
            case "permissions" if isinstance(reply, Result):
                yield from self._asked_meanwhile(reply.result, native.PermissionAsked)
            case "questions" if isinstance(reply, Result):
                yield from self._asked_meanwhile(reply.result, native.QuestionAsked)
            case "status" if isinstance(reply, Result):
                yield from self._status_now(reply.result)

    def _opened(self, reply: Reply) -> Iterator[Step]:
        if not isinstance(reply, Result):
            yield from self._refused(reply)
            return
        info = decode(reply.result, _session)
        is_new = self._state.session_id is None
        self._state.session_id = self._sessions.main = info.id
        self._state.trigger(Trigger.OPENED)
        if is_new:
            yield Claim(info.id)
        yield Bind(info.id)
        for prompt in self._delivery.take_queue():
            yield from self._prompt(prompt)

    def _refused(self, reply: Reply) -> Iterator[Step]:
        """The session cannot be opened; one that OpenCode does not know ends."""
        self._state.trigger(Trigger.OPEN_REFUSED)
        queue = self._delivery.take_queue()
        if queue:
            yield Delivered(message_id=queue[0].message_id)
        session = self._state.session_id or self._spec.native_session_id
        is_unknown = isinstance(reply, RpcError) and reply.code in (400, NOT_FOUND)
        if session is not None and is_unknown:
            message = f"OpenCode knows no session {session}"
            yield Report(message=message, code="session_not_found")
            yield EndSession(reason="error", message=message)
            return
        yield _failure("OpenCode did not open the session", reply)
        if queue:
            yield EndTurn(outcome="failed")

    def _sent(self, message_id: str, reply: Reply) -> Iterator[Step]:
        if isinstance(reply, Result) or not self._delivery.pop(message_id):
            return
        yield Delivered(message_id=message_id)
        yield _failure("OpenCode did not take the message", reply)
        yield from self._end_turn("failed")

    # --- After the stream broke ---

    def _missed(self) -> Iterator[Step]:
        """Ask for what was said meanwhile; how OpenCode stands now comes last."""
        if self._state.session is SessionState.OPEN:
            path = f"/session/{self._state.session_id}/message"
            yield self._calls.get(path, "messages", limit=MISSED)

    def _catch_up(self, body: bytes) -> Iterator[Step]:
        for message in decode(body, _stored):
            if self._messages.is_over(message.info.id):
                continue
            if message.info.role == "user" or self._state.turn is not TurnState.IDLE:
                yield from self._message_parts(message)
        yield self._calls.get("/permission", "permissions")
        yield self._calls.get("/question", "questions")
        yield self._calls.get("/session/status", "status")

    def _message_parts(self, message: native.StoredMessage) -> Iterator[Step]:
        incomplete = msgspec.structs.replace(message.info, time=native.MessageTime())
        yield from self._message(incomplete)
        for part in message.parts:
            yield from self._part(part)
        yield from self._message(message.info)

    def _asked_meanwhile(
        self, body: bytes, kind: type[native.PermissionAsked | native.QuestionAsked]
    ) -> Iterator[Step]:
        for asked in decode(body, _requests[kind]):
            if self._sessions.owner(asked.session_id).subagent or self._is_main(asked.session_id):
                yield from self._request(asked)
        yield from self._requests.release(everything=True)

    def _status_now(self, body: bytes) -> Iterator[Step]:
        busy = msgspec.json.decode(body)
        if self._state.works and self._state.session_id not in busy:
            yield from self._end_turn(self._state.outcome)

    # --- From the agent ---

    def receive(self, message: bytes) -> Iterator[Step]:
        """Translate an event."""
        kind, event = native.read_event(message)
        match event:
            case native.PartDelta():
                owner = self._sessions.owner(event.session_id)
                yield from self._messages.delta(event, owner)
            case native.PartUpdated(part=part):
                yield from self._part(part)
            case native.MessageUpdated(info=info):
                yield from self._message(info)
            case native.StatusEvent(status=status, session_id=session):
                yield from self._status(status, session)
            case native.SessionNamed(session_id=session):
                yield from self._named(kind, session)
            case native.SessionEvent(info=info):
                yield from self._session_event(kind, info)
            case native.ErrorEvent(session_id=session, error=error):
                yield from self._error(error, session)
            case native.TodoUpdated(session_id=session):
                yield from self._notices.todos(event, self._sessions.owner(session))
            case native.PermissionAsked() | native.QuestionAsked():
                yield from self._request(event)
            case native.RequestSettled():
                yield from self._requests.settled(event)
            case None:
                if kind == native.CONNECTED:
                    yield from self._missed()
            case _:
                assert_never(event)

    def _is_main(self, session: str | None) -> bool:
        return session is not None and self._sessions.is_main(session)

    def _request(self, asked: native.PermissionAsked | native.QuestionAsked) -> Iterator[Step]:
        if isinstance(asked, native.PermissionAsked):
            yield from self._requests.permission(asked)
        else:
            yield from self._requests.question(asked)

    # --- Sessions ---

    def _session_event(self, kind: str, info: native.SessionInfo) -> Iterator[Step]:
        if not self._is_main(info.id):
            if kind == "session.created" and info.parent_id is not None:
                yield from self._sessions.begin(info)
        elif kind == "session.deleted":
            yield EndSession(reason="completed")
        elif info.title is not None and not info.title.startswith(_UNTITLED):
            yield Update(body=SessionUpdated(title=info.title))

    def _status(self, status: native.StatusInfo, session: str) -> Iterator[Step]:
        owner = self._sessions.owner(session)
        match status.type:
            case "busy":
                yield from self._work(owner)
            case "retry":
                yield from self._messages.retract(session)
                yield from self._notices.retry(status, owner)
                if status.attempt >= MOST_RETRIES and not self._state.has_failed:
                    self._state.has_failed = True
                    yield gave_up(status)
                    yield from self._abort()
            case "idle":
                yield from self._idle(session)

    def _work(self, owner: Owner) -> Iterator[Step]:
        """OpenCode works: a message that it was to be stopped at is stopped now."""
        if owner.subagent is None:
            self._state.trigger(Trigger.WORK_SEEN)
            if self._state.is_interrupting:
                yield from self._abort()

    def _named(self, kind: str, session: str) -> Iterator[Step]:
        if kind == "session.idle":
            yield from self._idle(session)
        else:
            owner = self._sessions.owner(session)
            yield from self._notices.note("compacted", None, owner, session)

    def _idle(self, session: str) -> Iterator[Step]:
        if not self._is_main(session):
            yield from self._sessions.end(session)
            return
        if not self._state.works:
            return
        self._state.idles += 1
        if self._messages.has_open(session) and self._state.idles <= 2:
            self._state.trigger(Trigger.IDLE_SEEN)
            return
        yield from self._end_turn(self._state.outcome)

    def _end_turn(self, outcome: Outcome) -> Iterator[Step]:
        self._requests.drop()
        self._messages.end_turn()
        self._tools.end_turn()
        self._sessions.end_turn()
        self._notices.end_turn()
        self._models.clear()
        self._state.end_turn(Trigger.TURN_ENDED)
        yield EndTurn(outcome=outcome, usage=self._usage.end_turn())

    def _error(self, error: native.ErrorInfo, session: str | None) -> Iterator[Step]:
        """What went wrong, once: OpenCode tells it two or three times (1.18.33)."""
        if error.name == "MessageAbortedError":
            return
        if session is not None and not self._is_main(session):
            owner = self._sessions.owner(session)
            message = str(error.data.get("message") or error.name)
            yield from self._notices.note("subagent.error", message, owner, session)
        elif not self._state.has_failed and self._state.turn is not TurnState.IDLE:
            self._state.has_failed = True
            yield report(error)

    # --- Messages ---

    def _message(self, info: native.MessageInfo) -> Iterator[Step]:
        owner = self._sessions.owner(info.session_id)
        if info.role == "user":
            self._messages.user_messages.add(info.id)
            return
        if self._messages.is_over(info.id):
            return
        yield from self._work(owner)
        yield from self._model(info, owner)
        self._messages.begin(info.id, owner)
        if info.error is not None:
            yield from self._error(info.error, info.session_id)
        if info.time.completed is not None:
            yield from self._messages.complete(info, owner)
            if owner.subagent is None:
                yield from self._finish(info)

    def _model(self, info: native.MessageInfo, owner: Owner) -> Iterator[Step]:
        if info.provider_id and info.model_id:
            model = f"{info.provider_id}/{info.model_id}"
            self._models[info.id] = model
            if self._settings.model is None and owner.subagent is None:
                yield Update(body=SessionUpdated(model=model))

    def _finish(self, info: native.MessageInfo) -> Iterator[Step]:
        if info.finish == "length" and not self._state.has_failed:
            self._state.has_failed = True
            message = "the answer was longer than the model may write (max_output_tokens)"
            yield Report(message=message, code="max_output_tokens", details={"finish": "length"})
        if self._state.turn is TurnState.STOPPING and not self._messages.has_open(info.session_id):
            yield from self._end_turn(self._state.outcome)

    def _part(self, raw: Raw) -> Iterator[Step]:
        part = native.read_part(raw)
        owner = self._sessions.owner(part.session_id)
        if part.message_id in self._messages.user_messages:
            yield from self._persons_part(part, owner)
            return
        match part:
            case native.TextPart():
                yield from self._notices.work_on(owner)
                yield from self._messages.text(part, owner)
            case native.ToolPart():
                yield from self._notices.work_on(owner)
                yield from self._tool(part, owner)
            case native.StepFinishPart():
                model = self._models.get(part.message_id)
                is_subagent = owner.subagent is not None
                yield from self._usage.add(part, model, is_subagent=is_subagent)
            case native.CompactionPart():
                yield from self._notices.note("compacting", None, owner, part.id)
            case native.SubtaskPart():
                yield from self._notices.note("subtask", part.description, owner, part.id)
            case native.RetryPart() | native.AnyPart():
                pass
            case _:
                assert_never(part)

    def _persons_part(self, part: native.Part, owner: Owner) -> Iterator[Step]:
        """A part of a message of the person's, or of the prompt of a subagent."""
        if isinstance(part, native.CompactionPart):
            yield from self._notices.note("compacting", None, owner, part.id)
        elif isinstance(part, native.SubtaskPart):
            yield from self._notices.note("subtask", part.description, owner, part.id)
        if not isinstance(part, native.TextPart) or owner.subagent is not None:
            return
        message_id = self._delivery.echo(part)
        if message_id is not None and self._delivery.pop(message_id):
            yield BeginTurn(metadata={"native_message_id": part.message_id})
            yield Echo(message_id=message_id, native_id=part.message_id, text=part.text)

    def _tool(self, part: native.ToolPart, owner: Owner) -> Iterator[Step]:
        if part.tool == TASK:
            child = part.state.metadata.get("sessionId")
            self._sessions.call(part.id, part.session_id, child if isinstance(child, str) else None)
        yield from self._messages.open(part.message_id, owner, tool=True)
        yield from self._tools.update(part, owner, self._messages.key(part.message_id))
        yield from self._requests.release()


def _failure(what: str, reply: Reply) -> Report:
    if isinstance(reply, RpcError):
        details: Any = {"status": reply.code, "body": reply.data}
        return Report(message=f"{what}: {reply.message}", code="call_failed", details=details)
    return Report(message=f"{what} in time", code="deadline")


_session = msgspec.json.Decoder(native.SessionInfo)
_stored = msgspec.json.Decoder(list[native.StoredMessage])
_requests: dict[Any, Any] = {
    kind: msgspec.json.Decoder(list[kind])  # type: ignore[valid-type]
    for kind in (native.PermissionAsked, native.QuestionAsked)
}
