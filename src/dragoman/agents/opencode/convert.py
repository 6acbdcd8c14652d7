"""The converter: a session on an OpenCode server, by calls and one stream of events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from msgspec import Raw

from dragoman.adapter import Spec
from dragoman.agents.opencode import native
from dragoman.agents.opencode.history import History
from dragoman.agents.opencode.launch import prompt_parts
from dragoman.agents.opencode.notices import (
    MOST_RETRIES,
    call_failed,
    gave_up,
    is_stack_trace,
    not_taken,
    report,
)
from dragoman.agents.opencode.settings import SessionSettings, read_windows
from dragoman.agents.opencode.state import Conversation, SessionState, Trigger, TurnState
from dragoman.agents.opencode.subagents import Owner
from dragoman.agents.opencode.tools import TASK
from dragoman.facts import Exit
from dragoman.schema.commands import (
    AnswerPermission,
    AnswerQuestion,
    Command,
    Configure,
    Interrupt,
    Prompt,
)
from dragoman.schema.events import SessionUpdated
from dragoman.steps import (
    BeginTurn,
    Bind,
    Claim,
    Delivered,
    Echo,
    EndSession,
    EndTurn,
    Report,
    Step,
    Update,
)
from dragoman.wire.http import NO_ANSWER
from dragoman.wire.jsonrpc import Overdue, Reply, Result, RpcError

KNOWN = 100
"""In so many messages of a session that is resumed a message is looked for, which may be there."""
ALREADY_DELIVERED = "OpenCode had this message before it, or the daemon, was restarted"


class OpenCodeConverter:
    """Converts for one session: what people say, and what becomes of calls."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._talk = Conversation(spec)
        self._events = EventReader(self._talk)

    # --- The process ---

    def on_open(self, spec: Spec) -> Iterator[Step]:
        """Open the session: a new one, one that was there, or a copy of one."""
        self._spec = spec
        self._talk.settings = SessionSettings(spec)
        self._talk.state.trigger(Trigger.OPEN_SENT)
        known = self._talk.state.session_id
        if known is not None:
            yield Claim(known)
            yield self._talk.calls.get(f"/session/{known}", "open")
        elif spec.fork and spec.native_session_id:
            yield self._talk.calls.post(f"/session/{spec.native_session_id}/fork", "open", {})
        else:
            rules = self._talk.settings.new_rules()
            yield self._talk.calls.post("/session", "open", {"permission": rules})
        if not self._talk.usage.windows:
            yield self._talk.calls.get("/config/providers", "models")

    def on_close(self, exit: Exit) -> Iterator[Step]:
        """Forget what was on its way, and who worked."""
        self._talk.close()
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
                yield from self._talk.requests.answer(command)
            case Configure():
                yield Update(body=self._talk.settings.configure(command))
                self._spec = self._talk.settings.apply_to(self._spec)
            case _:
                assert_never(command)

    def _prompt(self, prompt: Prompt) -> Iterator[Step]:
        if not self._talk.state.is_open:
            self._talk.delivery.enqueue(prompt)
            if self._talk.state.session is SessionState.CLOSED:
                yield from self.on_open(self._spec)
            return
        native_id = self._talk.delivery.pop_known(prompt)
        if native_id is not None:
            yield from self._already_delivered(prompt, native_id)
            return
        path = f"/session/{self._talk.state.session_id}"
        rules = self._talk.settings.new_rules()
        self._talk.delivery.send(prompt)
        self._talk.state.trigger(Trigger.PROMPT_SENT)
        body = {"parts": prompt_parts(prompt), **self._talk.settings.turn_params()}
        send = self._talk.calls.post(f"{path}/prompt_async", f"prompt:{prompt.message_id}", body)
        if rules is None:
            yield send
        else:
            # Calls are not carried out in order: the message waits for the rules it is under.
            self._talk.waiting_prompt = send
            yield self._talk.calls.patch(path, "rules", {"permission": rules})

    def _already_delivered(self, prompt: Prompt, native_id: str) -> Iterator[Step]:
        """Show a message that OpenCode got before a restart, in a turn that is over."""
        owner = self._talk.sessions.owner(self._talk.state.session_id or "")
        yield Delivered(message_id=prompt.message_id)
        yield BeginTurn(metadata={"native_message_id": native_id})
        yield from self._talk.notices.note(
            "not answered again", ALREADY_DELIVERED, owner, native_id
        )
        yield EndTurn(outcome="interrupted")

    def _interrupt(self) -> Iterator[Step]:
        if self._talk.state.turn is TurnState.IDLE:
            return
        self._talk.state.is_interrupting = True
        yield from self._talk.abort()

    # --- Replies ---

    def on_reply(self, tag: str, reply: Reply) -> Iterator[Step]:
        """Translate what became of a call."""
        kind, _, about = tag.partition(":")
        match kind:
            case "open":
                yield from self._opened(reply)
            case "rules":
                if self._talk.waiting_prompt is not None:
                    yield self._talk.waiting_prompt
                self._talk.waiting_prompt = None
            case "prompt":
                yield from self._prompt_reply(about, reply)
            case "models" if isinstance(reply, Result):
                self._talk.usage.windows = read_windows(reply.result)
            case "search":
                yield from self._search_reply(about, reply)
            case "copy":
                yield from self._copy_reply(about, reply)
            case _:
                yield from self._events.history.on_reply(kind, about, reply)

    def _opened(self, reply: Reply) -> Iterator[Step]:
        if not isinstance(reply, Result):
            yield from self._refused(reply)
            return
        info = native.read_session(reply.result)
        is_resumed = self._talk.state.session_id is not None
        self._talk.state.session_id = self._talk.sessions.main = info.id
        path = f"/session/{info.id}/message"
        if is_resumed:
            yield self._talk.calls.get(path, f"search:{info.id}", limit=KNOWN)
        elif self._spec.fork:
            yield self._talk.calls.get(path, f"copy:{info.id}")
        else:
            yield Claim(info.id)
            yield from self._open(info.id)

    def _open(self, session: str) -> Iterator[Step]:
        self._talk.state.trigger(Trigger.OPENED)
        yield Bind(session)
        for prompt in self._talk.delivery.take_queue():
            yield from self._prompt(prompt)

    def _search_reply(self, session: str, reply: Reply) -> Iterator[Step]:
        """Know the messages that OpenCode got before it, or the daemon, was restarted."""
        if isinstance(reply, Result):
            self._talk.delivery.on_history(native.read_history(reply.result))
        yield from self._open(session)

    def _copy_reply(self, session: str, reply: Reply) -> Iterator[Step]:
        """Know what is in a fork: OpenCode (1.18.33) tells of each message that it copied."""
        if isinstance(reply, Result):
            self._talk.messages.ignore(native.read_history(reply.result))
        yield Claim(session)
        yield from self._open(session)

    def _refused(self, reply: Reply) -> Iterator[Step]:
        """The session cannot be opened; one that OpenCode does not know ends."""
        self._talk.state.trigger(Trigger.OPEN_REFUSED)
        queue = self._talk.delivery.take_queue()
        if queue:
            yield Delivered(message_id=queue[0].message_id)
        session = self._talk.state.session_id or self._spec.native_session_id
        is_unknown = isinstance(reply, RpcError) and reply.code in (400, 404)
        if session is not None and is_unknown:
            message = f"OpenCode knows no session {session}"
            yield Report(message=message, code="session_not_found")
            yield EndSession(reason="error", message=message)
            return
        yield call_failed("OpenCode did not open the session", reply)
        if queue:
            yield EndTurn(outcome="failed")

    def _prompt_reply(self, message_id: str, reply: Reply) -> Iterator[Step]:
        if isinstance(reply, Result) or not self._talk.delivery.is_in_flight(message_id):
            return
        if isinstance(reply, Overdue) or reply.code == NO_ANSWER:
            # The connection broke: whether OpenCode has the message, only its history tells.
            self._talk.delivery.doubt(message_id)
            yield from self._events.history.begin()
        else:
            yield from self._talk.refuse(message_id, not_taken(reply))

    # --- From the agent ---

    def receive(self, message: bytes) -> Iterator[Step]:
        """Translate an event."""
        return self._events.receive(message)


class EventReader:
    """Converts the events of a session, and of those of its subagents."""

    def __init__(self, talk: Conversation) -> None:
        self._talk = talk
        self.history = History(talk, self)

    def receive(self, message: bytes) -> Iterator[Step]:
        """Translate an event."""
        kind, event = native.read_event(message)
        match event:
            case native.PartDelta():
                yield from self._talk.messages.delta(
                    event, self._talk.sessions.owner(event.session_id)
                )
            case native.PartUpdated(part=part):
                yield from self.part(part)
            case native.MessageUpdated(info=info):
                yield from self.message(info)
            case native.Removed():
                yield from self._talk.messages.remove(event)
                yield from self._talk.notices.removed(
                    event, self._talk.sessions.owner(event.session_id)
                )
            case native.StatusEvent(status=status, session_id=session):
                yield from self._status(status, session)
            case native.SessionNamed(session_id=session):
                if kind == "session.idle":
                    yield from self._idle(session)
                else:
                    owner = self._talk.sessions.owner(session)
                    yield from self._talk.notices.note("compacted", None, owner, session)
            case native.SessionEvent(info=info):
                yield from self._session_event(kind, info)
            case native.ErrorEvent(session_id=session, error=error):
                yield from self._error(error, session)
            case native.TodoUpdated(session_id=session):
                yield from self._talk.notices.todos(event, self._talk.sessions.owner(session))
            case native.PermissionAsked() | native.QuestionAsked():
                yield from self.request(event)
            case native.RequestSettled():
                yield from self._talk.requests.settled(event)
            case None:
                if kind == native.CONNECTED:
                    yield from self.history.begin()
            case _:
                assert_never(event)

    def _is_main(self, session: str | None) -> bool:
        return session is not None and self._talk.sessions.is_main(session)

    def request(self, asked: native.PermissionAsked | native.QuestionAsked) -> Iterator[Step]:
        """OpenCode waits for a person."""
        if isinstance(asked, native.PermissionAsked):
            yield from self._talk.requests.permission(asked)
        else:
            yield from self._talk.requests.question(asked)

    # --- Sessions ---

    def _session_event(self, kind: str, info: native.SessionInfo) -> Iterator[Step]:
        if not self._is_main(info.id):
            if kind == "session.created" and info.parent_id is not None:
                yield from self._talk.sessions.begin(info)
        elif kind == "session.deleted":
            yield EndSession(reason="completed")
        elif info.title is not None and not info.title.startswith("New session"):
            yield Update(body=SessionUpdated(title=info.title))

    def _status(self, status: native.StatusInfo, session: str) -> Iterator[Step]:
        owner = self._talk.sessions.owner(session)
        match status.type:
            case "busy" if not self._talk.delivery.is_waiting:
                # It repeats a message before it works on it: else this is of the turn before.
                yield from self._work(owner)
            case "retry":
                yield from self._talk.messages.retract(session)
                yield from self._talk.notices.retry(status, owner)
                if status.attempt >= MOST_RETRIES and not self._talk.state.has_failed:
                    self._talk.state.has_failed = True
                    yield gave_up(status)
                    yield from self._talk.abort()
            case "idle":
                yield from self._idle(session)

    def _work(self, owner: Owner) -> Iterator[Step]:
        """OpenCode works: a message that it was to be stopped at is stopped now."""
        if owner.subagent is None:
            self._talk.state.trigger(Trigger.WORK_SEEN)
            if self._talk.state.is_interrupting:
                yield from self._talk.abort()

    def _idle(self, session: str) -> Iterator[Step]:
        if not self._is_main(session):
            yield from self._talk.sessions.end(session)
            return
        if not self._talk.state.works:
            return
        if self.history.holds_end():
            return
        self._talk.state.idles += 1
        if self._talk.messages.has_open(session) and self._talk.state.idles <= 2:
            self._talk.state.trigger(Trigger.IDLE_SEEN)
            return
        yield from self._talk.end_turn(self._talk.state.outcome)

    def _error(self, error: native.ErrorInfo, session: str | None) -> Iterator[Step]:
        """What went wrong, once: OpenCode tells it two or three times (1.18.33)."""
        if error.name == "MessageAbortedError":
            return
        if session is not None and not self._is_main(session):
            owner = self._talk.sessions.owner(session)
            message = str(error.data.get("message") or error.name)
            yield from self._talk.notices.note("subagent.error", message, owner, session)
        elif self._talk.state.turn is TurnState.SENT:
            yield from self._error_before_work(error)
        elif self._talk.state.works and not self._talk.state.has_failed:
            self._talk.state.has_failed = True
            yield report(error)

    def _error_before_work(self, error: native.ErrorInfo) -> Iterator[Step]:
        """OpenCode does not take the message, for example because it knows no such agent.

        Or it is the second telling of the turn before, which is a stack trace (1.18.33).
        """
        message_id = self._talk.delivery.first
        if is_stack_trace(error):
            return
        if message_id is not None:
            yield from self._talk.refuse(message_id, report(error))
        else:
            yield report(error)
            yield from self._talk.end_turn("failed")

    # --- Messages ---

    def message(self, info: native.MessageInfo) -> Iterator[Step]:
        """A message begins, changes or is complete."""
        owner = self._talk.sessions.owner(info.session_id)
        if info.role == "user":
            self._talk.messages.user_messages.add(info.id)
            return
        if self._talk.messages.is_over(info.id) or self._talk.messages.is_ignored(info.id):
            return
        yield from self._work(owner)
        yield from self._model(info, owner)
        self._talk.messages.begin(info.id, owner)
        if info.error is not None:
            yield from self._error(info.error, info.session_id)
        if info.time.completed is not None:
            yield from self._talk.messages.complete(info)
            if owner.subagent is None:
                yield from self._finish(info)

    def _model(self, info: native.MessageInfo, owner: Owner) -> Iterator[Step]:
        if info.provider_id and info.model_id:
            model = f"{info.provider_id}/{info.model_id}"
            self._talk.models[info.id] = model
            if self._talk.settings.model is None and owner.subagent is None:
                yield Update(body=SessionUpdated(model=model))

    def _finish(self, info: native.MessageInfo) -> Iterator[Step]:
        if info.finish == "length" and not self._talk.state.has_failed:
            self._talk.state.has_failed = True
            message = "the answer was longer than the model may write (max_output_tokens)"
            yield Report(message=message, code="max_output_tokens", details={"finish": "length"})
        is_over = self._talk.state.turn is TurnState.STOPPING
        if is_over and not self._talk.messages.has_open(info.session_id):
            yield from self._talk.end_turn(self._talk.state.outcome)

    def part(self, raw: Raw) -> Iterator[Step]:
        """A part of a message begins, grows or is complete."""
        part = native.read_part(raw)
        if self._talk.messages.is_ignored(part.message_id):
            return
        owner = self._talk.sessions.owner(part.session_id)
        yield from self._talk.notices.part(part, owner)
        if part.message_id in self._talk.messages.user_messages:
            yield from self._persons_part(part, owner)
            return
        match part:
            case native.TextPart():
                yield from self._talk.notices.work_on(owner)
                yield from self._talk.messages.text(part, owner)
            case native.ToolPart():
                yield from self._talk.notices.work_on(owner)
                yield from self._tool(part, owner)
            case native.StepFinishPart():
                model = self._talk.models.get(part.message_id)
                is_subagent = owner.subagent is not None
                yield from self._talk.usage.add(part, model, is_subagent=is_subagent)
                yield from self._talk.messages.finish(part.message_id)
            case _:
                pass  # of what else there is, only notices are shown

    def _persons_part(self, part: native.Part, owner: Owner) -> Iterator[Step]:
        """A part of a message of the person's, or of the prompt of a subagent."""
        if not isinstance(part, native.TextPart) or owner.subagent is not None:
            return
        message_id = self._talk.delivery.echo(part)
        if message_id is not None and self._talk.delivery.pop(message_id):
            yield BeginTurn(metadata={"native_message_id": part.message_id})
            yield Echo(message_id=message_id, native_id=part.message_id, text=part.text)

    def _tool(self, part: native.ToolPart, owner: Owner) -> Iterator[Step]:
        if part.tool == TASK:
            child = part.state.metadata.get("sessionId")
            self._talk.sessions.call(
                part.id, part.session_id, child if isinstance(child, str) else None
            )
        yield from self._talk.messages.open(part.message_id, owner, tool=True)
        yield from self._talk.tools.update(part, owner, self._talk.messages.key(part.message_id))
        yield from self._talk.requests.release()
