"""Wait for what a scenario needs, by what it is rather than by its type alone; and kill."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tests.agents.live import Live
from tests.cases.common import eventually
from tests.testing.story import Event, Item, items, lives, of_type, outcome, parts, said, text

Wanted = Callable[[Event], bool]


def heard(live: Live, wanted: Wanted, *, after: Event | None = None) -> Event:
    """The first event of this kind, as soon as it is there."""
    offset = 0 if after is None else after["sequence"]
    with live.daemon.stream(f"{live.path}/events/sse?offset={offset}") as stream:
        for event in stream:
            if wanted(event):
                return event
    raise AssertionError("the stream ended without it")


def says(words: str) -> Wanted:
    """A piece of a message with these words in it."""
    return lambda event: event["type"] == "item.delta" and words in event["data"]["delta"]


def done(kind: str, **about: Any) -> Wanted:
    """An item that is complete, and has these fields."""

    def wanted(event: Event) -> bool:
        item: Item = event["data"].get("item", {})
        return (
            event["type"] == "item.completed"
            and item["kind"] == kind
            and all(item.get(name) == value for name, value in about.items())
        )

    return wanted


def labelled(label: str, type: str = "item.completed") -> Wanted:
    """A status item with this label."""
    return lambda event: event["type"] == type and label in labels(event["data"]["item"])


def labels(item: Item) -> list[str]:
    """The labels of a status item."""
    return [part["label"] for part in parts(item, "status")]


def statuses(events: list[Event], label: str) -> list[Item]:
    """The status items with this label."""
    return [item for item in items(events, "status") if label in labels(item)]


def ended(outcome: str = "completed") -> Wanted:
    """A turn that is over."""
    return lambda event: event["type"] == "turn.ended" and event["data"]["outcome"] == outcome


def kill_all(pids: list[int]) -> None:
    """SIGKILL processes, and wait until nothing of them is left."""
    assert pids
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    eventually(lambda: not any(lives(pid) for pid in pids), "nothing of them is left")


def kill(live: Live) -> None:
    """SIGKILL the session's agent; where it lives for a turn, it may be gone already."""
    pids = live.agent.processes(live)
    live.note_kill()
    if pids or not live.agent.lives_for_a_turn:
        kill_all(pids)


# --- Reading ---


def spoken(events: list[Event]) -> list[tuple[str, str]]:
    """Who said what, in order."""
    return [(item["role"], text(item)) for item in items(events, "message") if text(item)]


def outcomes(events: list[Event]) -> list[str]:
    """How each turn ended."""
    return [data["outcome"] for data in of_type(events, "turn.ended")]


def failed_with(events: list[Event]) -> Any:
    """The one error of a failed turn."""
    assert outcome(events) == "failed"
    (error,) = of_type(events, "error")
    return error


def asked(live: Live, number: int) -> str:
    """All that the model was asked with the n-th request."""
    return json.dumps(live.model.mains[number - 1].body)


def goes_on(live: Live) -> None:
    """The next message is answered."""
    live.model.script("Here I am.")
    events = live.turn("Go on")
    assert said(events) == ["Here I am."]
    assert outcomes(events) == ["completed"]
    live.conforms()
