"""What is made of Codex' answers, also of those that are not what we know."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.agents.codex import native
from dragoman.wire.jsonrpc import Overdue, Result


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
