"""A conversation with the mock agent over HTTP, and what to read from its events."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from dragoman.testing.conformance import check_lines
from tests.daemon import Daemon, Reply

Event = dict[str, Any]
Item = dict[str, Any]

_numbers = itertools.count(1)


class Talk:
    """One session."""

    def __init__(self, daemon: Daemon, **create: Any) -> None:
        self.daemon = daemon
        self.id = f"talk-{os.getpid()}-{next(_numbers)}"  # other tests may run beside these
        self.path = f"/sessions/{self.id}"
        self._seen = 0
        daemon.create(self.id, **create)

    # --- Saying ---

    def send(self, prompt: str, delivery: str | None = None) -> str:
        """Send a message and do not wait; its id."""
        return self.daemon.send(self.id, prompt, delivery=delivery)

    def turn(self, prompt: str) -> list[Event]:
        """Send a message; the events of its turn."""
        events = self.daemon.turn(self.id, prompt)
        self._seen = events[-1]["sequence"]
        return events

    def post(self, path: str, body: Any = None) -> Reply:
        return self.daemon.request("POST", f"{self.path}{path}", body)

    def reply(self, permission: Event, reply: str, **more: Any) -> None:
        path = f"/permissions/{permission['data']['permission_id']}/reply"
        answer = self.post(path, {"reply": reply, **more})
        assert answer.status == 204, answer.body

    def interrupt(self) -> None:
        assert self.post("/interrupt").status == 204

    def terminate(self) -> None:
        assert self.post("/terminate").status == 204

    def patch(self, **wanted: Any) -> Any:
        reply = self.daemon.request("PATCH", self.path, wanted)
        assert reply.status == 200, reply.body
        return reply.json

    # --- Hearing ---

    def until(self, type: str) -> Event:
        """The next event of this type, after those that were waited for before."""
        event = self.daemon.wait_for(self.id, type, self._seen)
        self._seen = event["sequence"]
        return event

    def events(self, *, raw: bool = False) -> list[Event]:
        return self.daemon.events(self.id, raw=raw)

    @property
    def info(self) -> Any:
        return self.daemon.get(self.path)

    def conforms(self) -> list[Event]:
        """All events there are, which break no rule; not to be understood breaks none."""
        events = self.events()
        found = check_lines(map(msgspec.json.encode, events), strict=True)
        assert [violation for violation in found if violation.rule != "everything_parsed"] == []
        return events

    def processes(self) -> list[int]:
        """What the session's agent has started and still lives."""
        return list(_marked(self.id))


def _marked(session_id: str) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        try:
            environ = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        marks = [value for value in environ if value.startswith(b"DRAGOMAN_MARK=")]
        if marks and marks[0].endswith(f":{session_id}".encode()) and lives(int(entry.name)):
            yield int(entry.name)


def lives(pid: int) -> bool:
    """The process is there, and is more than a zombie that nobody has reaped.

    One whose threads are still ending has its files open: what is written to it vanishes.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        threads = len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return False
    return threads > 1 or stat.rpartition(b")")[2].split()[0] != b"Z"


def of_type(events: list[Event], type: str) -> list[Any]:
    """The data of every event of a type."""
    return [event["data"] for event in events if event["type"] == type]


def items(events: list[Event], kind: str | None = None, role: str | None = None) -> list[Item]:
    """Completed items, as they are at the end."""
    found = [data["item"] for data in of_type(events, "item.completed")]
    return [
        item
        for item in found
        if kind in (None, item["kind"]) and (role is None or item["role"] == role)
    ]


def parts(item: Item, type: str) -> list[Any]:
    return [part for part in item["content"] if part["type"] == type]


def text(item: Item) -> str:
    return "".join(part["text"] for part in parts(item, "text"))


def said(events: list[Event]) -> list[str]:
    """What the agent said, message by message; thoughts are not said."""
    return [text(item) for item in items(events, "message", "assistant") if parts(item, "text")]


def outcome(events: list[Event]) -> str:
    (ended,) = of_type(events, "turn.ended")
    return str(ended["outcome"])
