"""An agent's HTTP server as a peer over lines, without IO.

A call is a line that somebody carries out, `{"id":…,"method":"POST /session","params":…}`; what
becomes of it is a line, `{"id":…,"status":200,"body":…}`. Any other line is an event of the
server's stream, as the server wrote it.
"""

from __future__ import annotations

import itertools
from typing import Any, Generic, Protocol, TypeVar

import msgspec
from msgspec import Raw, Struct

from dragoman.wire.decode import decode
from dragoman.wire.jsonrpc import (
    IncomingRequest,
    Notification,
    Overdue,
    Reply,
    Response,
    Result,
    RpcError,
    Stray,
)

Tag = TypeVar("Tag")

NO_ANSWER = 0
"""The status of a call that nobody answered."""
_PREFIX = "dragoman-"
_ABSENT = Raw(b"")


class Endpoint(Protocol[Tag]):
    """Our end of a wire on which requests have replies: JSON-RPC, or HTTP."""

    def request(self, method: str, params: Any, tag: Tag, due: float | None = None) -> bytes:
        """The line of a request; its reply comes under `tag`, or at `due` that there is none."""

    def notify(self, method: str, params: Any) -> bytes:
        """The line of a notification."""

    def respond(self, key: str, answer: Any | RpcError) -> bytes | None:
        """The line of our answer; None: nobody waits for it, or it was given before."""

    def receive(self, line: bytes) -> Notification | IncomingRequest | Response[Tag] | Stray:
        """What a line means."""

    def overdue(self, now: float) -> list[Response[Tag]]:
        """The requests whose time is over; a reply that comes later is a stray."""


class Call(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call that is to be carried out."""

    id: str
    method: str
    """The verb and the path with its query: `POST /session?directory=%2Fwork`."""
    params: Any = None
    """The body, as JSON; None: there is none."""

    @property
    def verb(self) -> str:
        """`GET` and the like."""
        return self.method.partition(" ")[0]

    @property
    def target(self) -> str:
        """The path, with its query."""
        return self.method.partition(" ")[2]


class _CallAnswer(Struct, frozen=True):
    id: str | None = None
    status: int | None = None
    body: Raw = _ABSENT


class _PendingCall(Struct, Generic[Tag], frozen=True):
    tag: Tag
    due: float | None


_call = msgspec.json.Decoder(Call)
_answer = msgspec.json.Decoder(_CallAnswer)


def call_in(line: bytes) -> Call:
    """The call in a line. Raise only msgspec errors."""
    return decode(line, _call)


def answer_line(id: str, status: int, body: bytes) -> bytes:
    """The line of an answer; a body that is no JSON is a string in it."""
    try:
        msgspec.json.decode(body)
        value = Raw(body.replace(b"\n", b" ").replace(b"\r", b" "))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = Raw(msgspec.json.encode(body.decode(errors="replace")) if body else b"null")
    return msgspec.json.encode({"id": id, "status": status, "body": value})


class HttpCaller(Generic[Tag]):
    """Our end: numbers the calls, and knows whose answer comes."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._pending: dict[str, _PendingCall[Tag]] = {}

    def request(self, method: str, params: Any, tag: Tag, due: float | None = None) -> bytes:
        """The line of a call; its answer comes under `tag`, or at `due` that there is none."""
        line, id = self._line(method, params)
        self._pending[id] = _PendingCall(tag, due)
        return line

    def notify(self, method: str, params: Any) -> bytes:
        """The line of a call whose answer nobody waits for."""
        return self._line(method, params)[0]

    def respond(self, key: str, answer: Any | RpcError) -> bytes | None:
        """Say nothing: over HTTP an agent asks by an event, and a call answers it."""
        return None

    def _line(self, method: str, params: Any) -> tuple[bytes, str]:
        id = f"{_PREFIX}{next(self._numbers)}"
        return msgspec.json.encode(Call(id=id, method=method, params=params)), id

    def receive(self, line: bytes) -> Notification | IncomingRequest | Response[Tag] | Stray:
        """What a line means."""
        try:
            answer = decode(line, _answer)
        except msgspec.DecodeError:
            return Notification(line)  # whoever routes events says what is wrong with it
        if answer.status is None or answer.id is None or not answer.id.startswith(_PREFIX):
            return Notification(line)
        pending = self._pending.pop(answer.id, None)
        if pending is None:
            return Stray(error=f"an answer to {answer.id}, which nobody waits for", message=line)
        return Response(tag=pending.tag, reply=_reply_of(answer), message=line)

    def overdue(self, now: float) -> list[Response[Tag]]:
        """The calls whose time is over; an answer that comes later is a stray."""
        late = [id for id, p in self._pending.items() if p.due is not None and p.due <= now]
        return [Response(tag=self._pending.pop(id).tag, reply=Overdue()) for id in late]


def _reply_of(answer: _CallAnswer) -> Reply:
    status, body = answer.status or NO_ANSWER, bytes(answer.body) or b"null"
    if 200 <= status < 300:
        return Result(body)
    value = msgspec.json.decode(body)
    return RpcError(code=status, message=_message_in(value, status), data=value)


def _message_in(value: Any, status: int) -> str:
    """What went wrong, wherever the server says it."""
    match value:
        case {"data": {"message": str(message)}} | {"message": str(message)}:
            return message
        case str(message) if message:
            return message
        case {"name": str(name)} | {"_tag": str(name)}:
            return name
        case _:
            return f"HTTP {status}"
