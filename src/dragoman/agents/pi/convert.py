"""The converter: dispatch of commands and native lines, and the state of the conversation."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from typing import Any, assert_never

import msgspec

from dragoman.adapter import Spec
from dragoman.agents.pi import delivery, native, tools
from dragoman.agents.pi.delivery import SentMessages, content_of
from dragoman.agents.pi.items import CUT_OFF, INTERRUPTED, RETRACTED, Messages, parts_of
from dragoman.agents.pi.launch import FIRST_WITH_CLEAR_QUEUE, FIRST_WITH_MCP, servers_of
from dragoman.agents.pi.notices import Notices, model_error
from dragoman.agents.pi.requests import DIALOGS, Requests
from dragoman.agents.pi.settings import SessionSettings
from dragoman.agents.pi.tools import Tools
from dragoman.agents.pi.usage import UsageMeter
from dragoman.facts import Exit, is_since
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
    Delivered,
    Echo,
    EndSession,
    EndTurn,
    Report,
    Resolve,
    Send,
    Step,
    Unparsed,
    Update,
    Used,
)

PREFIX = "dragoman-"
"""How the ids of our own commands begin; a message is sent under its own id."""
PROBE = "dragoman-probe"
"""The id of a `get_state` that asks whether Pi goes on by itself."""
CHANGES = ("set_model", "set_thinking_level")
"""The commands that change how a session works."""
NOT_FOUND = "No session found matching"
TOO_LONG = "the model's answer was cut off at its limit (max_output_tokens)"
NOT_AGAIN = "Pi had this message before it, or the daemon, was restarted"

# --- State ---
#
# A turn of ours is all that Pi does until it settles: several of its runs (`agent_start` to
# `agent_end`), where it tries again, compacts, or takes up a message that waited. 0.80.4 and newer
# say `agent_settled` at the end. Older ones do not (0.73.1): there each `agent_end` may be the
# last, so we ask for Pi's state (PROBE). What makes Pi go on, it says before it answers.
#
# A process begins in STARTING, until it has named its conversation. No message is sent before: the
# daemon must have stored the name, or its next process would not find a message that this one had.
#
# `ConversationState` outlives processes: it says what becomes of a failed resume. Pi stores a
# conversation with its first message (1.5.0), or only with the first answer (0.73.1). A process
# that is killed before leaves just a name, and then the conversation begins anew. After that a
# conversation that is not found is lost, and the session ends.
#
# A trigger that a state does not list leaves the state as it is, whatever Pi sends.


class Trigger(Enum):
    """What moves the state machines."""

    OPEN = auto()
    """The process has named its conversation."""
    START = auto()
    """A run begins, or Pi says that it will go on."""
    END = auto()
    """A run ends, and nothing will say whether it was the last."""
    SETTLE = auto()
    """Nothing follows."""
    NAME = auto()
    """Pi has repeated a message, and may have stored it."""
    STORE = auto()
    """An answer is complete, so the conversation is stored."""
    REFUSE = auto()
    """The conversation to resume is not found."""
    EXIT = auto()
    """The process is gone."""


class RunState(Enum):
    """What the current process does."""

    STARTING = auto()
    IDLE = auto()
    RUNNING = auto()
    ENDING = auto()
    """A run has ended; whether another one follows was asked."""


class ConversationState(Enum):
    """Whether a next process can resume the conversation."""

    NEW = auto()
    NAMED = auto()
    """It has a name; whether anything is stored under it is not known."""
    STORED = auto()
    MISSING = auto()
    """It should be stored, and was not found."""


RUN_TRANSITIONS: dict[RunState, dict[Trigger, RunState]] = {
    RunState.STARTING: {Trigger.OPEN: RunState.IDLE, Trigger.START: RunState.RUNNING},
    RunState.IDLE: {Trigger.START: RunState.RUNNING, Trigger.EXIT: RunState.STARTING},
    RunState.RUNNING: {
        Trigger.END: RunState.ENDING,
        Trigger.SETTLE: RunState.IDLE,
        Trigger.EXIT: RunState.STARTING,
    },
    RunState.ENDING: {
        Trigger.START: RunState.RUNNING,
        Trigger.SETTLE: RunState.IDLE,
        Trigger.EXIT: RunState.STARTING,
    },
}
CONVERSATION_TRANSITIONS: dict[ConversationState, dict[Trigger, ConversationState]] = {
    ConversationState.NEW: {
        Trigger.NAME: ConversationState.NAMED,
        Trigger.STORE: ConversationState.STORED,
    },
    ConversationState.NAMED: {
        Trigger.STORE: ConversationState.STORED,
        Trigger.REFUSE: ConversationState.NEW,
    },
    ConversationState.STORED: {Trigger.REFUSE: ConversationState.MISSING},
    ConversationState.MISSING: {},
}


class SessionState:
    """The two state machines, and whether a person interrupts the turn."""

    def __init__(self, *, resumes: bool) -> None:
        self.run = RunState.STARTING
        self.conversation = ConversationState.STORED if resumes else ConversationState.NEW
        self.is_interrupting = False
        """Whatever fails until the turn's end is the person's doing."""

    def trigger(self, trigger: Trigger) -> None:
        """Move both on."""
        run, conversation = self.run, self.conversation
        self.run = RUN_TRANSITIONS[run].get(trigger, run)
        self.conversation = CONVERSATION_TRANSITIONS[conversation].get(trigger, conversation)

    @property
    def is_running(self) -> bool:
        """Whether Pi works, or may go on."""
        return self.run in (RunState.RUNNING, RunState.ENDING)

    @property
    def cut_reason(self) -> str:
        """Why a message that is not complete is not."""
        return INTERRUPTED if self.is_interrupting else CUT_OFF

    @property
    def withdrawal(self) -> str:
        """Why Pi goes on without an answer."""
        return "interrupt" if self.is_interrupting else "agent"


class PiConverter:
    """Speaks to one Pi process after another, for one session."""

    def __init__(self, spec: Spec) -> None:
        self._settings = SessionSettings(spec)
        self._messages = Messages(spec.directory)
        self._tools = Tools(self._messages.calls, spec.directory)
        self._notices = Notices()
        self._usage = UsageMeter()
        self._sent_messages = SentMessages()
        self._requests = Requests(spec.directory)
        self._commands = 0
        """How many commands of our own were sent; the last one is named by it."""
        self._state = SessionState(resumes=spec.native_session_id is not None)
        self._native_id: str | None = None
        self._version = spec.agent_version
        self._error: Report | None = None
        """Why the last answer failed, should Pi not try again."""
        self._stop_reason: str | None = None
        """Why the turn's last answer ended, in Pi's word."""

    # --- To the agent ---

    def command(self, command: Command) -> Iterator[Step]:
        """Translate what a person says."""
        match command:
            case Prompt() if self._state.run is RunState.STARTING:
                self._sent_messages.postpone(command)
            case Prompt():
                yield self._prompt(command)
            case Interrupt():
                self._state.is_interrupting = True
                yield self._interrupt()
            case AnswerPermission() | AnswerQuestion():
                told, declined = self._requests.answer(command)
                if declined in self._messages.calls:
                    self._messages.calls[declined].is_declined = True
                yield _line(**told)
                yield Resolve(command=command)
            case Configure():
                for each in self._settings.commands_for(command):
                    yield self._command(**each)
                yield from self._settings.assume(command)
            case _:
                assert_never(command)

    def _prompt(self, prompt: Prompt) -> Send:
        self._sent_messages.add(prompt)
        return _line(
            id=prompt.message_id,
            type="prompt",
            streamingBehavior="steer" if self._state.is_running else "followUp",
            **content_of(prompt),
        )

    def _interrupt(self) -> Send:
        """Stop the turn. What waits to join it is taken back first: the run that is stopped would
        take it up, and not answer it (1.5.0)."""
        joins = self._sent_messages.is_waiting or self._sent_messages.is_unanswered
        if joins and self._state.is_running:
            return self._command(type="clear_queue")
        return self._command(type="abort")

    def _command(self, **command: Any) -> Send:
        self._commands += 1
        return _line(id=f"{PREFIX}{self._commands}", **command)

    def steers(self) -> bool:
        """Whether Pi works: a message that is sent meanwhile joins after its tools.

        While it compacts the conversation it refuses messages (1.5.0). Where it could not be
        taken back, should a person interrupt the turn, a message waits with us.
        """
        return (
            self._state.is_running
            and not self._notices.is_compacting
            and is_since(self._version, FIRST_WITH_CLEAR_QUEUE)
        )

    # --- From the agent ---

    def receive(self, message: bytes) -> Iterator[Step]:
        """Translate what the agent says. Raise only msgspec errors, and only before a step."""
        line = native.decode(message)
        match line:
            case native.MessageUpdate(assistant_message_event=piece):
                yield from self._messages.stream(piece)
            case native.Response():
                yield from self._response(line)
            case native.MessageStart(message=told):
                yield from self._message_start(told)
            case native.MessageEnd(message=told):
                yield from self._message_end(told)
            case native.ToolStart():
                yield from self._tools.start(line)
            case native.ToolUpdate():
                yield from self._tools.update(line)
            case native.ToolEnd():
                yield from self._tool_end(line)
            case native.UiRequest(method=method) if method in DIALOGS:
                yield self._requests.ask(line)
            case native.UiRequest():
                yield from self._shown(line)
            case native.InfoChanged(name=name):
                yield Update(body=SessionUpdated(title=name or ""))
            case native.LevelChanged(level=level):
                yield from self._settings.on_level(level)
            case native.ExtensionError():
                yield from self._notices.extension_error(line)
            case native.UnknownJson(json=value):
                kind = value.get("type") if isinstance(value, dict) else None
                yield Unparsed(error=f"unknown message type {kind!r}", location="pi")
            case _:
                yield from self._run_event(line)

    def _run_event(self, line: native.AnyLine) -> Iterator[Step]:
        """What says how far a run is."""
        match line:
            case native.AgentStart():
                yield from self._go_on()
                yield BeginTurn()
            case native.AgentEnd(will_retry=will_retry):
                yield from self._agent_end(will_retry)
            case native.AgentSettled(aborted=aborted):
                yield from self._settle(is_aborted=bool(aborted))
            case native.RetryStart():
                yield from self._go_on()
                yield from self._notices.retry(line)
            case native.RetryEnd(success=success, final_error=error):
                if not success:
                    self._error = self._error or model_error(error)
                    yield from self._probe()
            case native.CompactionStart():
                # After a run whose end is being asked about, it is asked again when this is over.
                if self._state.run is not RunState.ENDING:
                    self._state.trigger(Trigger.START)
                yield from self._notices.compaction_start(line)
            case native.CompactionEnd(result=result, will_retry=will_retry):
                if result is not None:
                    self._usage.compact(result)
                yield from self._notices.compaction_end(line)
                # 0.73.1 says that it will try again also where nothing failed, and then does not.
                retries = will_retry and self._error is not None
                yield from self._go_on() if retries else self._probe()
            case native.SummaryRetry():
                yield from self._notices.retry(line)
            case _:
                return  # what repeats, or says nothing; `IGNORED` says why of each

    def _shown(self, line: native.UiRequest) -> Iterator[Step]:
        """What an extension shows; ours tells us something."""
        match line.status_key:
            case delivery.ALREADY_DELIVERED if line.status_text is not None:
                self._sent_messages.drop(line.status_text)
                yield from self._handled(line.status_text, is_new=False)
            case tools.REPLACED_FILE if line.status_text is not None:
                self._tools.on_replaced_file(line.status_text)
            case _:
                yield from self._notices.extension(line)

    def _tool_end(self, line: native.ToolEnd) -> Iterator[Step]:
        yield from self._requests.withdraw(line.tool_call_id, self._state.withdrawal)
        content = line.result.content if line.result is not None else None
        parts = parts_of(content or ())
        yield from self._tools.end(line, parts, interrupted=self._state.is_interrupting)

    # --- Messages ---

    def _response(self, line: native.Response) -> Iterator[Step]:
        if line.id is not None and self._sent_messages.is_sent(line.id):
            yield from self._accepted(line, line.id)
            return
        if line.command == "clear_queue":
            # 0.73.1 does not know it; then what waits is taken up by the run that is stopped.
            if line.success:
                self._sent_messages.give_back()
            if not (line.success and self._sent_messages.is_unanswered):
                yield self._command(type="abort")
        elif line.command == "get_state":
            if line.success:
                yield from self._on_state(line)
            yield from self._open()
        elif line.command in CHANGES:
            # Commands run side by side: what came of one is known when it was answered (1.5.0).
            yield self._command(type="get_state")
        if not line.success and line.command not in ("abort", "clear_queue"):
            yield from self._settings.on_refusal(line.command, line.error)

    def _accepted(self, line: native.Response, message_id: str) -> Iterator[Step]:
        """Pi says what becomes of a message."""
        if not line.success:
            self._sent_messages.drop(message_id)
            yield Delivered(message_id=message_id)
            yield Report(message=line.error or "Pi refused the message", code="refused")
            if not self._state.is_running:
                yield BeginTurn()
                yield EndTurn(outcome="failed")
            return
        disposition = native.disposition_of(line)
        if disposition == "handled":
            self._sent_messages.drop(message_id)
            yield from self._handled(message_id)
            return
        self._sent_messages.accept(message_id, is_queued=disposition == "queued")
        if self._state.is_interrupting and self._state.is_running:
            yield self._interrupt()
        if not self._state.is_running and disposition in ("started", None):
            yield Delivered(message_id=message_id, echoed=True)
        if not self._state.is_running and disposition is None:
            yield _line(id=PROBE, type="get_state")

    def _handled(self, message_id: str, *, is_new: bool = True) -> Iterator[Step]:
        """An extension has taken a message: there is no run, unless one has begun. Ours takes what
        is not new, which is in the conversation already, in a turn that is over."""
        yield Delivered(message_id=message_id)
        if not self._state.is_running:
            yield BeginTurn()
        if not is_new:
            yield from self._notices.status("not answered again", NOT_AGAIN)
        if not self._state.is_running:
            yield EndTurn(outcome="completed" if is_new else "interrupted")

    def _open(self) -> Iterator[Step]:
        """The process is ready: what waited for it is sent."""
        if self._state.run is not RunState.STARTING:
            return
        self._state.trigger(Trigger.OPEN)
        yield from self._send_postponed()
        if self._state.is_interrupting:
            yield self._interrupt()

    def _send_postponed(self) -> Iterator[Step]:
        for prompt in self._sent_messages.take_postponed():
            yield self._prompt(prompt)

    def _on_state(self, line: native.Response) -> Iterator[Step]:
        state = native.state_of(line)
        if state.model is not None:
            self._usage.set_model(state.model)
        yield from self._settings.on_state(state)
        if state.session_id is not None and state.session_id != self._native_id:
            self._native_id = state.session_id
            is_new = self._state.conversation is ConversationState.NEW
            yield Bind(state.session_id, resumable=not is_new)
        if line.id == PROBE and not state.is_streaming and not state.is_compacting:
            if self._state.run is RunState.ENDING:
                yield from self._settle(is_aborted=self._state.is_interrupting)
            elif not self._state.is_running and self._sent_messages.is_waiting:
                for message_id in self._sent_messages.pending():
                    self._sent_messages.drop(message_id)
                    yield from self._handled(message_id)

    def _message_start(self, message: native.Message) -> Iterator[Step]:
        match message.role:
            case "assistant":
                yield from self._messages.begin()
            case "user":
                message_id = self._sent_messages.match_echo()
                if message_id is not None:
                    yield Delivered(message_id=message_id, echoed=True)
                yield Echo(message_id=message_id, text=native.text_of(message.content))
            case "custom" | "branchSummary" | "compactionSummary":
                if message.display is not False:
                    blocks = native.blocks_of(message.content)
                    parts = parts_of(blocks or (native.TextBlock(text=message.summary or ""),))
                    yield from self._notices.system(parts)
            case _:
                return

    def _message_end(self, message: native.Message) -> Iterator[Step]:
        if message.role == "user":
            yield from self._stored(Trigger.NAME)
        if message.role == "toolResult":
            self._usage.add_tool(message)
        if message.role != "assistant":
            return
        yield from self._messages.finish(message)
        self._usage.add(message)
        # Of a failed call the error says more.
        self._stop_reason = None if message.stop_reason == "error" else message.stop_reason
        match message.stop_reason:
            case "error" if not self._state.is_interrupting:
                self._error = model_error(message.error_message)
            case "length":
                self._error = Report(message=TOO_LONG, code="max_output_tokens")
            case _:
                self._error = None
        yield from self._stored(Trigger.STORE)

    def _stored(self, trigger: Trigger) -> Iterator[Step]:
        """From now on the next process can resume the conversation."""
        was_new = self._state.conversation is ConversationState.NEW
        self._state.trigger(trigger)
        if was_new and self._native_id is not None:
            yield Bind(self._native_id)

    # --- Runs ---

    def _go_on(self) -> Iterator[Step]:
        """Pi works, or will again: what failed is said anew."""
        yield from self._messages.resolve(RETRACTED)
        self._error = None
        self._state.trigger(Trigger.START)

    def _agent_end(self, will_retry: bool | None) -> Iterator[Step]:
        if will_retry:
            yield from self._messages.resolve(RETRACTED)
        elif will_retry is not None:
            yield from self._messages.resolve(self._state.cut_reason)
        else:
            yield from self._probe(Trigger.END)

    def _probe(self, trigger: Trigger | None = None) -> Iterator[Step]:
        """Ask whether Pi goes on, where nothing else will say it."""
        if trigger is None and self._state.run is not RunState.ENDING:
            return
        self._state.trigger(Trigger.END)
        yield _line(id=PROBE, type="get_state")

    def _settle(self, *, is_aborted: bool) -> Iterator[Step]:
        """The turn is over."""
        was_running = self._state.is_running
        self._state.trigger(Trigger.SETTLE)
        yield from self._messages.resolve(self._state.cut_reason)
        yield from self._requests.withdraw(None, self._state.withdrawal)
        outcome: Outcome = "completed"
        if is_aborted or self._state.is_interrupting:
            outcome = "interrupted"
        elif self._error is not None:
            outcome = "failed"
            yield self._error
        context = self._usage.context()
        if context is not None:
            yield Update(body=SessionUpdated(context=context))
        if was_running:
            usage = self._usage.end_turn()
            yield EndTurn(outcome=outcome, usage=usage, stop_reason=self._stop_reason)
        self._messages.calls.clear()
        self._error, self._stop_reason, self._state.is_interrupting = None, None, False
        yield from self._send_postponed()

    # --- The process ---

    def on_open(self, spec: Spec) -> Iterator[Step]:
        """Ask who it is: Pi names its conversation only where it is asked."""
        self._settings.open(spec)
        self._version = spec.agent_version
        yield self._command(type="get_state")
        if servers_of(spec) and not is_since(spec.agent_version, FIRST_WITH_MCP):
            detail = f"Pi {spec.agent_version} makes no use of MCP servers; they have no effect"
            yield from self._notices.status("not_applied", detail)

    def on_close(self, exit: Exit) -> Iterator[Step]:
        """Drop what belonged to the process that is gone."""
        why = _not_found(exit)
        if why is not None:
            self._state.trigger(Trigger.REFUSE)
        if self._state.conversation is ConversationState.MISSING and why is not None:
            for message_id in self._sent_messages.pending():
                yield Delivered(message_id=message_id)
            yield Report(message=why, code="session_not_found", details=exit.details)
            yield EndTurn(outcome="failed")
            yield EndSession(reason="error", message=why, exit=exit)
        elif why is not None:
            # The process before was killed before it had stored anything: nothing is lost.
            yield Bind(None)
            yield from self._notices.status("resume.failed", why, status="failed")
        usage = self._usage.end_turn()
        if usage is not None:
            yield Used(usage=usage)
        for state in (self._messages, self._requests, self._sent_messages):
            state.clear()
        self._state.trigger(Trigger.EXIT)
        self._error, self._stop_reason, self._state.is_interrupting = None, None, False
        self._native_id, self._notices.is_compacting = None, False


def _not_found(exit: Exit) -> str | None:
    """What Pi says where it does not find the conversation to resume."""
    lines = [str(text) for text in (exit.stderr.head, exit.stderr.tail) if text]
    said = "\n".join(lines).splitlines()
    return next((line.strip() for line in said if NOT_FOUND in line), None)


def _line(**message: Any) -> Send:
    return Send(msgspec.json.encode(message))
