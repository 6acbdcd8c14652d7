"""What an agent's extension can do in its session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dragoman.dialects.acp.items import Messages
from dragoman.dialects.acp.notices import Notices
from dragoman.dialects.acp.profile import OwnRequest
from dragoman.dialects.acp.requests import PendingRequests
from dragoman.dialects.acp.state import Conversation, Phase
from dragoman.dialects.acp.subagents import Subagents
from dragoman.dialects.acp.tools import ToolCalls
from dragoman.schema.events import Outcome, Question, Usage
from dragoman.schema.items import ItemStatus
from dragoman.steps import EndTurn, Respond, Step


class ExtensionAccess:
    """Implements `SessionAccess` on the parts of a converter."""

    def __init__(
        self,
        state: Conversation,
        messages: Messages,
        tools: ToolCalls,
        subagents: Subagents,
        requests: PendingRequests,
        notices: Notices,
        end_turn: Callable[[EndTurn], Iterator[Step]],
    ) -> None:
        self._state = state
        self._messages = messages
        self._tools = tools
        self._subagents = subagents
        self._requests = requests
        self._notices = notices
        self._end_turn = end_turn

    @property
    def is_open(self) -> bool:
        """Whether the session is open: what came before was a repetition."""
        return self._state.is_open

    def is_main(self, session_id: str) -> bool:
        """Whether a session is the agent's own."""
        return session_id in ("", self._state.session_id)

    def status(
        self, label: str, detail: str | None, about: Any = None, status: ItemStatus = "completed"
    ) -> Iterator[Step]:
        """Show a status item."""
        return self._notices.status(label, detail, about, status)

    @property
    def in_own_turn(self) -> bool:
        """Whether a turn runs that the agent has begun."""
        return self._state.phase is Phase.OWN_TURN

    def withdraw(self, call_id: str | None) -> Iterator[Step]:
        """A tool call waits for a person no longer."""
        return self._requests.withdraw_call(call_id)

    def ask(self, key: str, questions: tuple[Question, ...], request: OwnRequest) -> Iterator[Step]:
        """Ask questions; the agent itself is answered at once when its turn is stopped."""
        subagent = self._subagents.of_call(request.call_id or "")
        if subagent is not None:
            yield from self._requests.own(key, questions, request, subagent.tools)
        elif not self._state.in_turn or self._state.is_interrupting:
            yield Respond(key=key, result=request.cancelled)
            yield from self._notices.status("refused", questions[0].prompt, status="failed")
        else:
            yield from self._state.confirm()
            yield from self._requests.own(key, questions, request, self._tools)

    def stream_call(self, session_id: str, call_id: str, name: str, piece: str) -> Iterator[Step]:
        """The model writes the arguments of a call; between turns, only a subagent's does."""
        subagent = self._subagents.get(session_id)
        tools = self._tools if subagent is None else subagent.tools
        messages = self._messages if subagent is None else subagent.messages
        if subagent is None and not self._state.in_turn:
            return
        if subagent is None:
            yield from self._state.confirm()
        if tools.is_new(call_id):
            yield from messages.cut()
        yield from tools.stream(call_id, name, piece, in_turn=self._state.in_turn)

    def hear(self, session_id: str) -> Iterator[Step]:
        """The agent has the message that it was sent."""
        if self.is_main(session_id):
            yield from self._state.deliver()

    def retract(self, session_id: str) -> Iterator[Step]:
        """What the model has said of an answer is void: it is asked again."""
        subagent = self._subagents.get(session_id)
        yield from (self._messages if subagent is None else subagent.messages).retract()
        yield from (self._tools if subagent is None else subagent.tools).retract()

    def begin_subagent(
        self, session_id: str, call_id: str | None, title: str | None
    ) -> Iterator[Step]:
        """A subagent works, for a call, in a session of its own."""
        return self._subagents.begin(session_id, call_id, title)

    def end_subagent(
        self, session_id: str, status: ItemStatus, reason: str | None
    ) -> Iterator[Step]:
        """A subagent has stopped working."""
        yield from self._requests.withdraw(session_id)
        yield from self._subagents.end(session_id, status, reason)

    def end_own_turn(
        self, outcome: Outcome, usage: Usage | None, stop_reason: str
    ) -> Iterator[Step]:
        """End the turn, if the agent has begun it."""
        if self._state.phase is Phase.OWN_TURN:
            yield from self._end_turn(
                EndTurn(outcome=outcome, usage=usage, stop_reason=stop_reason)
            )
