"""Finds native messages that are the raw of no event and are not listed as ignored."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from dragoman.adapter import EVERYONE, Adapter, Spec
from dragoman.core import ignored
from dragoman.core.interpreter import keys_of
from dragoman.steps import Request
from dragoman.testing.recordings.transcript import Eof, Line, PassedSignal, Run
from dragoman.wire.raw import as_json


class Share(
    Struct, frozen=True, kw_only=True, rename={"ignored": "noise", "unaccounted": "vanished"}
):
    """How many native messages are shown, are noise, or are lost."""

    shown: int
    ignored: int
    unaccounted: int

    def __str__(self) -> str:
        """The share as a person reads it."""
        total = max(1, self.shown + self.ignored + self.unaccounted)
        percent = 100 * self.shown / total
        lost = self.unaccounted
        return f"{self.shown} shown ({percent:.0f}%), {self.ignored} noise, {lost} vanished"


def native_value(line: bytes) -> Any:
    """What stands under `raw` of an event that this message caused."""
    raw = as_json(line)
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return Raw(raw)


def is_ignored(adapter: Adapter, line: bytes) -> bool:
    """Whether the adapter lists such messages as noise."""
    return ignored.is_ignored(adapter.ignored, line)


def count(adapter: Adapter, lines: Sequence[bytes], is_shown: Callable[[int], bool]) -> Share:
    """Count what became of each line; `is_shown` is asked by its index."""
    hidden = [line for at, line in enumerate(lines) if not is_shown(at)]
    known = sum(is_ignored(adapter, line) for line in hidden)
    return Share(shown=len(lines) - len(hidden), ignored=known, unaccounted=len(hidden) - known)


# --- For events as the API gives them, with include_raw ---


def said_in(adapter: Adapter, run: Run) -> list[bytes]:
    """What a process said to sessions before it was told to go; after that nobody listens.

    What a shared process says about itself, and in answer to a greeting or a farewell, is not for
    them.
    """
    lines: list[bytes] = []
    greetings: list[Any] = []
    begun = adapter.route is None
    methods = {said.method for said in (*adapter.handshake, *_farewells(adapter))}
    ends_input = _ends_input(adapter)
    for entry in run.entries:
        if isinstance(entry, Eof) and not ends_input:
            break
        if isinstance(entry, PassedSignal) and entry.number != signal.SIGINT:
            break
        if not isinstance(entry, Line) or entry.dir == "err":
            continue
        id, method = _call(entry.data)
        if entry.dir == "in":
            greetings += [id] if method in methods else []
            begun |= method not in methods
        elif adapter.route is None or (
            _is_for_sessions(adapter, entry.data, begun) if method else id not in greetings
        ):
            lines.append(entry.data)
    return lines


def _ends_input(adapter: Adapter) -> bool:
    """Whether its processes are told one message and the end of their input, and then work."""
    mode = adapter.modes[0].id if adapter.modes else ""
    spec = Spec(session_id="", agent=adapter.id, agent_mode=mode, directory="/")
    return adapter.launch(spec, adapter.command).lifetime == "turn"


def _farewells(adapter: Adapter) -> list[Request]:
    if adapter.delete_request is None:
        return []
    farewells = (adapter.delete_request("", for_good) for for_good in (False, True))
    return [each for each in farewells if each is not None]


def _is_for_sessions(adapter: Adapter, line: bytes, begun: bool) -> bool:
    keys = keys_of(adapter, line)
    return begun if keys == (EVERYONE,) else keys != ()


def _call(line: bytes) -> tuple[Any, Any]:
    """The id and the method of a JSON-RPC message."""
    value = native_value(line)
    return (value.get("id"), value.get("method")) if isinstance(value, dict) else (None, None)


def unaccounted_in(
    adapter: Adapter, events: Iterable[Mapping[str, Any]], lines: Iterable[bytes]
) -> list[bytes]:
    """Which of these native messages is neither the raw of one of these events nor noise."""
    raws = _raws(events)
    return [line for line in lines if _key(line) not in raws and not is_ignored(adapter, line)]


def share_in(
    adapter: Adapter, events: Iterable[Mapping[str, Any]], lines: Sequence[bytes]
) -> Share:
    """How much of these native messages is shown in these events."""
    raws = _raws(events)
    return count(adapter, lines, lambda at: _key(lines[at]) in raws)


def _raws(events: Iterable[Mapping[str, Any]]) -> set[bytes]:
    return {_canonical(event["raw"]) for event in events if event["raw"] is not None}


def _key(line: bytes) -> bytes:
    return _canonical(native_value(line))


def _canonical(value: Any) -> bytes:
    return msgspec.json.encode(value, order="deterministic")
