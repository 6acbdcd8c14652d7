"""Listens to a session's events in a thread, so that waiting can time out."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from dragoman.client import Client
from dragoman.errors import DragomanError
from dragoman.schema.events import Event, TurnEnded
from dragoman.testing.conform.probe import ProbeFailure

PATIENCE_S = 15.0
START_S = 60.0
"""The same for an agent that has said nothing yet: a server takes its time on a busy machine."""
"""How long an agent may take for anything, on a busy machine."""


class Listener:
    """All events of one session, and a place up to which they were waited for."""

    def __init__(self, client: Client, session: str) -> None:
        self._client = client
        self._session = session
        self._events: list[Event] = []
        self._news = threading.Condition()
        self._failure: DragomanError | None = None
        self._thread = threading.Thread(target=self._listen, name=f"ear {session}", daemon=True)
        self._thread.start()

    @property
    def events(self) -> list[Event]:
        """What was heard so far."""
        with self._news:
            return list(self._events)

    def until(
        self, wanted: Callable[[Event], bool], expected: str, after: int = 0, *, last: str = ""
    ) -> Event:
        """The first such event after a sequence. Raise Missed in time, or at an event `last`."""
        with self._news:
            patience_s = PATIENCE_S if len(self._events) > 1 else START_S
            deadline = time.monotonic() + patience_s
            while True:
                later = self._events[after:]
                for event in later:
                    if wanted(event):
                        return event
                    if event.type in (last, "session.ended"):
                        raise ProbeFailure(expected, _summary(later))
                if self._failure is not None:
                    raise self._failure
                if not self._news.wait(deadline - time.monotonic()):
                    raise ProbeFailure(
                        expected, f"nothing of it in {patience_s:.0f} s, {_summary(later)}"
                    )

    def close(self) -> None:
        """Wait for the end of the session to be heard."""
        self._thread.join(PATIENCE_S)

    def _listen(self) -> None:
        try:
            for event in self._client.follow(self._session, include_raw=True):
                with self._news:
                    self._events.append(event)
                    self._news.notify_all()
        except DragomanError as error:
            with self._news:
                self._failure = error
                self._news.notify_all()


def _summary(events: list[Event]) -> str:
    """The last events in a few words."""
    if not events:
        return "no event"
    words = [
        f"{event.type} {event.data.outcome}" if isinstance(event.data, TurnEnded) else event.type
        for event in events[-3:]
    ]
    return f"{len(events)} events, the last: {', '.join(words)}"
