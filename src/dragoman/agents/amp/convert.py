"""The converter: dispatch of commands and native lines, and the state of the conversation."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from typing import assert_never

import msgspec

from dragoman.adapter import Spec
from dragoman.agents.amp import native
from dragoman.agents.amp.delivery import line_of
from dragoman.agents.amp.items import Items
from dragoman.agents.amp.tools import Tools
from dragoman.agents.amp.usage import UsageMeter
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
    Delivered,
    Echo,
    EndInput,
    EndSession,
    EndTurn,
    Report,
    Send,
    Signal,
    StartItem,
    Step,
    Unparsed,
    Update,
    Used,
)

NO_KEY = "No API key found"
"""How Amp's login begins, in plain text on stdout."""
NO_CREDENTIALS = (
    "Amp has no credentials: set AMP_API_KEY, in the daemon's environment or the session's `env`, "
    "or run `amp login` as the user of the daemon"
)
CANCELLED = "User cancelled"
"""How the error of a process begins that was stopped by a signal."""
NOT_AGAIN = "Amp had this message before it, or the daemon, was restarted"
_NOT_FOUND = "does not exist"
_UNREACHABLE = ("Couldn't connect to the Amp server", "Unable to connect to Amp servers")

# --- State ---
#
# A process serves one turn: it gets one message and the end of its input, and its `result` is the
# end of the turn. The next message is for the next process, which continues the thread.
#
# Amp names a thread of its own with its first line, which comes when the model is at work
# (0.0.1790142911). Before that the thread cannot be found again, so whether it has a first message
# cannot either: that one counts as accepted when it is sent, and is never sent twice. Later ones
# are accepted when Amp repeats them. Should that be lost, they are sent again, and Amp knows them
# by `request_id`: it ends at once, without an answer.
#
# A trigger that a state does not list leaves the state as it is, whatever Amp sends.


class Trigger(Enum):
    """What moves the state machine."""

    SEND = auto()
    ECHO = auto()
    """Amp repeats the message, or works on it."""
    END = auto()
    """The turn is over, whoever says so."""
    EXIT = auto()


class RunState(Enum):
    """What the current process does."""

    IDLE = auto()
    """It has no message, or there is no process."""
    SENT = auto()
    """It has a message, and has not repeated it."""
    WORKING = auto()
    OVER = auto()
    """The turn is over; the process is about to end."""


TRANSITIONS: dict[RunState, dict[Trigger, RunState]] = {
    RunState.IDLE: {Trigger.SEND: RunState.SENT},
    RunState.SENT: {
        Trigger.ECHO: RunState.WORKING,
        Trigger.END: RunState.OVER,
        Trigger.EXIT: RunState.IDLE,
    },
    RunState.WORKING: {Trigger.END: RunState.OVER, Trigger.EXIT: RunState.IDLE},
    RunState.OVER: {Trigger.SEND: RunState.SENT, Trigger.EXIT: RunState.IDLE},
}


class AmpConverter:
    """Speaks to one Amp process after another, one for each turn of a session."""

    def __init__(self, spec: Spec) -> None:
        self._tools = Tools(spec.directory)
        self._items = Items(self._tools)
        self._usage = UsageMeter()
        self._run = RunState.IDLE
        self._thread = spec.native_session_id
        self._message_id: str | None = None
        """The message that the process was given."""
        self._is_interrupting = False
        self._stop_reason: str | None = None
        """Why the turn's last answer ended, in Amp's word."""

    def _trigger(self, trigger: Trigger) -> None:
        self._run = TRANSITIONS[self._run].get(trigger, self._run)

    @property
    def _in_turn(self) -> bool:
        return self._run in (RunState.SENT, RunState.WORKING)

    # --- To the agent ---

    def command(self, command: Command) -> Iterator[Step]:
        """Translate what a person says."""
        match command:
            case Prompt():
                yield from self._prompt(command)
            case Interrupt():
                self._is_interrupting = True
                yield Signal("INT")
            case Configure():
                # The next process is started with it.
                given = msgspec.structs.asdict(command)
                changes = {name: value for name, value in given.items() if value}
                yield Update(body=SessionUpdated(**changes))
            case AnswerPermission() | AnswerQuestion():
                return  # Amp asks nothing
            case _:
                assert_never(command)

    def _prompt(self, prompt: Prompt) -> Iterator[Step]:
        self._trigger(Trigger.SEND)
        self._message_id = prompt.message_id
        self._is_interrupting = False
        if self._thread is None:
            yield Delivered(message_id=prompt.message_id)
        yield Send(line_of(prompt))
        yield EndInput()

    def steers(self) -> bool:
        """Say no: a process is told one message."""
        return False

    # --- From the agent ---

    def receive(self, message: bytes) -> Iterator[Step]:
        """Translate what Amp says."""
        steps = self._steps(message)
        return map(_late, steps) if self._run is RunState.OVER else steps

    def _steps(self, message: bytes) -> Iterator[Step]:
        match native.decode(message):
            case native.System() as line:
                return self._system(line)
            case native.User(message=said):
                return self._user(said)
            case native.Assistant(message=said):
                return self._assistant(said)
            case native.Result() as line:
                return self._result(line)
            case native.PlainText(text=text):
                return self._plain(text)
            case native.UnknownJson():
                return iter((Unparsed(error="an unknown kind of message", location="amp"),))

    def _system(self, line: native.System) -> Iterator[Step]:
        if line.session_id is not None and line.session_id != self._thread:
            self._thread = line.session_id
            yield Bind(line.session_id)
        if line.tools:
            yield Update(body=SessionUpdated(tools=line.tools))
        for server in line.mcp_servers:
            if server.status not in ("connected", "ready", ""):
                detail = f"{server.name}: {server.status}"
                yield from self._items.status("mcp_server", detail, status="failed")

    def _user(self, message: native.Message) -> Iterator[Step]:
        blocks = native.blocks_of(message)
        texts = [each.text for each in blocks if isinstance(each, native.TextBlock)]
        if texts or not blocks:  # images are left out
            yield from self._echo("".join(texts))
        for block in blocks:
            if isinstance(block, native.ToolResultBlock):
                yield from self._tools.result(block)
            elif not isinstance(block, native.TextBlock):
                yield from self._items.unknown(block)

    def _echo(self, text: str) -> Iterator[Step]:
        """Amp repeats a message: ours, unless it has done so before."""
        message_id = self._message_id if self._run is RunState.SENT else None
        if message_id is not None:
            self._trigger(Trigger.ECHO)
            yield Delivered(message_id=message_id, echoed=True)
        yield Echo(message_id=message_id, text=text)

    def _assistant(self, message: native.Message) -> Iterator[Step]:
        self._trigger(Trigger.ECHO)
        self._usage.add(message.usage)
        self._stop_reason = message.stop_reason
        yield from self._items.answer(message)

    def _result(self, line: native.Result) -> Iterator[Step]:
        was_sent = self._run is RunState.SENT
        if was_sent and self._message_id is not None:
            yield Delivered(message_id=self._message_id)
        if not line.is_error and was_sent and line.num_turns == 0:
            yield BeginTurn()
            yield from self._items.status("not answered again", NOT_AGAIN)
            yield from self._end("interrupted")
        elif not line.is_error:
            yield from self._end("completed")
        elif self._is_interrupting or (line.error or "").startswith(CANCELLED):
            yield from self._end("interrupted")
        else:
            yield Report(message=line.error or "Amp failed, and did not say why", code=line.subtype)
            yield from self._end("failed")

    def _plain(self, text: str) -> Iterator[Step]:
        """What Amp says to a person at a terminal: it wants to log in, and would wait for ever."""
        if text.startswith(NO_KEY) and self._in_turn:
            if self._message_id is not None:
                yield Delivered(message_id=self._message_id)
            yield Report(message=NO_CREDENTIALS, code="no_credentials")
            yield from self._end("failed")
            yield Signal("TERM")
        else:
            yield from self._items.status("amp.login", text.partition("?authToken=")[0])

    def _end(self, outcome: Outcome) -> Iterator[Step]:
        """The turn is over."""
        self._trigger(Trigger.END)
        yield EndTurn(outcome=outcome, usage=self._usage.end_turn(), stop_reason=self._stop_reason)
        self._stop_reason = None
        self._tools.clear()

    # --- The process ---

    def on_open(self, spec: Spec) -> Iterator[Step]:
        """Say nothing: a process waits for its message."""
        return iter(())

    def on_close(self, exit: Exit) -> Iterator[Step]:
        """Tell what became of the turn, where Amp has not."""
        if self._in_turn:
            yield from self._cut(exit)
        usage = self._usage.end_turn()
        if usage is not None:
            yield Used(usage=usage)
        self._tools.clear()
        self._trigger(Trigger.EXIT)
        self._message_id, self._is_interrupting, self._stop_reason = None, False, None

    def _cut(self, exit: Exit) -> Iterator[Step]:
        """The process ended without a result: stopped before it could make one, or refused."""
        why = _last_words(exit)
        is_lost = self._thread is not None and self._thread in why and _NOT_FOUND in why
        is_unreachable = why.removeprefix("Error: ").startswith(_UNREACHABLE)
        if not (self._is_interrupting or is_lost or is_unreachable):
            return  # the daemon tells it as the end of a process
        if self._message_id is not None:
            yield Delivered(message_id=self._message_id)
        if self._is_interrupting:
            yield from self._end("interrupted")
            return
        code = "session_not_found" if is_lost else "connection_failed"
        yield Report(message=why, code=code, details=exit.details)
        yield from self._end("failed")
        if is_lost:
            yield EndSession(reason="error", message=why, exit=exit)


def _late(step: Step) -> Step:
    """After its result a process opens no turn: nothing would end it."""
    return msgspec.structs.replace(step, opens=False) if isinstance(step, StartItem) else step


def _last_words(exit: Exit) -> str:
    """What Amp says on stderr before it gives up."""
    lines = [str(text) for text in (exit.stderr.head, exit.stderr.tail) if text]
    return next((line.strip() for line in "\n".join(lines).splitlines() if line.strip()), "")
