"""Claude Code's dialect: stream-json both ways, with the permission protocol on the same pipes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, assert_never

import msgspec

from dragoman.adapter import Spec
from dragoman.agents.claude import model, native, requests, system
from dragoman.agents.claude.delivery import Sent
from dragoman.agents.claude.items import Messages
from dragoman.agents.claude.launch import attached
from dragoman.agents.claude.notices import Notices
from dragoman.agents.claude.settings import Changes
from dragoman.agents.claude.subagents import Tasks
from dragoman.agents.claude.tools import Given, content_of, result_steps, text_of
from dragoman.agents.claude.usage import (
    Answers,
    Gauge,
    Meter,
    api_error,
    end_of,
    failure_of,
    outcome_of,
)
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

KNOWN = "Claude Code had this message before the daemon was restarted"
SYNTHETIC = "<synthetic>"
"""The model of what Claude Code says itself."""


class ClaudeConverter:
    """Speaks to one Claude Code process after another, for one session."""

    def __init__(self, spec: Spec) -> None:
        self._directory = spec.directory
        self._changes = Changes(spec)
        self._tasks = Tasks()
        self._messages = Messages(spec.directory)
        self._notices = Notices()
        self._meter = Meter()
        self._answers = Answers()
        self._asks: dict[str, requests.Ask] = {}
        self._sent = Sent()
        self._requests = 0
        self._native: str | None = None
        self._up = False
        """The process has begun a turn."""
        self._kept = spec.native_session_id is not None
        """A turn of this conversation is over, so Claude Code must have kept it."""
        self._lost: Report | None = None
        """Claude Code does not find the conversation, and says why."""
        self._in_turn = False
        self._interrupting = False
        self._said_why = False
        self._gauge = Gauge()

    # --- To the agent ---

    def command(self, command: Command) -> Iterator[Step]:
        """Translate what a person says."""
        match command:
            case Prompt():
                yield self._prompt(command)
            case Interrupt():
                self._interrupting = True
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
            message={"role": "user", "content": attached(prompt)},
            parent_tool_use_id=None,
            session_id="",
            uuid=self._sent.add(prompt.message_id, prompt.text),
        )

    def _request(self, **request: Any) -> Send:
        self._requests += 1
        return _line(
            type="control_request", request_id=f"dragoman_{self._requests}", request=request
        )

    def _answer(self, key: str, answer: AnswerPermission | AnswerQuestion) -> Send:
        ask = self._asks.pop(key, requests.NOTHING)
        if isinstance(answer, AnswerPermission):
            response = requests.permission_answer(ask, answer)
            if answer.updated_input is not None:
                self._messages.changed(ask.call_id, answer.updated_input)
        else:
            response = requests.question_answer(ask, answer)
        return _respond(key, response)

    def _configure(self, wanted: Configure) -> Iterator[Step]:
        for request, before in self._changes.wanted(wanted):
            yield self._request(**request)
            self._changes.sent(f"dragoman_{self._requests}", before)
        given = {name: value for name, value in msgspec.structs.asdict(wanted).items() if value}
        yield Update(body=SessionUpdated(**given))

    def steers(self) -> bool:
        """Whether a tool runs: what is sent then joins the turn after it."""
        return self._in_turn and any(call.main for call in self._messages.calls.values())

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
                yield from self._system(system.decode(message, subtype), subtype)
            case native.Result():
                yield from self._result(line)
            case native.ControlRequest():
                yield from self._asked(line)
            case native.ControlCancel(request_id=key):
                self._asks.pop(key, None)
                yield Withdraw(key=key, reason="interrupt" if self._interrupting else "agent")
            case native.ControlResponse(response=answer):
                yield from self._changes.answered(answer)
            case native.CommandLifecycle():
                yield from self._lifecycle(line)
            case native.ConversationReset(trigger=trigger):
                self._meter.reset()
                yield from self._notices.status("conversation.reset", trigger, opens=True)
            case native.RateLimit(rate_limit_info=info):
                yield Update(body=SessionUpdated(rate_limits=info))
            case native.KeepAlive() | native.ToolProgress():
                return
            case native.LooseStreamEvent(event=event):
                yield from self._notices.unknown(event)
            case model.Unmodelled(json=found):
                kind = found.get("type")
                yield Unparsed(error=f"unknown message type {kind!r}", location="claude")
            case _:
                assert_never(line)

    def _stream(self, line: native.StreamEvent) -> Iterator[Step]:
        if line.parent_tool_use_id is None:
            self._gauge.hear(line.event)
            self._answers.hear(line.event, interrupting=self._interrupting)
        owner = self._tasks.owner(line.parent_tool_use_id, line.agent_id)
        yield from self._explained(self._messages.stream(line, owner))

    def _assistant(self, line: native.Assistant) -> Iterator[Step]:
        if line.message.model == SYNTHETIC and (line.is_api_error_message or line.error):
            self._said_why = True
            yield api_error(line, text_of(content_of(line.message.content)))
            return
        if line.parent_tool_use_id is not None:
            self._answers.read(line.message)
        owner = self._tasks.owner(line.parent_tool_use_id, line.agent_id)
        yield from self._explained(self._messages.whole(line, owner))

    def _explained(self, steps: Iterator[Step]) -> Iterator[Step]:
        """The same steps; what a person has cut says so."""
        for step in steps:
            if self._interrupting and isinstance(step, CompleteItem) and step.status == "failed":
                yield msgspec.structs.replace(step, fields={**step.fields, "reason": "interrupted"})
            else:
                yield step

    # --- Under a person's role ---

    def _user(self, line: native.User) -> Iterator[Step]:
        content = line.message.content
        blocks = [] if isinstance(content, str) else [model.decode_block(raw) for raw in content]
        results = [block for block in blocks if isinstance(block, model.ToolResultBlock)]
        for result in results:
            yield from self._tool_result(line, result, alone=len(results) == 1)
        if results:
            return
        text = text_of(content_of(content))
        message_id = self._sent.repeated(line.uuid, text) if line.is_replay else None
        if message_id is not None:
            yield Echo(message_id=message_id, native_id=line.uuid, text=text)
        else:
            owner = self._tasks.owner(line.parent_tool_use_id, line.agent_id)
            yield from self._notices.said(text, line, owner)

    def _tool_result(
        self, line: native.User, block: model.ToolResultBlock, *, alone: bool
    ) -> Iterator[Step]:
        # A subagent that hands back has said its last; the one in the background goes on.
        if block.tool_use_id not in self._tasks.detached_calls():
            yield from self._messages.finish(block.tool_use_id)
        if line.parent_tool_use_id is not None:
            yield from self._messages.finish(line.parent_tool_use_id)
        call = self._messages.calls.pop(block.tool_use_id, None)
        about = [meta for meta in line.tool_result_meta or () if meta.id == block.tool_use_id]
        refused = about[0].refused if about else None
        yield from result_steps(
            Given(
                block=block,
                call=call,
                owner=call.owner
                if call
                else self._tasks.owner(line.parent_tool_use_id, line.agent_id),
                native_id=line.uuid,
                structured=line.tool_use_result if alone else None,
                refused="interrupted" if block.is_error and self._interrupting else refused,
                directory=self._directory,
            )
        )

    def _lifecycle(self, line: native.CommandLifecycle) -> Iterator[Step]:
        """What becomes of a message: taken up, or known already from before a restart."""
        message_id = self._sent.hear(line.command_uuid)
        if message_id is None:
            return
        if line.state == "started":
            self._sent.take(line.command_uuid)
            self._in_turn = True
            # It names the message: shown here, in one write with its turn, it cannot be lost.
            yield Echo(message_id=message_id, native_id=line.command_uuid, source="daemon")
        elif line.state == "completed":
            known_before = not self._sent.done(line.command_uuid)
            if known_before and not self._in_turn:
                yield from self._notices.status("not answered again", KNOWN)
                yield EndTurn(outcome="interrupted")

    # --- The session ---

    def _system(self, line: system.AnySystem, subtype: str) -> Iterator[Step]:
        match line:
            case system.Init():
                yield from self._init(line)
            case system.StatusLine(permission_mode=str(mode)):
                yield Update(body=self._changes.told(mode))
            case system.Task():
                yield from self._task(line, subtype)
            case system.Compacted(compact_metadata={"post_tokens": tokens}):
                self._gauge.compacted(tokens)
                yield from self._notices.system(line, subtype)
            case system.Quiet():
                return
            case _:
                yield from self._notices.system(line, subtype)

    def _init(self, line: system.Init) -> Iterator[Step]:
        self._in_turn = self._up = True
        if line.session_id is not None and line.session_id != self._native:
            self._native = line.session_id
            yield Bind(line.session_id)
        about = {"model": line.model, "version": line.claude_code_version}
        yield BeginTurn(metadata={name: value for name, value in about.items() if value})
        yield Update(body=self._changes.begun(line.model, line.permission_mode))
        for message_id in self._sent.begun(line.user_message_uuids):
            yield Delivered(message_id=message_id, echoed=True)
        yield from self._notices.mcp(line.mcp_servers)

    def _task(self, task: system.Task, subtype: str) -> Iterator[Step]:
        match subtype:
            case "task_started":
                yield from self._tasks.started(task)
            case "task_progress":
                yield from self._tasks.progressed(task)
            case "task_updated":
                yield from self._tasks.updated(task)
            case _:
                call_id = self._tasks.call_of(task.task_id)
                if call_id is not None:
                    yield from self._messages.finish(call_id)
                yield from self._tasks.ended(task)
                self._tasks.forget(task.task_id)

    def _result(self, result: native.Result) -> Iterator[Step]:
        if not self._up:
            if result.errors and (self._kept or self._native is not None):
                yield from self._refused(failure_of(result))
                return
            # It was interrupted, or failed, before Claude Code had said anything about it.
            if (message_id := self._sent.first()) is not None:
                yield Delivered(message_id=message_id)
        self._in_turn = False
        self._kept = self._kept or self._up
        cut = self._answers.cut() if outcome_of(result) == "interrupted" else ()
        end = end_of(result, self._meter.usage(result, cut))
        self._answers.clear()
        detached = self._tasks.detached_calls()
        completed = end.outcome == "completed"
        yield from self._explained(self._messages.turn_over(detached, completed=completed))
        self._tasks.turn_over()
        self._sent.turn_over()
        if end.outcome == "failed" and not self._said_why:
            yield failure_of(result)
        context = self._gauge.context(result)
        if context is not None:
            yield Update(body=SessionUpdated(context=context))
        yield end
        self._said_why = self._interrupting = False

    def _refused(self, why: Report) -> Iterator[Step]:
        """The process cannot go on where another stopped, and ends; how, is to be told too."""
        if self._kept:
            self._lost = why
        else:
            # That one was killed before it had written anything down: nothing is lost.
            self._native = None
            yield Bind(None)
        yield from self._notices.status("resume.failed", why.message, status="failed")

    # --- Requests ---

    def _asked(self, line: native.ControlRequest) -> Iterator[Step]:
        key, wanted = line.request_id, line.request
        if wanted.subtype == "hook_callback":
            yield _respond(key, {})
            yield from self._notices.status("hook", wanted.subtype)
        elif wanted.subtype != "can_use_tool":
            error = f"{wanted.subtype} is not supported here"
            response = {"subtype": "error", "request_id": key, "error": error}
            yield _line(type="control_response", response=response)
            yield from self._notices.unknown(msgspec.to_builtins(wanted))
        else:
            ask = self._asks[key] = requests.ask_of(wanted, self._directory)
            owner = self._tasks.owner(None, wanted.agent_id)
            question = requests.question(key, wanted, owner)
            yield question or requests.permission(key, wanted, ask.rule, owner)

    # --- The process ---

    def on_open(self, spec: Spec) -> Iterator[Step]:
        """Say nothing: Claude Code needs no greeting."""
        return iter(())

    def on_close(self, exit: Exit) -> Iterator[Step]:
        """Forget what belonged to the process that is gone."""
        if self._lost is not None:
            for message_id in self._sent.all():
                yield Delivered(message_id=message_id)
            yield msgspec.structs.replace(self._lost, details=exit.details)
            yield EndTurn(outcome="failed")
            yield EndSession(reason="error", message=self._lost.message, exit=exit)
        usage = self._answers.usage()
        if usage is not None:
            yield Used(usage=usage)
        self._messages.clear()
        self._tasks = Tasks()
        self._meter.reset()
        for known in (self._asks, self._sent, self._changes, self._answers):
            known.clear()
        self._up = self._in_turn = self._interrupting = self._said_why = False


def _line(**message: Any) -> Send:
    return Send(msgspec.json.encode(message))


def _respond(key: str, response: dict[str, Any]) -> Send:
    answer = {"subtype": "success", "request_id": key, "response": response}
    return _line(type="control_response", response=answer)
