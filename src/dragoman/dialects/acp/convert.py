"""The converter: dispatch of commands, updates and requests, from the greeting to the last turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import assert_never

import msgspec
from msgspec import UNSET

from dragoman.adapter import Spec
from dragoman.dialects.acp import launch, native, notices
from dragoman.dialects.acp.access import ExtensionAccess
from dragoman.dialects.acp.items import Messages
from dragoman.dialects.acp.notices import Notices
from dragoman.dialects.acp.opening import SessionOpening
from dragoman.dialects.acp.owner import MAIN, Owner
from dragoman.dialects.acp.profile import Profile
from dragoman.dialects.acp.requests import PendingRequests
from dragoman.dialects.acp.services import ClientServices
from dragoman.dialects.acp.settings import SessionSettings
from dragoman.dialects.acp.state import Conversation, Phase, Trigger
from dragoman.dialects.acp.subagents import Subagents
from dragoman.dialects.acp.terminals import Terminals
from dragoman.dialects.acp.tools import ToolCalls
from dragoman.dialects.acp.usage import UsageMeter
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
from dragoman.services import ServiceEvent
from dragoman.steps import (
    BeginTurn,
    Delivered,
    Echo,
    EndTurn,
    Notify,
    Report,
    Request,
    Respond,
    Step,
    Unparsed,
    Update,
)
from dragoman.wire.jsonrpc import METHOD_NOT_FOUND, Reply, Result, RpcError, key_of

ALREADY_DELIVERED = "the agent had this message before it was stopped; it is not sent again"
_OUTCOMES: dict[str, Outcome] = {"end_turn": "completed", "cancelled": "interrupted"}
_FAILURES = {
    "max_tokens": "the answer was longer than the model may write",
    "max_turn_requests": "the turn took more requests to the model than the agent allows",
    "refusal": "the model refused to go on",
}
_CONTENT = (
    native.UserChunk, native.AgentChunk, native.ThoughtChunk, native.ToolUpdate, native.PlanUpdate,
    native.PlanContentUpdate, native.PlanRemoval,
)  # fmt: skip
"""Updates that are part of the history, and repeated when a session is loaded."""
_BEGINNINGS = (native.AgentChunk, native.ThoughtChunk, native.ToolStart)
"""Updates by which an agent begins a turn by itself."""


class AcpConverter:
    """A session with an agent that speaks ACP."""

    def __init__(self, spec: Spec, profile: Profile) -> None:
        self._extension = profile.extension(spec)
        self._subagent_sessions = profile.subagent_sessions
        self._message_meta = profile.message_meta
        self._state = Conversation(spec, reads_history=profile.reads_history)
        self._settings = SessionSettings(spec, profile)

        terminals = Terminals()

        def tools_of(owner: Owner) -> ToolCalls:
            return ToolCalls(spec.directory, spec.mcp, self._extension.tool_name, terminals, owner)

        self._messages = Messages()
        self._tools = tools_of(MAIN)
        self._subagents = Subagents(tools_of)
        self._requests = PendingRequests(self._tools, self._extension)
        self._usage = UsageMeter()
        self._notices = Notices()
        self._services = ClientServices(
            spec, profile, self._state, self._messages, self._tools, terminals, self._notices
        )
        self._opening = SessionOpening(
            spec, profile, self._state, self._settings, self._notices, self._extension
        )
        self._access = ExtensionAccess(
            self._state, self._messages, self._tools, self._subagents, self._requests,
            self._notices, self._end_turn,
        )  # fmt: skip

    def steers(self) -> bool:
        """Say no: the protocol has no word for it."""
        return False

    # --- To the agent ---

    def command(self, command: Command) -> Iterator[Step]:
        """Translate what a person says."""
        match command:
            case Prompt():
                self._state.queue.append(command)
                yield from self._opening.open_again()
                yield from self._send_next()
            case Interrupt():
                yield from self._interrupt()
            case AnswerPermission() | AnswerQuestion():
                own = self._services.answer(command)
                yield from self._requests.answer(command) if own is None else own
            case Configure():
                yield from self._configure(command)
            case _:
                assert_never(command)

    def _send_next(self) -> Iterator[Step]:
        """Begin a turn. The protocol has no word that an agent has a message, so one counts as
        delivered when it is sent, and is never sent twice; unless the agent has such a word."""
        if self._state.phase is not Phase.OPEN or self._opening.is_switching:
            return
        if not self._extension.is_ready():
            return
        if not self._state.queue:
            return
        prompt = self._state.queue.pop(0)
        if self._extension.has_message(prompt.message_id):
            yield from self._skip(prompt)
            return
        self._state.trigger(Trigger.SEND)
        self._state.is_interrupting = False
        blocks = launch.prompt_blocks(prompt, self._state.capabilities.prompt_capabilities)
        self._state.sent_id = prompt.message_id
        if self._message_meta is None:
            yield from self._state.deliver()
            yield self._request("session/prompt", "prompt", prompt=blocks)
        else:
            meta = self._message_meta(prompt.message_id)
            yield self._request("session/prompt", "prompt", prompt=blocks, _meta=meta)

    def _skip(self, prompt: Prompt) -> Iterator[Step]:
        """A message that the agent had is not answered again: what became of it is not known."""
        yield Delivered(message_id=prompt.message_id)
        yield BeginTurn()
        yield from self._notices.status("not answered again", ALREADY_DELIVERED)
        yield EndTurn(outcome="interrupted")
        yield from self._send_next()

    def _request(self, method: str, tag: str, **params: object) -> Request:
        about = {"sessionId": self._state.session_id, **params}
        return Request(method=method, params=about, tag=tag, deadline_s=None)

    def _interrupt(self) -> Iterator[Step]:
        """Stop the turn; one whose message still waits for the session never begins."""
        if self._state.in_turn:
            self._state.is_interrupting = True
            self._tools.interrupt()
            yield from self._requests.cancel()
            yield Notify(method="session/cancel", params={"sessionId": self._state.session_id})
            # Not before: an agent may take a refusal for the end of its work, and end the turn.
            yield from self._services.cancel()
        elif self._state.queue:
            for prompt in self._state.take_queue():
                yield Delivered(message_id=prompt.message_id)
            yield EndTurn(outcome="interrupted")

    def _configure(self, command: Configure) -> Iterator[Step]:
        self._settings.configure(command)
        if command.permission_mode is not None:
            yield Update(body=SessionUpdated(permission_mode=command.permission_mode))
        # Told again by the agent when it has taken it, or has not.
        yield Update(
            body=SessionUpdated(
                model=command.model or UNSET,
                variant=command.variant or UNSET,
                mode=command.mode or UNSET,
            )
        )
        if command.permission_mode is not None:
            yield from self._opening.set_permission()
        if self._state.is_open:
            yield from self._opening.next_switch()

    # --- Replies ---

    def on_reply(self, tag: str, reply: Reply) -> Iterator[Step]:
        """Translate the reply to a request."""
        if tag != "prompt":
            yield from self._opening.on_reply(tag, reply)
            yield from self._send_next()
        elif isinstance(reply, Result):
            yield from self._on_turn_end(native.result_of(reply, native.PromptResult))
        else:
            yield from self._on_turn_error(reply)

    # --- From the agent ---

    def receive(self, message: bytes) -> Iterator[Step]:
        """Translate what the agent says. Raise only msgspec errors, and only before a step."""
        envelope = native.envelope_of(message)
        match envelope.method:
            case "session/update":
                params = native.params_of(envelope, native.UpdateParams)
                return self._on_update(native.update_of(params.update), params)
            case "session/request_permission" if envelope.key is not None:
                asked = native.params_of(envelope, native.PermissionParams)
                return self._on_permission(envelope.key, asked)
            case "elicitation/create" if envelope.key is not None:
                form = native.params_of(envelope, native.ElicitationParams)
                return self._requests.elicitation(envelope.key, form)
            case "elicitation/complete":
                done = native.params_of(envelope, native.ElicitationComplete)
                return self._requests.visited(done.elicitation_id)
            case "$/cancel_request":
                taken = native.params_of(envelope, native.CancelParams)
                return self._on_cancelled(key_of(taken.request_id))
            case _:
                return self._services.receive(envelope) or self._on_other(envelope)

    def _on_cancelled(self, key: str) -> Iterator[Step]:
        yield from self._requests.cancelled(key)
        yield from self._services.cancelled(key)

    def on_service(self, event: ServiceEvent) -> Iterator[Step]:
        """Translate what became of a file or a terminal that the agent asked for."""
        return self._services.on_service(event)

    def _on_update(
        self, update: native.SessionUpdate, params: native.UpdateParams
    ) -> Iterator[Step]:
        is_replay = self._state.phase in (Phase.OPENING, Phase.SETTING)
        is_content = isinstance(update, _CONTENT)
        if is_content and (self._extension.is_replay(params.meta) or is_replay):
            return
        if self._is_subagents(params.session_id):
            yield from self._on_subagent(params.session_id, update)
            return
        if is_content:
            yield from self._on_content(update, self._extension.turn_id(params.meta))
            return
        match update:
            case native.CommandsUpdate(available_commands=commands):
                yield from self._notices.commands(commands)
            case native.ModeUpdate(current_mode_id=mode):
                yield Update(body=self._settings.on_mode(mode))
            case native.OptionsUpdate(config_options=options):
                yield Update(body=self._settings.on_options(native.options_of(options)))
            case native.InfoUpdate(title=title):
                if title is not None:
                    yield Update(body=SessionUpdated(title=title))
            case native.UsageUpdate():
                if (body := self._usage.update(update)) is not None:
                    yield Update(body=body)
            case native.UnknownUpdate(kind=kind):
                yield Unparsed(error=f"an unknown kind of update: {kind!r}", location="acp")

    def _on_content(self, update: native.SessionUpdate, turn_id: str | None) -> Iterator[Step]:
        if isinstance(update, _BEGINNINGS) and self._state.is_new_turn(turn_id):
            self._state.trigger(Trigger.BEGIN)
            yield BeginTurn()
        in_turn = self._state.in_turn
        if in_turn:
            self._state.turn_id = turn_id or self._state.turn_id
            yield from self._state.confirm()
        match update:
            case native.AgentChunk() | native.ThoughtChunk() if not in_turn:
                yield from self._messages.late(update)
            case native.AgentChunk():
                self._usage.request(update.meta)
                yield from self._messages.chunk("message", update)
            case native.ThoughtChunk():
                yield from self._messages.chunk("thought", update)
            case native.ToolUpdate(tool_call_id=call_id):
                if self._tools.is_new(call_id):
                    yield from self._messages.cut()
                yield from self._tools.update(self._extension.tool(update), in_turn=in_turn)
            case native.PlanUpdate(entries=entries):
                yield from self._notices.plan(entries)
            case native.PlanContentUpdate(plan=plan):
                yield from self._notices.status("plan", None, plan)
            case native.PlanRemoval(plan_id=plan_id):
                yield from self._notices.status("plan_removed", None, {"id": plan_id})
            case native.UserChunk():
                yield from self._on_user_chunk(update)

    def _is_subagents(self, session_id: str) -> bool:
        own = ("", self._state.session_id)
        return self._subagent_sessions and self._state.is_open and session_id not in own

    def _on_subagent(self, session_id: str, update: native.SessionUpdate) -> Iterator[Step]:
        """What a subagent says and does. Its commands, title and settings are nobody's concern,
        and what it is asked stands in the call that started it."""
        if self._subagents.get(session_id) is None and isinstance(update, _BEGINNINGS):
            yield from self._subagents.begin(session_id, None, None)
        subagent = self._subagents.get(session_id)
        if subagent is None or not subagent.is_running:
            return
        match update:
            case native.AgentChunk():
                yield from subagent.messages.chunk("message", update)
            case native.ThoughtChunk():
                yield from subagent.messages.chunk("thought", update)
            case native.ToolUpdate(tool_call_id=call_id):
                if subagent.tools.is_new(call_id):
                    yield from subagent.messages.cut()
                yield from subagent.tools.update(self._extension.tool(update), in_turn=False)

    def _on_user_chunk(self, chunk: native.UserChunk) -> Iterator[Step]:
        """What people said is shown as they said it; what they did not say is the agent's."""
        if not self._state.in_turn:
            block = native.block_of(chunk.content)
            text = block.text if isinstance(block, native.TextBlock) else ""
            yield Echo(message_id=None, native_id=chunk.message_id, text=text)

    def _on_permission(self, key: str, params: native.PermissionParams) -> Iterator[Step]:
        in_turn = self._state.in_turn
        call = msgspec.structs.replace(params, tool_call=self._extension.tool(params.tool_call))
        subagent = self._subagents.of_call(params.tool_call.tool_call_id)
        if subagent is not None:
            yield from subagent.tools.announce(call.tool_call, in_turn=False)
            yield from self._requests.permission(key, call, subagent.tools)
            return
        if not in_turn or self._state.is_interrupting:
            # Nobody is asked any more: between turns nothing would ever end the request.
            yield Respond(key=key, result={"outcome": {"outcome": "cancelled"}})
            title = params.tool_call.title
            yield from self._notices.status("refused", title, status="failed")
            return
        yield from self._state.confirm()
        if self._tools.is_new(params.tool_call.tool_call_id):
            yield from self._messages.cut()
        yield from self._tools.announce(call.tool_call, in_turn=in_turn)
        yield from self._requests.permission(key, call, self._tools)

    def _on_other(self, message: native.Envelope) -> Iterator[Step]:
        """A method of the agent's own, or one that is not offered."""
        own = self._extension.receive(message, self._access)
        if own is not None:
            yield from own
            yield from self._send_next()
        elif message.key is not None:
            error = RpcError(code=METHOD_NOT_FOUND, message=f"{message.method} is not offered here")
            yield Respond(key=message.key, error=error)
            yield from self._notices.refused(message.method)
        else:
            # By the protocol it begins with `_`; Qwen Code (0.24.4) has some that do not.
            yield from self._notices.extension(message)

    # --- The end of a turn ---

    def _on_turn_end(self, result: native.PromptResult) -> Iterator[Step]:
        yield from self._state.confirm()
        reason = result.stop_reason
        outcome = _OUTCOMES.get(reason, "failed")
        if outcome == "failed":
            message = _FAILURES.get(reason, f"the turn ended with {reason!r}")
            yield Report(message=message, code=reason)
        usage = self._extension.usage(result.meta) or self._usage.end_turn(result.usage)
        if (context := self._extension.context(result.meta)) is not None:
            yield Update(body=SessionUpdated(context=context))
        self._state.turn_id = self._extension.turn_id(result.meta) or self._state.turn_id
        yield from self._end_turn(EndTurn(outcome=outcome, usage=usage, stop_reason=reason))

    def _on_turn_error(self, reply: Reply) -> Iterator[Step]:
        """Some agents answer a turn that was stopped with an error."""
        yield from self._state.deliver()
        usage = self._extension.usage(None) or self._usage.end_turn(None)
        if self._state.is_interrupting:
            yield from self._end_turn(EndTurn(outcome="interrupted", usage=usage))
        else:
            yield notices.failure(reply)
            yield from self._end_turn(EndTurn(outcome="failed", usage=usage))

    def _end_turn(self, end: EndTurn) -> Iterator[Step]:
        if end.outcome == "completed":
            yield from self._messages.cut()
        yield from self._requests.cancel()
        is_interrupted = end.outcome == "interrupted" or self._state.is_interrupting
        yield from self._services.end_turn(is_interrupted=is_interrupted)
        yield end
        self._messages.forget()
        self._tools.end_turn()
        self._extension.end_turn()
        self._state.is_interrupting = False
        self._state.trigger(Trigger.TURN_END)
        yield from self._opening.next_switch()
        yield from self._send_next()

    # --- The process ---

    def on_open(self, spec: Spec) -> Iterator[Step]:
        """Greet a process that has just started."""
        yield from self._opening.greet(spec)

    def on_close(self, exit: Exit) -> Iterator[Step]:
        """Forget what belonged to the process."""
        yield from self._services.close()
        self._state.close()
        self._opening.reset()
        self._messages.forget()
        self._tools.reset()
        self._subagents.reset()
        self._requests.reset()
        self._usage.reset()
        self._notices.reset()
        self._extension.end_turn()
        self._extension.reset()


def converter_of(profile: Profile) -> Callable[[Spec], AcpConverter]:
    """Makes the converters of an agent."""
    return lambda spec: AcpConverter(spec, profile)
