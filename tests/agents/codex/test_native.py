"""How lines and replies are decoded and routed, also old and unknown ones."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from dragoman.adapter import EVERYONE
from dragoman.agents.codex import native
from dragoman.wire.jsonrpc import Overdue, Result
from tests.agents.codex.session import CodexSession


def line(method: str, **params: Any) -> bytes:
    return json.dumps({"method": method, "params": params}).encode()


@pytest.mark.parametrize(
    ("params", "keys"),
    [
        ({"threadId": "t"}, ("t",)),
        ({"conversationId": "t"}, ("t",)),
        ({"thread": {"id": "child", "parentThreadId": "t"}}, ("child", "t")),
        ({}, ()),
    ],
)
def test_a_line_is_for_the_thread_that_it_names(params: Any, keys: tuple[str, ...]) -> None:
    assert native.route(line("thread/started", **params)) == keys


def test_what_names_no_thread_is_for_everyone_or_about_the_process() -> None:
    assert native.route(line("configWarning", summary="x")) == ()
    assert native.route(line("warning", threadId="t", message="x")) == ("t",)
    assert native.route(line("account/rateLimits/updated", rateLimits={})) == (EVERYONE,)
    assert native.route(line("remoteControl/status/changed", status="off")) == ()


def test_what_older_versions_say_twice_is_heard_once() -> None:
    session = CodexSession()
    assert session.tell("codex/event/agent_message", msg={"type": "agent_message"}) == []
    assert isinstance(native.decode(line("codex/event/task_started")), native.IgnoredNotification)


def test_a_notification_that_nobody_knows_is_kept() -> None:
    ((type, data),) = CodexSession().tell("thread/telepathy", thought="hm")
    assert type == "agent.unparsed"
    assert "thread/telepathy" in data["error"]


def test_a_notification_of_another_shape_is_kept() -> None:
    ((type, _),) = CodexSession().tell("turn/completed", turn="over")
    assert type == "agent.unparsed"


def test_a_line_without_a_method_is_no_message() -> None:
    with pytest.raises(msgspec.ValidationError):
        native.decode(b"{}")


# --- Replies ---


def answered(**result: Any) -> Result:
    return Result(json.dumps(result).encode())


ODD: list[Any] = [None, 7, "x", [], {}, {"data": 7}, {"data": [7, None, {"id": 7}, {"turnId": {}}]}]


@pytest.mark.parametrize("page", ODD)
def test_a_thread_is_resumed_whatever_is_told_of_its_turns(page: Any) -> None:
    found = native.decode_thread(answered(thread={"id": "t"}, initialTurnsPage=page))
    assert found.thread.id == "t"
    assert not found.turn_of_message


@pytest.mark.parametrize("page", [each for each in ODD if isinstance(each, dict)])
def test_a_list_that_is_not_understood_holds_no_message_of_ours(page: dict[str, Any]) -> None:
    assert native.decode_item_list(answered(**page)) == {}
    assert native.decode_item_list(Overdue()) == {}


def test_what_is_not_understood_costs_itself_only() -> None:
    turns = [7, {"id": "turn-1", "items": [{"type": "userMessage", "clientId": "m1"}, {}]}]
    found = native.decode_thread(answered(thread={"id": "t"}, initialTurnsPage={"data": turns}))
    assert found.turn_of_message == {"m1": "turn-1"}
    items = [{"new": 1}, {"turnId": "turn-2", "item": {"clientId": "m2"}}]
    assert native.decode_item_list(answered(data=items)) == {"m2": "turn-2"}


def test_a_new_thread_knows_of_no_turns() -> None:
    assert native.decode_thread(answered(thread={"id": "t"})).turn_of_message is None
