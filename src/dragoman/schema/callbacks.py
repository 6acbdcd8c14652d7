"""Functions of a program that are called with events, chosen by what happened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from dragoman.schema.events import (
    BODIES,
    ErrorRaised,
    Event,
    SandboxFile,
    SessionEnded,
    SessionStarted,
)

Callback = Callable[[Event], Any]
ANY_TYPE = "*"


class Callbacks(Struct, frozen=True, kw_only=True):
    """What is called with which event. Each is given the whole event."""

    on_file: Callback | None = None
    """A file in a session's directory was made, changed or deleted."""
    on_file_create: Callback | None = None
    on_file_change: Callback | None = None
    on_file_delete: Callback | None = None
    on_ready: Callback | None = None
    """A session is there to be talked to: `session.started`."""
    on_error: Callback | None = None
    """Something went wrong: `error`."""
    on_destroy: Callback | None = None
    """A session has ended, and its agent with it: `session.ended`."""
    on: Mapping[str, Callback] = {}
    """By the type of an event; `*`: every event."""

    def __post_init__(self) -> None:
        """Raise ValueError where a type is none."""
        if unknown := sorted(self.on.keys() - BODIES.keys() - {ANY_TYPE}):
            raise ValueError(
                f"there are no events of type {', '.join(unknown)}; known: {ANY_TYPE}, "
                f"{', '.join(BODIES)}"
            )

    @property
    def types(self) -> frozenset[str]:
        """The types of events that something is called with; empty: all types."""
        if ANY_TYPE in self.on:
            return frozenset()
        return frozenset(self.on) | {type for type, given in self._by_type().items() if any(given)}

    def select(self, event: Event) -> list[Callback]:
        """What is to be called with an event, in this order: the most specific first."""
        change = event.data.change if isinstance(event.data, SandboxFile) else None
        by_change = {
            "create": self.on_file_create,
            "change": self.on_file_change,
            "delete": self.on_file_delete,
        }
        found = (
            by_change.get(change or ""),
            self._by_type().get(event.type, (None,))[0],
            self.on.get(event.type),
            self.on.get(ANY_TYPE),
        )
        return [callback for callback in found if callback is not None]

    def _by_type(self) -> dict[str, tuple[Callback | None, ...]]:
        by_change = self.on_file_create, self.on_file_change, self.on_file_delete
        return {
            SandboxFile.type: (self.on_file, *by_change),
            SessionStarted.type: (self.on_ready,),
            ErrorRaised.type: (self.on_error,),
            SessionEnded.type: (self.on_destroy,),
        }
