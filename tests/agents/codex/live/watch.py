"""Wait for what a scenario needs, by what it is rather than by its type alone; and kill."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.agents.live import Live
from tests.testing.story import Event, Item, items, lives, parts, said, text

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


def spoken(events: list[Event]) -> list[tuple[str, str]]:
    """Who said what, in order."""
    return [(item["role"], text(item)) for item in items(events, "message") if text(item)]


def outcomes(events: list[Event]) -> list[str]:
    """How each turn ended."""
    return [event["data"]["outcome"] for event in events if event["type"] == "turn.ended"]


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


def servers(live: Live) -> list[int]:
    """The app servers of the session's environment, which others may use as well."""
    mark = f"CODEX_HOME={live.home}/.codex".encode()
    found = []
    for entry in Path("/proc").iterdir():
        try:
            environ = (entry / "environ").read_bytes().split(b"\0")
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        agent = b"app-server" in words and b"record" not in words
        if mark in environ and agent and lives(int(entry.name)):
            found.append(int(entry.name))
    return found


def kill(live: Live) -> None:
    """SIGKILL the app server, and wait until nothing of it is left."""
    found = servers(live)
    assert found
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    while any(lives(pid) for pid in found):
        pass
