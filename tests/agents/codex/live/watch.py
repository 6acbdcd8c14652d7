"""What a scenario with Codex's server needs to see, and to kill."""

from __future__ import annotations

import json
from pathlib import Path

from tests.agents.live import Live
from tests.agents.watch import kill_all
from tests.testing.story import Event, items, lives, said, text


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
    """SIGKILL the app server."""
    kill_all(servers(live))
