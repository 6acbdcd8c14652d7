"""What to read from the events of a session with tools."""

from __future__ import annotations

from typing import Any

from tests.testing.story import Event, Item, items, of_type, parts


def called(events: list[Event], name: str) -> list[Item]:
    """The completed calls of a tool."""
    return [
        item for item in items(events, "tool_call") if parts(item, "tool_call")[0]["name"] == name
    ]


def result(events: list[Event], call: Item) -> Item:
    """The result of a call."""
    call_id = parts(call, "tool_call")[0]["call_id"]
    (found,) = [
        item
        for item in items(events, "tool_result")
        if parts(item, "tool_result")[0]["call_id"] == call_id
    ]
    return found


def results(events: list[Event]) -> list[Item]:
    """All results, in the order of their calls."""
    return [result(events, call) for call in items(events, "tool_call")]


def output(item: Item) -> str:
    """What a tool printed."""
    return str(parts(item, "tool_result")[0]["output"])


def file_of(item: Item) -> Any:
    """The one file that a result names."""
    (found,) = parts(item, "file_ref")
    return found


def streamed(events: list[Event], item: Item, content_type: str) -> str:
    """What was streamed of an item."""
    deltas = of_type(events, "item.delta")
    return "".join(
        each["delta"]
        for each in deltas
        if each["item_id"] == item["item_id"] and each["content_type"] == content_type
    )


def statuses(events: list[Event]) -> list[tuple[str, str | None]]:
    """Label and detail of each status item."""
    found = [parts(item, "status")[0] for item in items(events, "status")]
    return [(part["label"], part["detail"]) for part in found]
