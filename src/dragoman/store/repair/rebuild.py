"""Rebuilds a session's row from its events."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from dragoman.core.fold import SessionState
from dragoman.schema.events import Event, SessionStarted
from dragoman.schema.http import CreateSession
from dragoman.store.rows import encode, snapshot_of

_spec = msgspec.json.Decoder(CreateSession)
_state = msgspec.json.Decoder(SessionState)
_MADE = ("agent", "spec", "directory", "created_at", "updated_at")
_STATE = ("state", "status", "title")


class Rebuilt:
    """What the events that are left say about their session."""

    def __init__(self, first: Event) -> None:
        """Take the first event. Raise msgspec errors where it does not begin a session."""
        if not isinstance(first.data, SessionStarted):
            raise msgspec.ValidationError("the first event does not start a session")
        self.session_id = first.session_id
        self.last = 0
        self._started = first.data.metadata or {}
        self._spec = msgspec.convert(self._started, CreateSession)
        self._created_at = self._updated_at = _ms(first.time)
        self._state = SessionState(
            agent_mode=str(self._started.get("agentMode")),
            permission_mode=self._spec.permission_mode or "default",
            model=self._spec.model,
            variant=self._spec.variant,
            # Nobody knows what is open now: a start has to look at everything.
            open_since=0,
        )

    def see(self, event: Event) -> None:
        """Take the next event, the first one too. Raise msgspec errors where it is not next."""
        if (event.session_id, event.sequence) != (self.session_id, self.last + 1):
            raise msgspec.ValidationError("an event stands where another one belongs")
        self._state.apply(event.data)
        if event.source == "agent" and event.native_session_id is not None:
            self._state.native_session_id = event.native_session_id
            self._state.confirmed = True
        self._updated_at = max(self._updated_at, _ms(event.time))
        self.last += 1

    def row(self, number: int, kept: dict[str, Any] | None) -> dict[str, Any]:
        """The row, with what is still good of the one that was kept."""
        row: dict[str, Any] = {
            "n": number,
            "agent": self._spec.agent,
            "spec": encode(self._spec),
            "directory": str(self._started.get("directory") or "/"),
            "created_at": self._created_at,
            "updated_at": self._updated_at,
            "deleted": 0,
        }
        state, status, title, _ = snapshot_of(self._state)
        row |= {"state": state, "status": status, "title": title}
        if kept is not None and is_readable(_spec, kept["spec"]):
            row |= {name: kept[name] for name in _MADE if kept[name] is not None}
        whole = kept is not None and kept["event_count"] == self.last
        if kept is not None and whole and is_readable(_state, kept["state"]):
            row |= {name: kept[name] for name in _STATE}
        return row | {"session_id": self.session_id, "event_count": self.last, "unfinished": 1}


def is_readable(decoder: msgspec.json.Decoder[Any], value: object) -> bool:
    """Whether stored JSON is still what it was meant to be."""
    try:
        return isinstance(value, bytes) and decoder.decode(value) is not None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return False


def _ms(time: str) -> int:
    try:
        return int(datetime.fromisoformat(time).timestamp() * 1000)
    except ValueError:
        return 0
