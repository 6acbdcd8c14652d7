"""What OpenCode said while nobody heard it: read again after its event stream broke."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from dragoman.agents.opencode import native
from dragoman.agents.opencode.notices import not_taken
from dragoman.steps import EndSession, Report, Request, Step
from dragoman.wire.jsonrpc import Overdue, Reply, Result, RpcError

if TYPE_CHECKING:
    from dragoman.agents.opencode.convert import EventReader
    from dragoman.agents.opencode.state import Conversation

FEW, MOST = 20, 320
"""So many messages of a session are asked for; more, where nothing among them is known."""


class History:
    """Asks again: first for what was said, session by session, then how OpenCode stands now.

    One call follows the other, since answers come in any order.
    """

    def __init__(self, talk: Conversation, events: EventReader) -> None:
        self._talk = talk
        self._events = events
        self._read: set[str] = set()
        """The sessions whose messages were asked for since the stream broke."""
        self._subagents: set[str] = set()
        """The sessions of subagents that have worked since then."""
        self._is_idle = False
        """OpenCode did not work when it was asked last."""
        self._is_reading = False
        self._has_ended = False
        """The end of the turn was told while what it holds was still being read."""

    def begin(self) -> Iterator[Step]:
        """The stream was opened: where a session is, something may have been missed."""
        if self._talk.state.is_open:
            self._is_idle = False
            yield from self._look()

    def holds_end(self) -> bool:
        """Whether the end of the turn, which is told now, must wait for what is being read."""
        self._has_ended = self._is_reading
        return self._is_reading

    def _look(self) -> Iterator[Step]:
        self._is_reading, self._has_ended = True, False
        self._talk.messages.mark_gaps()
        self._read.clear()
        self._subagents.clear()
        yield from self._next()

    def _next(self) -> Iterator[Step]:
        yield from self._talk.sessions.begin_missed()
        # A subagent that has ended meanwhile is read all the same.
        self._subagents.update(self._talk.sessions.running)
        sessions = (self._talk.state.session_id, *sorted(self._subagents))
        session = next((each for each in sessions if each and each not in self._read), None)
        if session is not None:
            self._read.add(session)
            yield self._ask(session, FEW)
        else:
            yield self._talk.calls.get("/permission", "permissions")
            yield self._talk.calls.get("/question", "questions")
            yield self._talk.calls.get("/session/status", "status")

    def _ask(self, session: str, limit: int) -> Request:
        path = f"/session/{session}/message"
        return self._talk.calls.get(path, f"messages:{limit}.{session}", limit=limit)

    def on_reply(self, kind: str, about: str, reply: Reply) -> Iterator[Step]:
        """Translate what became of a call."""
        match kind:
            case "messages":
                limit, _, session = about.partition(".")
                yield from self._messages(session, int(limit), reply)
            case "permissions" if isinstance(reply, Result):
                yield from self._requests(reply.result, native.PermissionAsked)
            case "questions" if isinstance(reply, Result):
                yield from self._requests(reply.result, native.QuestionAsked)
            case "status":
                self._is_reading = False
                if isinstance(reply, Result):
                    yield from self._status(msgspec.json.decode(reply.result))
                elif self._has_ended:
                    yield from self._end_turn()

    # --- What was said ---

    def _messages(self, session: str, limit: int, reply: Reply) -> Iterator[Step]:
        if isinstance(reply, Result):
            messages = native.read_history(reply.result)
            if limit <= len(messages) < MOST and not any(map(self._is_known, messages)):
                yield self._ask(session, limit * 2)
                return
            for message in messages:
                yield from self._message(message)
            self._talk.messages.mark_gaps()
        elif self._talk.sessions.is_main(session) and _is_unknown(reply):
            yield EndSession(reason="completed")
            return
        yield from self._next()

    def _is_known(self, message: native.StoredMessage) -> bool:
        """Whether nothing before a message was missed."""
        return not self._talk.state.is_in_turn or self._talk.messages.knows(message.info.id)

    def _message(self, message: native.StoredMessage) -> Iterator[Step]:
        info = message.info
        if self._talk.messages.is_over(info.id):
            return
        if info.role == "user" or self._talk.state.is_in_turn:
            yield from self._events.message(replace(info, time=native.MessageTime(), error=None))
            for part in message.parts:
                yield from self._events.part(part)
            yield from self._events.message(info)

    # --- How OpenCode stands ---

    def _requests(
        self, body: bytes, kind: type[native.PermissionAsked | native.QuestionAsked]
    ) -> Iterator[Step]:
        for asked in native.read_requests(body, kind):
            if self._talk.sessions.knows(asked.session_id):
                yield from self._events.request(asked)
        yield from self._talk.requests.release(everything=True)

    def _status(self, busy: dict[str, object]) -> Iterator[Step]:
        for session in self._talk.sessions.running:
            if session not in busy:
                yield from self._talk.sessions.end(session)
        is_busy = self._talk.state.session_id in busy and not self._has_ended
        if not self._talk.state.is_in_turn or is_busy:
            self._is_idle = False
        elif not self._is_idle:
            # Its last words may be on their way: what is read from now on has all of them.
            self._is_idle = True
            yield from self._look()
        else:
            self._is_idle = False
            yield from self._end_turn()

    def _end_turn(self) -> Iterator[Step]:
        for message_id in self._talk.delivery.take_doubtful():
            yield from self._talk.refuse(message_id, not_taken(Overdue()))
        if self._talk.state.works:
            yield from self._talk.end_turn(self._talk.state.outcome)
        elif self._talk.state.is_in_turn and not self._talk.delivery.is_waiting:
            message = "OpenCode did not answer the message, and why was lost with its event stream"
            yield Report(message=message, code="no_answer")
            yield from self._talk.end_turn("failed")


def _is_unknown(reply: Reply) -> bool:
    return isinstance(reply, RpcError) and reply.code == 404
