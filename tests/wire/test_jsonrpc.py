"""A JSON-RPC peer: every request has one reply, in either direction, whoever numbers how."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dragoman.wire.jsonrpc import (
    METHOD_NOT_FOUND,
    IncomingRequest,
    Notification,
    Overdue,
    Peer,
    Response,
    Result,
    RpcError,
    Stray,
    key_of,
)

IDS = st.one_of(
    st.integers(),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.from_regex(r"dragoman-[1-9]", fullmatch=True),
    st.none(),
    st.floats(allow_nan=False, allow_infinity=False),
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=5,
)


def line(**members: Any) -> bytes:
    return json.dumps(members).encode()


@pytest.mark.parametrize("bare", [False, True])
def test_a_request_is_answered_under_its_tag(bare: bool) -> None:
    peer: Peer[str] = Peer(bare=bare)
    sent = json.loads(peer.request("start", {"a": 1}, "tag"))
    assert ("jsonrpc" in sent) is not bare
    assert (sent["method"], sent["params"]) == ("start", {"a": 1})
    assert isinstance(sent["id"], str)
    reply = line(id=sent["id"], result={"b": [1, 2]})
    heard = peer.receive(reply)
    assert heard == Response(tag="tag", reply=Result(b'{"b": [1, 2]}'), message=reply)


def test_params_are_left_out_where_there_are_none() -> None:
    peer: Peer[str] = Peer()
    assert peer.notify("ready", None) == b'{"jsonrpc":"2.0","method":"ready"}'
    assert b"params" not in peer.request("ready", None, "t")


@pytest.mark.parametrize(
    ("error", "refused"),
    [
        ({"code": -32600, "message": "no"}, RpcError(code=-32600, message="no")),
        ({"code": 1, "message": "m", "data": [1]}, RpcError(code=1, message="m", data=[1])),
        ({}, RpcError()),
        ("plain words", RpcError(message='"plain words"')),
        ({"code": "odd"}, RpcError(message='{"code": "odd"}')),
    ],
)
def test_an_error_is_a_reply_in_whatever_shape(error: Any, refused: RpcError) -> None:
    peer: Peer[str] = Peer()
    key = json.loads(peer.request("start", None, "tag"))["id"]
    heard = peer.receive(line(id=key, error=error))
    assert isinstance(heard, Response)
    assert heard.reply == refused


def test_an_error_of_null_beside_a_result_is_none() -> None:
    peer: Peer[str] = Peer()
    key = json.loads(peer.request("start", None, "tag"))["id"]
    heard = peer.receive(line(id=key, result=7, error=None))
    assert isinstance(heard, Response)
    assert heard.reply == Result(b"7")


def test_a_reply_comes_once_and_another_is_a_stray() -> None:
    peer: Peer[str] = Peer()
    key = json.loads(peer.request("start", None, "tag"))["id"]
    assert isinstance(peer.receive(line(id=key, result=1)), Response)
    assert isinstance(peer.receive(line(id=key, result=1)), Stray)


def test_what_is_overdue_is_told_once_and_a_late_reply_is_a_stray() -> None:
    peer: Peer[str] = Peer()
    key = json.loads(peer.request("slow", None, "slow", due=5.0))["id"]
    peer.request("patient", None, "patient")
    peer.request("slower", None, "slower", due=7.0)
    assert peer.next_due == 5.0
    assert peer.overdue(4.9) == []
    assert peer.overdue(5.0) == [Response(tag="slow", reply=Overdue())]
    assert peer.overdue(5.0) == []
    assert peer.next_due == 7.0
    assert isinstance(peer.receive(line(id=key, result=1)), Stray)


@given(id=IDS, method=st.text(st.characters(codec="utf-8")), params=VALUES)
def test_an_agents_id_comes_back_as_it_was_written(id: Any, method: str, params: Any) -> None:
    peer: Peer[str] = Peer()
    peer.request("ours", None, "tag")  # its id may be the same
    message = line(id=id, method=method, params=params)
    heard = peer.receive(message)
    assert isinstance(heard, IncomingRequest)
    assert heard.message == message
    answer = peer.respond(heard.key, {"fine": True})
    assert answer is not None
    assert b"\n" not in answer
    assert answer.startswith(b'{"jsonrpc":"2.0","id":' + json.dumps(id).encode() + b',"result"')
    assert peer.respond(heard.key, {"fine": False}) is None


def test_a_number_and_the_same_digits_are_two_requests() -> None:
    peer: Peer[str] = Peer()
    number, digits = peer.receive(line(id=1, method="a")), peer.receive(line(id="1", method="b"))
    assert isinstance(number, IncomingRequest)
    assert isinstance(digits, IncomingRequest)
    assert peer.respond(digits.key, None) == b'{"jsonrpc":"2.0","id":"1","result":null}'
    assert peer.respond(number.key, None) == b'{"jsonrpc":"2.0","id":1,"result":null}'


def test_a_converter_finds_the_same_key_in_the_line() -> None:
    class Seen(msgspec.Struct):
        id: msgspec.Raw

    for message in (line(id=1.5e3, method="a"), b'{"id": "\xff" ,"method":"a"}'):
        heard = Peer[str]().receive(message)
        assert isinstance(heard, IncomingRequest)
        assert heard.key == key_of(msgspec.json.decode(message, type=Seen).id)


def test_a_refusal_says_why() -> None:
    peer: Peer[str] = Peer(bare=True)
    heard = peer.receive(line(id=0, method="odd"))
    assert isinstance(heard, IncomingRequest)
    answer = peer.respond(heard.key, RpcError(code=METHOD_NOT_FOUND, message="unknown"))
    assert answer == b'{"id":0,"error":{"code":-32601,"message":"unknown"}}'


def test_an_id_in_use_is_not_taken_for_a_second_request() -> None:
    peer: Peer[str] = Peer()
    assert isinstance(peer.receive(line(id=1, method="a")), IncomingRequest)
    assert isinstance(peer.receive(line(id=1, method="a")), Stray)
    assert peer.respond("1", None) is not None
    assert isinstance(peer.receive(line(id=1, method="a")), IncomingRequest)


@pytest.mark.parametrize(
    "message",
    [b"", b"words", b"[]", b"1", b"null", b"{}", b'{"id":1}', b'{"method":7}', b'{"result":1}',
     b'{"id":null,"error":{"code":-32700,"message":"parse error"}}', b"[" * 100_000, b"\xff\xfe"],
)  # fmt: skip
def test_what_fits_nothing_is_kept_as_a_stray(message: bytes) -> None:
    heard = Peer[str]().receive(message)
    assert isinstance(heard, Stray)
    assert heard.message == message
    assert heard.error


@given(st.binary())
def test_no_bytes_raise(message: bytes) -> None:
    Peer[str]().receive(message)


class Conversation(RuleBasedStateMachine):
    """Two ends that ask each other as they like, and a wire that carries all of it."""

    def __init__(self) -> None:
        super().__init__()
        self.peer: Peer[int] = Peer()
        self.clock = 0.0
        self.count = 0
        self.pending: dict[int, tuple[str, float]] = {}
        self.done: list[int] = []
        self.asked: dict[str, Any] = {}
        self.answered: list[bytes] = []

    @rule(wait=st.floats(0.1, 5))
    def ask(self, wait: float) -> None:
        self.count += 1
        due = self.clock + wait
        sent = json.loads(self.peer.request("m", None, self.count, due))
        assert sent["id"] not in {key for key, _ in self.pending.values()}
        self.pending[self.count] = sent["id"], due

    @precondition(lambda self: self.pending)
    @rule(data=st.data(), fails=st.booleans())
    def be_answered(self, data: st.DataObject, fails: bool) -> None:
        tag = data.draw(st.sampled_from(sorted(self.pending)))
        key, _ = self.pending.pop(tag)
        told = {"error": {"code": 1, "message": "no"}} if fails else {"result": tag}
        heard = self.peer.receive(line(id=key, **told))
        assert isinstance(heard, Response)
        assert heard.tag == tag
        assert isinstance(heard.reply, RpcError if fails else Result)
        self.done.append(tag)

    @rule(seconds=st.floats(0.1, 3))
    def wait(self, seconds: float) -> None:
        self.clock += seconds
        late = {tag for tag, (_, due) in self.pending.items() if due <= self.clock}
        assert {each.tag for each in self.peer.overdue(self.clock)} == late
        for tag in late:
            del self.pending[tag]
            self.done.append(tag)

    @rule(id=st.one_of(st.integers(0, 5), st.sampled_from(["dragoman-1", "1", "x"])))
    def be_asked(self, id: Any) -> None:
        heard = self.peer.receive(line(id=id, method="m"))
        key = json.dumps(id)
        assert isinstance(heard, Stray if key in self.asked else IncomingRequest)
        self.asked.setdefault(key, id)

    @precondition(lambda self: self.asked)
    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.asked)))
        answer = self.peer.respond(key, key)
        assert answer is not None
        assert json.loads(answer)["id"] == self.asked.pop(key)
        assert self.peer.respond(key, key) is None

    @rule()
    def be_told(self) -> None:
        message = line(method="m")
        assert self.peer.receive(message) == Notification(message)

    @invariant()
    def every_request_is_pending_or_done_once(self) -> None:
        assert sorted([*self.pending, *self.done]) == list(range(1, self.count + 1))
        assert self.peer.unanswered == frozenset(self.asked)


TestConversation = Conversation.TestCase
