"""Calls and events in a recording of an agent that speaks HTTP, one line for each. Pure.

`dragoman record` keeps bodies line by line, as they came. Here they become the lines that a
session hears and says (`wire/http.py`): a call, its answer, the data of an event.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.testing.recordings.transcript import Entry, Line, Run, Transcript
from dragoman.wire.http import Call, answer_line

_STREAM = "text/event-stream"


def with_calls(transcript: Transcript) -> Transcript:
    """The same recording, with a line for each call, answer and event."""
    return tuple(_Folder().fold(run) for run in transcript)


class _Folder:
    """One process. What is no HTTP, its stdout, is no part of what it said to sessions."""

    def __init__(self) -> None:
        self._bodies: dict[tuple[str, Any], bytes] = {}
        self._about: dict[tuple[str, Any], dict[str, Any]] = {}
        self._streams: set[Any] = set()

    def fold(self, run: Run) -> Run:
        lines = [each for each in run.entries if isinstance(each, Line)]
        if not any(line.http for line in lines):
            return run
        entries: list[Entry] = []
        for entry in run.entries:
            if not isinstance(entry, Line):
                entries.append(entry)
            elif entry.http is not None:
                entries += self._line(entry, entry.http)
            elif entry.dir == "err":
                entries.append(entry)
        streams = {f"dragoman-{id}" for id in self._streams}
        kept = [each for each in entries if not (streams and _id_of(each) in streams)]
        return replace(run, entries=tuple(kept))

    def _line(self, line: Line, http: dict[str, Any]) -> list[Entry]:
        id = http["id"]
        key = line.dir, id
        about = self._about.setdefault(key, {})
        about.update(http)
        if line.dir == "out" and str(about.get("content_type", "")).startswith(_STREAM):
            self._streams.add(id)
            data = line.data.removeprefix(b"data:").strip()
            is_data = line.data.startswith(b"data:") and not line.open
            return [replace(line, data=data, http=None)] if is_data else []
        body = self._bodies.get(key, b"") + line.data + (b"" if line.open else b"\n")
        self._bodies[key] = body
        if not http.get("end"):
            return []
        name = f"dragoman-{id}"
        if line.dir == "out":
            status = int(about.get("status", 0))
            return [replace(line, data=answer_line(name, status, body), http=None, open=False)]
        params = msgspec.json.decode(body) if body.strip() else None
        method = f"{about.get('method')} {about.get('path')}"
        call = Call(id=name, method=method, params=params)
        return [replace(line, data=msgspec.json.encode(call), http=None, open=False)]


def _id_of(entry: Entry) -> str | None:
    """The id of a call."""
    if not isinstance(entry, Line) or entry.dir != "in":
        return None
    return msgspec.json.decode(entry.data, type=Call).id
