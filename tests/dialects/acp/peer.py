"""An agent that says what a test wants, at the other end of a session's interpreter."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec

from dragoman.adapter import Spec
from dragoman.core.daemon_events import draft
from dragoman.core.fold import SessionState
from dragoman.core.interpreter import Interpreter
from dragoman.dialects.acp.convert import AcpConverter
from dragoman.dialects.acp.ignored import IGNORED
from dragoman.dialects.acp.profile import Profile
from dragoman.facts import Exit
from dragoman.schema.commands import (
    AnswerPermission,
    AnswerQuestion,
    Command,
    PermissionReply,
    Prompt,
)
from dragoman.schema.events import (
    Approver,
    Draft,
    Event,
    PermissionRequested,
    SessionStarted,
    Stderr,
)
from dragoman.steps import Notify, Request, Respond
from dragoman.testing.conformance import check
from dragoman.testing.unaccounted import native_value
from dragoman.wire.jsonrpc import Reply, Result, RpcError

SPEC = Spec(session_id="s1", agent="agent", agent_mode="", directory="/project")
PERSON = Approver(token="default", scope="admin")
CAN_ALL: dict[str, Any] = {
    "loadSession": True,
    "promptCapabilities": {"image": True},
    "mcpCapabilities": {"http": True, "sse": True},
    "sessionCapabilities": {"list": {}, "resume": {}, "fork": {}},
}
GONE = Exit(code=0, signal=None, expected=False, stderr=Stderr(head="", truncated=False))


class Peer:
    """One session, as the daemon sees it, without a process."""

    def __init__(self, spec: Spec = SPEC, profile: Profile | None = None) -> None:
        self._spec = spec
        self._ids = itertools.count(1)
        self._keys = itertools.count(0)
        state = SessionState(agent_mode=spec.agent_mode, permission_mode=spec.permission_mode)
        self._state = state
        self._interpreter = Interpreter(
            spec.agent,
            AcpConverter(spec, profile or Profile(name="Agent")),
            state,
            lambda kind: f"{kind}_{next(self._ids)}",
            ignored=IGNORED,
        )
        self.events: list[Event] = []
        self.sent: list[Request | Notify | Respond] = []
        """What went to the agent."""
        self._due: list[Request] = []
        self._took([draft(SessionStarted(metadata={"agent": spec.agent}))])
        self._interpreter.on_open(spec)
        self._take()

    # --- A person ---

    def send(self, text: str = "Hi", **more: Any) -> None:
        """Send a message."""
        self.command(Prompt(message_id=f"msg_{next(self._ids)}", text=text, **more))

    def command(self, command: Command) -> None:
        """Tell the agent something."""
        for outputs in self._interpreter.command(command):
            self._took(outputs)

    def permit(self, key: str, reply: PermissionReply) -> None:
        """Answer a request for permission."""
        self.command(AnswerPermission(key=key, reply=reply, approver=PERSON))

    def answer(self, key: str, *answers: tuple[str, ...]) -> None:
        """Answer questions; without answers: say no."""
        self.command(AnswerQuestion(key=key, answers=answers or None, approver=PERSON))

    # --- The agent ---

    def says(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self._interpreter.receive(_line(method=method, params=params))
        self._take()

    def update(self, update: str, /, **about: Any) -> None:
        """Send an update of the session."""
        self.says("session/update", sessionId="n1", update={"sessionUpdate": update, **about})

    def chunk(self, text: str, kind: str = "agent_message_chunk", **about: Any) -> None:
        """Say a piece of a message."""
        self.update(kind, content={"type": "text", "text": text}, **about)

    def asks(self, method: str, **params: Any) -> str:
        """Send a request; its key."""
        key = str(next(self._keys))
        self._interpreter.on_request(key, _line(id=int(key), method=method, params=params))
        self._take()
        return key

    def replies(self, result: Any = None) -> None:
        """Answer the oldest request that waits."""
        self._reply(Result(msgspec.json.encode(result)), result=result)

    def refuses(self, code: int = -32603, message: str = "no", data: Any = None) -> None:
        """Refuse the oldest request that waits."""
        error = RpcError(code=code, message=message, data=data)
        self._reply(error, error=error)

    def _reply(self, reply: Reply, **about: Any) -> None:
        self._interpreter.on_reply(self._due.pop(0).tag, reply, _line(id="dragoman-1", **about))
        self._take()

    def exits(self) -> None:
        """The process is gone; the next one starts."""
        self._due.clear()
        self._interpreter.on_close(GONE, resumable=True)
        self._take()
        self._interpreter.on_open(self._spec)
        self._take()

    # --- On the way ---

    def open(self, can: dict[str, Any] = CAN_ALL, **result: Any) -> Peer:
        """Greet us, and open a session."""
        self.replies({"protocolVersion": 1, "agentCapabilities": can})
        self.replies({"sessionId": "n1", **result})
        return self

    def in_turn(self, text: str = "Hi", **result: Any) -> Peer:
        """Open a session, and take a message."""
        self.open(**result)
        self.send(text)
        return self

    def end(self, reason: str = "end_turn", **result: Any) -> None:
        """End the turn."""
        self.replies({"stopReason": reason, **result})

    # --- Reading ---

    @property
    def due(self) -> list[str]:
        """The methods of our requests that wait."""
        return [each.method for each in self._due]

    def last(self, method: str) -> Any:
        """What we said last with this method."""
        named = [each for each in self.sent if not isinstance(each, Respond)]
        return next(each.params for each in reversed(named) if each.method == method)

    def responses(self, key: str) -> list[Any]:
        """What we answered to a request, as often as we did."""
        return [
            each.result if each.error is None else each.error.code
            for each in self.sent
            if isinstance(each, Respond) and each.key == key
        ]

    def is_permission(self, key: str) -> bool:
        """Whether a request that waits asks for a permission."""
        found = next(each for each in self._interpreter.requests if each.key == key)
        return isinstance(found.body, PermissionRequested)

    def of_type(self, type: str) -> list[Any]:
        """The data of every event of a type."""
        return [msgspec.to_builtins(each.data) for each in self.events if each.type == type]

    def items(self, kind: str) -> list[Any]:
        """Completed items of a kind."""
        found = [each["item"] for each in self.of_type("item.completed")]
        return [each for each in found if each["kind"] == kind]

    def said(self) -> list[str]:
        """What the agent said, message by message."""
        return [
            part["text"]
            for item in self.items("message")
            for part in item["content"]
            if item["role"] == "assistant" and part["type"] == "text"
        ]

    def status(self, label: str) -> list[Any]:
        """The status items with this label."""
        found = self.items("status")
        return [each for each in found if each["content"][0].get("label") == label]

    def conforms(self) -> None:
        """The stream keeps its rules, and everything was understood."""
        broken = list(check(tuple(self.events), strict=True))
        assert not broken, broken

    def _take(self) -> None:
        self._took(self._interpreter.take())

    def _took(self, outputs: Any) -> None:
        for output in outputs:
            if isinstance(output, Draft):
                self._state.apply(output.body)
                self.events.append(_event(output, len(self.events) + 1))
            elif isinstance(output, Request | Notify | Respond):
                self.sent.append(output)
                if isinstance(output, Request):
                    self._due.append(output)


def _line(**members: Any) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", **members})


def _event(body: Draft, sequence: int) -> Event:
    return Event(
        event_id=f"evt_{sequence}",
        sequence=sequence,
        time=f"2026-01-01T00:00:00.{sequence:06}Z",
        session_id="s1",
        native_session_id=body.native_session_id,
        synthetic=body.source == "daemon",
        source=body.source,
        type=body.body.type,
        data=body.body,
        raw=None if body.raw is None else native_value(body.raw),
    )
