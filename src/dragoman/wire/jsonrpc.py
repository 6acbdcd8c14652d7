"""A JSON-RPC peer over lines, without IO.

Each side numbers its own requests, so the two directions never share a table: an agent that
counts from 0 and one that copies our ids are both told apart from us. Its ids are kept as they
were written and go back byte for byte. A batch is not understood: no agent sends one.
"""

from __future__ import annotations

import itertools
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

from dragoman.wire.decode import decode

Tag = TypeVar("Tag")

METHOD_NOT_FOUND = -32601
_ABSENT = Raw(b"")
_NULL = b"null"
_EXACT = "surrogateescape"


class Result(Struct, frozen=True):
    """A request of ours has its result, as it was written."""

    result: bytes


class RpcError(Struct, frozen=True, kw_only=True):
    """An error in the place of a result: the agent's to us, or ours to it."""

    code: int = 0
    message: str = ""
    data: Any | None = None


class Overdue(Struct, frozen=True):
    """A request of ours was not answered in time."""


Reply = Result | RpcError | Overdue


class Notification(Struct, frozen=True):
    """A notification."""

    message: bytes


class IncomingRequest(Struct, frozen=True, kw_only=True):
    """A request of the agent; `key` is its id, as it was written."""

    key: str
    message: bytes


class Response(Struct, Generic[Tag], frozen=True, kw_only=True):
    """What became of a request of ours."""

    tag: Tag
    reply: Reply
    message: bytes | None = None
    """None: nothing was said, its time is over."""


class Stray(Struct, frozen=True, kw_only=True):
    """A line that is no JSON-RPC, or that answers nothing that we asked."""

    error: str
    message: bytes


class _Message(Struct, frozen=True):
    id: Raw = _ABSENT
    method: str | None = None
    result: Raw = _ABSENT
    error: Raw = _ABSENT


class _Pending(Struct, Generic[Tag], frozen=True):
    tag: Tag
    due: float | None


_envelope = msgspec.json.Decoder(_Message)
_text = msgspec.json.Decoder(str)
_refused = msgspec.json.Decoder(RpcError)


class Peer(Generic[Tag]):
    """Our end of one connection. `bare` leaves out the `jsonrpc` member."""

    def __init__(self, *, bare: bool = False) -> None:
        self._head: dict[str, Any] = {} if bare else {"jsonrpc": "2.0"}
        self._numbers = itertools.count(1)
        self._pending: dict[str, _Pending[Tag]] = {}
        self._open_requests: set[str] = set()

    # --- To the agent ---

    def request(self, method: str, params: Any, tag: Tag, due: float | None = None) -> bytes:
        """The line of a request; its reply comes under `tag`, or at `due` that there is none."""
        key = f"dragoman-{next(self._numbers)}"
        line = self._line({"id": key, "method": method}, params)
        self._pending[key] = _Pending(tag, due)
        return line

    def notify(self, method: str, params: Any) -> bytes:
        """The line of a notification."""
        return self._line({"method": method}, params)

    def respond(self, key: str, answer: Any | RpcError) -> bytes | None:
        """The line of our answer; None: nobody waits for it, or it was given before."""
        if key not in self._open_requests:
            return None
        said = {"error": _error(answer)} if isinstance(answer, RpcError) else {"result": answer}
        line = self._line({"id": Raw(key.encode(errors=_EXACT)), **said}, None)
        self._open_requests.remove(key)
        return line

    def _line(self, said: dict[str, Any], params: Any) -> bytes:
        about = {} if params is None else {"params": params}
        return msgspec.json.encode({**self._head, **said, **about})

    # --- From the agent ---

    def receive(self, line: bytes) -> Notification | IncomingRequest | Response[Tag] | Stray:
        """What a line means."""
        try:
            envelope = decode(line, _envelope)
        except msgspec.DecodeError as error:
            return Stray(error=str(error), message=line)
        if envelope.method is None:
            return self._reply(bytes(envelope.id), envelope, line)
        if not bytes(envelope.id):
            return Notification(line)
        return self._ask(key_of(envelope.id), line)

    def _ask(self, key: str, line: bytes) -> IncomingRequest | Stray:
        if key in self._open_requests:
            return Stray(error=f"a request with the id {key}, which is in use", message=line)
        self._open_requests.add(key)
        return IncomingRequest(key=key, message=line)

    def _reply(self, key: bytes, envelope: _Message, line: bytes) -> Response[Tag] | Stray:
        pending = self._pending.pop(_ours(key), None)
        if pending is None:
            what = f"a reply to {key.decode(errors='replace')}, which was not asked"
            return Stray(error=what if key else "no JSON-RPC message", message=line)
        reply = _reply_of(bytes(envelope.result), bytes(envelope.error))
        return Response(tag=pending.tag, reply=reply, message=line)

    # --- Time, and the end ---

    @property
    def next_due(self) -> float | None:
        """When the first request of ours is overdue."""
        return min((p.due for p in self._pending.values() if p.due is not None), default=None)

    def overdue(self, now: float) -> list[Response[Tag]]:
        """The requests whose time is over; a reply that comes later is a stray."""
        late = [key for key, p in self._pending.items() if p.due is not None and p.due <= now]
        return [Response(tag=self._pending.pop(key).tag, reply=Overdue()) for key in late]

    @property
    def unanswered(self) -> frozenset[str]:
        """The agent's requests that wait for our answer."""
        return frozenset(self._open_requests)


def key_of(id: Raw) -> str:
    """How a request of the agent is called, from its id: for converters, which see the line."""
    return bytes(id).decode(errors=_EXACT)


def _error(refused: RpcError) -> dict[str, Any]:
    data = {} if refused.data is None else {"data": refused.data}
    return {"code": refused.code, "message": refused.message, **data}


def _ours(key: bytes) -> str:
    try:
        return _text.decode(key)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""


def _reply_of(result: bytes, error: bytes) -> Reply:
    # Some write `"error": null` beside a result.
    if error in (b"", _NULL):
        return Result(result or _NULL)
    try:
        return _refused.decode(error)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return RpcError(message=error.decode(errors="replace"))
