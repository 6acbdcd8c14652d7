"""The converter: dispatch of commands and native lines, and the state of the conversation."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from typing import Any, assert_never

import msgspec

from dragoman.adapter import Spec
from dragoman.agents.claude import native, requests
from dragoman.agents.claude.delivery import SentMessages, content_of
from dragoman.agents.claude.items import Messages, parts_of, text_of
from dragoman.agents.claude.notices import Notices, api_error, turn_error
from dragoman.agents.claude.settings import SessionSettings
from dragoman.agents.claude.subagents import Tasks
from dragoman.agents.claude.tools import ToolOutcome, result_steps
from dragoman.agents.claude.usage import UsageMeter
from dragoman.facts import Exit
from dragoman.schema.commands import (
    AnswerPermission,
    AnswerQuestion,
    Command,
    Configure,
    Interrupt,
    Prompt,
)
from dragoman.schema.events import Outcome, SessionUpdated, Usage
from dragoman.steps import (
    BeginTurn,
    Bind,
    CompleteItem,
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
    Withdraw,
)

ANSWERED_BEFORE = "Claude Code had this message before the daemon was restarted"
SYNTHETIC = "<synthetic>"
"""The model of the messages that Claude Code writes itself."""

# --- State ---
#
# Two state machines with the same triggers.
#
# `TurnState` is about one process, and starts anew with the next. In 2.1.325 a message is accepted
# (`command_lifecycle` with `started`), its turn begins (`system/init`), and the turn ends
# (`result`). Versions before 2.1.300 send no `command_lifecycle`, and no message is accepted for a
# turn that Claude Code begins itself, e.g. because a background command ended: there `system/init`
# comes first. A process before its first turn (STARTING, PENDING) is not IDLE, because a `result`
# means something else then: the message failed before its turn, or there is no conversation to
# resume.
#
# `ConversationState` outlives processes: it says what becomes of such a failed resume. Claude Code
# names a conversation before it has stored anything of it. A process that is killed in the first
# turn may leave just a name, and then the conversation begins anew. After a turn has ended, a
# conversation that is not found is lost, and the session ends.
#
# A trigger that a state does not list leaves the state as it is, whatever Claude Code sends.
#
# An interrupt is no state: a person may interrupt in each of them, also before the first turn.


class Trigger(Enum):
    """What moves the state machines."""

    ACCEPT = auto()
    """A message is accepted."""
    NAME = auto()
    """The conversation has an id."""
    BEGIN = auto()
    """A turn begins."""
    END = auto()
    """A turn ends."""
    FAIL = auto()
    """A message fails before its turn."""
    REFUSE = auto()
    """The conversation to resume is not found."""
    EXIT = auto()
    """The process is gone."""


class TurnState(Enum):
    """How far the current process is."""

    STARTING = auto()
    """It has accepted nothing."""
    PENDING = auto()
    """It has accepted a message, and not begun its first turn."""
    RUNNING = auto()
    """It works on a turn."""
    IDLE = auto()
    """Its last turn has ended."""


class ConversationState(Enum):
    """Whether a next process can resume the conversation."""

    NEW = auto()
    """It has no id."""
    NAMED = auto()
    """It has an id; whether anything is stored under it is not known."""
    RESUMABLE = auto()
    """A turn of it has ended, so it is stored; or the session was created with its id."""
    MISSING = auto()
    """It should be stored, and was not found."""


TURN_TRANSITIONS: dict[TurnState, dict[Trigger, TurnState]] = {
    TurnState.STARTING: {
        Trigger.ACCEPT: TurnState.PENDING,
        Trigger.BEGIN: TurnState.RUNNING,
    },
    TurnState.PENDING: {
        Trigger.BEGIN: TurnState.RUNNING,
        Trigger.FAIL: TurnState.STARTING,
        Trigger.EXIT: TurnState.STARTING,
    },
    TurnState.RUNNING: {
        Trigger.END: TurnState.IDLE,
        Trigger.EXIT: TurnState.STARTING,
    },
    TurnState.IDLE: {
        Trigger.ACCEPT: TurnState.RUNNING,
        Trigger.BEGIN: TurnState.RUNNING,
        Trigger.EXIT: TurnState.STARTING,
    },
}
CONVERSATION_TRANSITIONS: dict[ConversationState, dict[Trigger, ConversationState]] = {
    ConversationState.NEW: {
        Trigger.NAME: ConversationState.NAMED,
        Trigger.END: ConversationState.RESUMABLE,
    },
    ConversationState.NAMED: {
        Trigger.END: ConversationState.RESUMABLE,
        Trigger.REFUSE: ConversationState.NEW,
    },
    ConversationState.RESUMABLE: {
        Trigger.REFUSE: ConversationState.MISSING,
    },
    ConversationState.MISSING: {},
}
IN_TURN = (TurnState.PENDING, TurnState.RUNNING)
BEFORE_FIRST_TURN = (TurnState.STARTING, TurnState.PENDING)


class ClaudeConverter:
    """Speaks to one Claude Code process after another, for one session."""

    def __init__(self, spec: Spec) -> None:
        self._directory = spec.directory
        self._settings = SessionSettings(spec)
        self._tasks = Tasks()
        self._messages = Messages(spec.directory)
        self._notices = Notices()
        self._usage = UsageMeter()
        self._requests: dict[str, requests.PendingRequest] = {}
        """The agent's requests that wait for an answer."""
        self._sent_messages = SentMessages()
        self._control_requests = 0
        """How many requests of our own were made; the last one is named by it."""
        self._turn = TurnState.STARTING
        resumes = spec.native_session_id is not None
        self._conversation = ConversationState.RESUMABLE if resumes else ConversationState.NEW
        self._native_id: str | None = None
        """The id that Claude Code gave the conversation last."""
        self._why_missing: Report | None = None
        """What Claude Code says where it does not find the conversation."""
        self._is_interrupting = False
        """A person interrupts the turn; whatever fails until its result says so."""
        self._has_reported_error = False
        """The error of this turn was reported; its result need not repeat it."""

    def _advance(self, trigger: Trigger) -> None:
        """Move both state machines on."""
        turn, conversation = self._turn, self._conversation
        self._turn = TURN_TRANSITIONS[turn].get(trigger, turn)
        self._conversation = CONVERSATION_TRANSITIONS[conversation].get(trigger, conversation)

    # --- To the agent ---

    def command(self, command: Command) -> Iterator[Step]:
        """Translate what a person says."""
        match command:
            case Prompt():
                yield self._prompt(command)
            case Interrupt():
                self._is_interrupting = True
                yield self._request(subtype="interrupt")
            case AnswerPermission(key=key) | AnswerQuestion(key=key):
                yield self._answer(key, command)
                yield Resolve(command=command)
            case Configure():
                yield from self._configure(command)
            case _:
                assert_never(command)

    def _prompt(self, prompt: Prompt) -> Send:
        return _line(
            type="user",
            message={"role": "user", "content": content_of(prompt)},
            parent_tool_use_id=None,
            session_id="",
            uuid=self._sent_messages.add(prompt.message_id, prompt.text),
        )

    def _request(self, **request: Any) -> Send:
        self._control_requests += 1
        request_id = f"dragoman_{self._control_requests}"
        return _line(type="control_request", request_id=request_id, request=request)

    def _answer(self, key: str, answer: AnswerPermission | AnswerQuestion) -> Send:
        request = self._requests.pop(key, requests.NO_REQUEST)
        if isinstance(answer, AnswerPermission):
            response = requests.permission_answer(request, answer)
            if answer.updated_input is not None:
                self._messages.replace_input(request.call_id, answer.updated_input)
        else:
            response = requests.question_answer(request, answer)
        return _respond(key, response)

    def _configure(self, change: Configure) -> Iterator[Step]:
        for request, before in self._settings.requests_for(change):
            yield self._request(**request)
            self._settings.await_response(f"dragoman_{self._control_requests}", before)
        fields = {name: value for name, value in msgspec.structs.asdict(change).items() if value}
        yield Update(body=SessionUpdated(**fields))

    def steers(self) -> bool:
        """Whether a tool runs: a message that is sent meanwhile joins the turn after it."""
        return self._turn in IN_TURN and any(call.is_main for call in self._messages.calls.values())

    # --- From the agent ---

    def receive(self, message: bytes) -> Iterator[Step]:
        """Translate what the agent says. Raise only msgspec errors, and only before a step."""
        line = native.decode(message)
        match line:
            case native.StreamEvent():
                yield from self._stream(line)
            case native.Assistant():
                yield from self._assistant(line)
            case native.User():
                yield from self._user(line)
            case native.System(subtype=subtype):
                yield from self._system(native.decode_system(message, subtype), subtype)
            case native.Result():
                yield from self._result(line)
            case native.ControlRequest():
                yield from self._control_request(line)
            case native.ControlCancel(request_id=key):
                self._requests.pop(key, None)
                yield Withdraw(key=key, reason="interrupt" if self._is_interrupting else "agent")
            case native.ControlResponse(response=response):
                yield from self._settings.on_response(response)
            case native.CommandLifecycle():
                yield from self._lifecycle(line)
            case native.ConversationReset(trigger=trigger):
                self._usage.reset()
                yield from self._notices.status("conversation.reset", trigger, opens=True)
            case native.RateLimit(rate_limit_info=info):
                yield Update(body=SessionUpdated(rate_limits=info))
            case native.KeepAlive() | native.ToolProgress():
                return
            case native.UnknownStreamEvent(event=event):
                yield from self._notices.unknown(event)
            case native.UnknownJson(json=value):
                kind = value.get("type")
                yield Unparsed(error=f"unknown message type {kind!r}", location="claude")
            case _:
                assert_never(line)

    def _stream(self, line: native.StreamEvent) -> Iterator[Step]:
        if line.parent_tool_use_id is None:
            self._usage.stream(line.event, is_interrupting=self._is_interrupting)
        owner = self._tasks.owner(line.parent_tool_use_id, line.agent_id)
        yield from self._with_reason(self._messages.stream(line, owner))

    def _assistant(self, line: native.Assistant) -> Iterator[Step]:
        if line.message.model == SYNTHETIC and (line.is_api_error_message or line.error):
            self._has_reported_error = True
            yield api_error(line, text_of(line.message.content))
            return
        if line.parent_tool_use_id is not None:
            self._usage.add_subagent(line.message)
        owner = self._tasks.owner(line.parent_tool_use_id, line.agent_id)
        yield from self._with_reason(self._messages.whole(line, owner))

    def _with_reason(self, steps: Iterator[Step]) -> Iterator[Step]:
        """The same steps; what an interrupt makes fail says so."""
        for step in steps:
            if self._is_interrupting and isinstance(step, CompleteItem) and step.status == "failed":
                yield msgspec.structs.replace(step, fields={**step.fields, "reason": "interrupted"})
            else:
                yield step

    # --- Under the role `user` ---

    def _user(self, line: native.User) -> Iterator[Step]:
        content = line.message.content
        blocks = [] if isinstance(content, str) else [native.decode_block(raw) for raw in content]
        results = [block for block in blocks if isinstance(block, native.ToolResultBlock)]
        for result in results:
            yield from self._tool_result(line, result, alone=len(results) == 1)
        if results:
            return
        text = text_of(content)
        message_id = self._sent_messages.match_echo(line.uuid, text) if line.is_replay else None
        if message_id is not None:
            yield Echo(message_id=message_id, native_id=line.uuid, text=text)
        else:
            owner = self._tasks.owner(line.parent_tool_use_id, line.agent_id)
            yield from self._notices.user_text(text, line, owner)

    def _tool_result(
        self, line: native.User, block: native.ToolResultBlock, *, alone: bool
    ) -> Iterator[Step]:
        # A subagent whose call has a result is done; one in the background goes on.
        if block.tool_use_id not in self._tasks.detached_calls():
            yield from self._messages.finish(block.tool_use_id)
        if line.parent_tool_use_id is not None:
            yield from self._messages.finish(line.parent_tool_use_id)
        call = self._messages.calls.pop(block.tool_use_id, None)
        if call is not None:
            owner = call.owner
        else:
            owner = self._tasks.owner(line.parent_tool_use_id, line.agent_id)
        metas = [meta for meta in line.tool_result_meta or () if meta.id == block.tool_use_id]
        refusal = metas[0].refusal if metas else None
        yield from result_steps(
            ToolOutcome(
                block=block,
                content=parts_of(block.content),
                call=call,
                owner=owner,
                native_id=line.uuid,
                native_result=line.tool_use_result if alone else None,
                refusal="interrupted" if block.is_error and self._is_interrupting else refusal,
                directory=self._directory,
            )
        )

    def _lifecycle(self, line: native.CommandLifecycle) -> Iterator[Step]:
        """A message is accepted; or completed at once, where it was before a restart."""
        message_id = self._sent_messages.on_lifecycle(line.command_uuid)
        if message_id is None:
            return
        if line.state == "started":
            self._sent_messages.accept(line.command_uuid)
            self._advance(Trigger.ACCEPT)
            # It names the message: shown here, in one write with its turn, it cannot be lost.
            yield Echo(message_id=message_id, native_id=line.command_uuid, source="daemon")
        elif line.state == "completed":
            was_accepted = self._sent_messages.complete(line.command_uuid)
            if not was_accepted and self._turn not in IN_TURN:
                yield from self._notices.status("not answered again", ANSWERED_BEFORE)
                yield EndTurn(outcome="interrupted")

    # --- The session ---

    def _system(self, line: native.AnySystem, subtype: str) -> Iterator[Step]:
        match line:
            case native.Init():
                yield from self._init(line)
            case native.StatusLine(permission_mode=str(mode)):
                yield Update(body=self._settings.report_mode(mode))
            case native.Task():
                yield from self._task(line, subtype)
            case native.CompactBoundary(compact_metadata={"post_tokens": tokens}):
                self._usage.compact(tokens)
                yield from self._notices.system(line, subtype)
            case native.NoEvent():
                return
            case _:
                yield from self._notices.system(line, subtype)

    def _init(self, line: native.Init) -> Iterator[Step]:
        self._advance(Trigger.BEGIN)
        if line.session_id is not None and line.session_id != self._native_id:
            self._native_id = line.session_id
            self._advance(Trigger.NAME)
            yield Bind(line.session_id)
        about = {"model": line.model, "version": line.claude_code_version}
        yield BeginTurn(metadata={name: value for name, value in about.items() if value})
        yield Update(body=self._settings.begin_turn(line.model, line.permission_mode, line.tools))
        for message_id in self._sent_messages.begin_turn(line.user_message_uuids):
            yield Delivered(message_id=message_id, echoed=True)
        yield from self._notices.mcp(line.mcp_servers)

    def _task(self, task: native.Task, subtype: str) -> Iterator[Step]:
        match subtype:
            case "task_started":
                yield from self._tasks.start(task)
            case "task_progress":
                yield from self._tasks.progress(task)
            case "task_updated":
                yield from self._tasks.update(task)
            case _:
                call_id = self._tasks.call_of(task.task_id)
                if call_id is not None:
                    yield from self._messages.finish(call_id)
                yield from self._tasks.end(task)
                self._tasks.forget(task.task_id)

    def _result(self, result: native.Result) -> Iterator[Step]:
        if self._turn in BEFORE_FIRST_TURN:
            if result.errors and self._conversation is not ConversationState.NEW:
                yield from self._resume_failed(turn_error(result))
                return
            # A message was interrupted, or failed, before Claude Code said anything about it.
            if (message_id := self._sent_messages.complete_first()) is not None:
                yield Delivered(message_id=message_id)
            self._advance(Trigger.FAIL)
        else:
            self._advance(Trigger.END)
        outcome = outcome_of(result)
        usage = self._usage.end_turn(result, is_interrupted=outcome == "interrupted")
        detached = self._tasks.detached_calls()
        is_completed = outcome == "completed"
        yield from self._with_reason(self._messages.end_turn(detached, is_completed=is_completed))
        self._tasks.end_turn()
        self._sent_messages.end_turn()
        if outcome == "failed" and not self._has_reported_error:
            yield turn_error(result)
        context = self._usage.context(result)
        if context is not None:
            yield Update(body=SessionUpdated(context=context))
        yield _end_of(result, outcome, usage)
        self._has_reported_error = self._is_interrupting = False

    def _resume_failed(self, why: Report) -> Iterator[Step]:
        """The process cannot resume the conversation, and ends; `on_close` adds its exit."""
        self._advance(Trigger.REFUSE)
        if self._conversation is ConversationState.MISSING:
            self._why_missing = why
        else:
            # The one before was killed before it had stored anything: nothing is lost.
            self._native_id = None
            yield Bind(None)
        yield from self._notices.status("resume.failed", why.message, status="failed")

    # --- Requests ---

    def _control_request(self, line: native.ControlRequest) -> Iterator[Step]:
        key, request = line.request_id, line.request
        if request.subtype == "hook_callback":
            yield _respond(key, {})
            yield from self._notices.status("hook", request.subtype)
        elif request.subtype != "can_use_tool":
            error = f"{request.subtype} is not supported here"
            response = {"subtype": "error", "request_id": key, "error": error}
            yield _line(type="control_response", response=response)
            yield from self._notices.unknown(msgspec.to_builtins(request))
        else:
            pending = requests.pending_request(request, self._directory)
            self._requests[key] = pending
            owner = self._tasks.owner(None, request.agent_id)
            question = requests.question(key, request, owner)
            yield question or requests.permission(key, request, pending.rule, owner)

    # --- The process ---

    def on_open(self, spec: Spec) -> Iterator[Step]:
        """Send nothing: Claude Code needs no handshake."""
        return iter(())

    def on_close(self, exit: Exit) -> Iterator[Step]:
        """Drop what belonged to the process that is gone."""
        if self._why_missing is not None:
            for message_id in self._sent_messages.pending():
                yield Delivered(message_id=message_id)
            yield msgspec.structs.replace(self._why_missing, details=exit.details)
            yield EndTurn(outcome="failed")
            yield EndSession(reason="error", message=self._why_missing.message, exit=exit)
        usage = self._usage.close()
        if usage is not None:
            yield Used(usage=usage)
        self._tasks = Tasks()
        for state in (self._messages, self._requests, self._sent_messages, self._settings):
            state.clear()
        self._advance(Trigger.EXIT)
        self._is_interrupting = self._has_reported_error = False


# --- The end of a turn ---

_END_FIELDS = ("num_turns", "duration_ms", "duration_api_ms", "terminal_reason", "origin",
               "local_command", "permission_denials")  # fmt: skip


def outcome_of(result: native.Result) -> Outcome:
    """Whether the turn was completed, interrupted, or failed."""
    reason = result.terminal_reason
    if reason is not None and reason.startswith("aborted"):
        return "interrupted"
    if result.subtype == "error_during_execution" and reason is None and not result.errors:
        return "interrupted"  # as versions before 2.1.300 report it
    has_failed = result.is_error or result.subtype != "success"
    return "failed" if has_failed else "completed"


def _end_of(result: native.Result, outcome: Outcome, usage: Usage | None) -> EndTurn:
    # 2.1.325 reports an API error as a message with a stop reason of its own, not of the model's.
    is_made_up = result.terminal_reason == "api_error" and result.stop_reason == "stop_sequence"
    fields = {name: getattr(result, name) for name in _END_FIELDS}
    return EndTurn(
        outcome=outcome,
        usage=usage,
        stop_reason=None if is_made_up else result.stop_reason,
        metadata={name: value for name, value in fields.items() if value not in (None, ())},
    )


# --- Lines to the agent ---


def _line(**message: Any) -> Send:
    return Send(msgspec.json.encode(message))


def _respond(key: str, response: dict[str, Any]) -> Send:
    answer = {"subtype": "success", "request_id": key, "response": response}
    return _line(type="control_response", response=answer)
