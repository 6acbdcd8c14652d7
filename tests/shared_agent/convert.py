"""The shared's dialect: threads on one process, in JSON-RPC."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct

from dragoman.adapter import EVERYONE, Spec
from dragoman.facts import Exit
from dragoman.runtime.session.spec import update_of
from dragoman.schema.commands import AnswerPermission, Command, Configure, Interrupt, Prompt
from dragoman.schema.items import Status, Text
from dragoman.steps import (
    AskPermission,
    BeginTurn,
    Bind,
    Claim,
    CompleteItem,
    Delivered,
    Delta,
    EndSession,
    EndTurn,
    Notify,
    Report,
    Request,
    Resolve,
    Respond,
    StartItem,
    Step,
    Update,
    whole,
)
from dragoman.wire.jsonrpc import Overdue, Reply, Result, RpcError, key_of

DEADLINE_S = 1.0


class _About(Struct, frozen=True):
    threadId: str = ""
    parentId: str = ""


class _Routed(Struct):
    method: str = ""
    params: _About = _About()


class _Params(Struct, frozen=True):
    itemId: str = ""
    text: str = ""
    outcome: Literal["completed", "interrupted", "failed"] = "completed"


class _Said(Struct, tag_field="method"):
    params: _Params = _Params()


class TurnStarted(_Said, tag="turn/started"):
    pass


class TurnCompleted(_Said, tag="turn/completed"):
    pass


class Started(_Said, tag="item/started"):
    pass


class Piece(_Said, tag="item/delta"):
    pass


class Completed(_Said, tag="item/completed"):
    pass


class Greeted(_Said, tag="thread/greeted"):
    pass


class Rumour(_Said, tag="hall/rumour"):
    pass


class Approval(Struct, tag_field="method", tag="approval/ask"):
    id: Raw


_routed = msgspec.json.Decoder(_Routed)
_said = msgspec.json.Decoder(
    TurnStarted | TurnCompleted | Started | Piece | Completed | Greeted | Rumour | Approval
)


def delete_request(thread: str, for_good: bool) -> Request:
    """Whether the thread is needed again."""
    method = "thread/retire" if for_good else "thread/leave"
    return Request(method=method, params={"threadId": thread})


def route(message: bytes) -> tuple[str, ...]:
    """The thread, or else the one that it was started by; rumours are for all."""
    said = _routed.decode(message)
    about = said.params
    if said.method == "hall/rumour":
        return (EVERYONE,)
    return tuple(key for key in (about.threadId, about.parentId) if key)


class SharedAgentConverter:
    """One thread."""

    def __init__(self, spec: Spec) -> None:
        self._thread = spec.native_session_id
        self._open = False
        self._early: list[Prompt] = []

    def on_open(self, spec: Spec) -> Iterator[Step]:
        """Start a thread, or go on with one."""
        if self._thread is None:
            yield Request(method="thread/start", params={}, tag="open")
        else:
            yield Claim(self._thread)
            yield Request(method="thread/resume", params={"threadId": self._thread}, tag="open")

    def on_close(self, exit: Exit) -> Iterator[Step]:
        """Forget what was on its way."""
        self._open = False
        self._early.clear()
        return iter(())

    def steers(self) -> bool:
        """Say no."""
        return False

    def command(self, command: Command) -> Iterator[Step]:
        """Translate what a person says."""
        match command:
            case Prompt() if not self._open:
                self._early.append(command)
            case Prompt(message_id=message_id, text=text):
                yield Request(
                    method="turn/start",
                    params={"threadId": self._thread, "input": text},
                    tag=message_id,
                    deadline_s=DEADLINE_S if text.startswith(("mute", "late")) else 30.0,
                )
            case Interrupt():
                yield Request(
                    method="turn/interrupt", params={"threadId": self._thread}, tag="interrupt"
                )
            case AnswerPermission(key=key, reply=reply, message=message):
                yield Respond(key=key, result={"decision": reply, "message": message})
                yield Resolve(command=command)
            case Configure():
                yield Notify(method="configured")
                yield Update(body=update_of(command))

    def receive(self, message: bytes) -> Iterator[Step]:
        """Translate what the agent says."""
        said = _said.decode(message)
        if isinstance(said, Approval):
            yield AskPermission(key=key_of(said.id), action="sing")
            return
        about = said.params
        match said:
            case TurnStarted():
                yield BeginTurn()
            case TurnCompleted():
                yield EndTurn(outcome=about.outcome)
            case Started():
                yield StartItem(
                    key=about.itemId, kind="message", role="assistant", content=(Text(text=""),)
                )
            case Piece():
                yield Delta(about.itemId, about.text)
            case Completed():
                yield CompleteItem(key=about.itemId)
            case Greeted() | Rumour():
                parts = (Status(label="greeted", detail=about.text),)
                yield from whole(StartItem(key=about.itemId, kind="status", content=parts))

    def on_reply(self, tag: str, reply: Reply) -> Iterator[Step]:
        """Translate what became of a request."""
        if tag == "open":
            yield from self._opened(reply)
        elif tag.startswith("msg"):
            yield Delivered(message_id=tag)
            if not isinstance(reply, Result):
                yield Report(message=_why(reply), code="refused")
                yield EndTurn(outcome="failed")

    def _opened(self, reply: Reply) -> Iterator[Step]:
        early, self._early = self._early, []
        if isinstance(reply, Result):
            self._open = True
            self._thread = str(_value(reply)["threadId"])
            yield Bind(self._thread)
            yield Claim(self._thread)
            for prompt in early:
                yield from self.command(prompt)
        else:
            for prompt in early:
                yield Delivered(message_id=prompt.message_id)
            yield Report(message=_why(reply), code="not_opened")
            yield EndSession(reason="error", message=_why(reply))


class DedicatedConverter(SharedAgentConverter):
    """The same on a process of one's own, which one greets oneself."""

    def on_open(self, spec: Spec) -> Iterator[Step]:
        """Say hello first."""
        self._spec = spec
        yield Request(method="initialize", params={"client": "test"}, tag="hello")

    def on_reply(self, tag: str, reply: Reply) -> Iterator[Step]:
        """Go on where the shared begins."""
        if tag == "hello":
            yield Notify(method="initialized")
            yield from super().on_open(self._spec)
        else:
            yield from super().on_reply(tag, reply)


def _value(reply: Result) -> dict[str, Any]:
    value: dict[str, Any] = msgspec.json.decode(reply.result)
    return value


def _why(reply: RpcError | Overdue) -> str:
    return reply.message if isinstance(reply, RpcError) else "no answer in time"
