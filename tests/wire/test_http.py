"""Calls over HTTP as lines: numbered, answered, overdue."""

from __future__ import annotations

import json

from dragoman.wire.http import HttpCaller, answer_line, call_in
from dragoman.wire.jsonrpc import Notification, Overdue, Response, Result, RpcError, Stray


def test_a_call_names_verb_target_and_body() -> None:
    caller: HttpCaller[str] = HttpCaller()
    call = call_in(caller.request("POST /session?directory=/a", {"x": 1}, "open"))
    assert (call.verb, call.target, call.params) == ("POST", "/session?directory=/a", {"x": 1})


def test_an_answer_comes_under_its_tag_once() -> None:
    caller: HttpCaller[str] = HttpCaller()
    first = call_in(caller.request("GET /a", None, "a"))
    second = call_in(caller.request("GET /b", None, "b"))
    line = answer_line(second.id, 200, b'{"n": 1}')
    assert caller.receive(line) == Response(tag="b", reply=Result(b'{"n": 1}'), message=line)
    assert isinstance(caller.receive(line), Stray)
    refused = caller.receive(answer_line(first.id, 404, b'{"data":{"message":"no"}}'))
    assert isinstance(refused, Response)
    assert refused.reply == RpcError(code=404, message="no", data={"data": {"message": "no"}})


def test_any_other_line_is_an_event() -> None:
    caller: HttpCaller[str] = HttpCaller()
    for line in (b'{"payload":{}}', b'{"id":"x","status":200}', b"no JSON", b"[]"):
        assert caller.receive(line) == Notification(line)


def test_a_call_is_overdue_once_and_its_answer_then_a_stray() -> None:
    caller: HttpCaller[str] = HttpCaller()
    call = call_in(caller.request("GET /a", None, "a", due=5.0))
    assert caller.overdue(4.9) == []
    assert caller.overdue(5.0) == [Response(tag="a", reply=Overdue())]
    assert isinstance(caller.receive(answer_line(call.id, 200, b"1")), Stray)


def test_an_answer_is_one_line_of_json_whatever_the_body() -> None:
    for body, value in ((b"", None), (b"{\n}", {}), (b"text\n", "text\n"), (b"\xff", "\ufffd")):
        line = answer_line("dragoman-1", 200, body)
        assert b"\n" not in line
        assert json.loads(line)["body"] == value
