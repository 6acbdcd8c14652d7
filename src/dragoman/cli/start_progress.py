"""Tells a person that an agent is starting, while nothing comes from it."""

from __future__ import annotations

import sys
import time
from threading import Event, Thread
from typing import TYPE_CHECKING

import typer

from dragoman.cli.sanitize import line
from dragoman.errors import DragomanError

if TYPE_CHECKING:
    from dragoman.client import Client

GRACE_S = 1.0
"""Most agents are up by then. Those on Node.js may take 17 s."""
EVERY_S = 1.0


class StartProgress:
    """Looks at a session in a thread of its own: this one waits for the first event."""

    def __init__(self, client: Client, session: str) -> None:
        self._client = client
        self._session = session
        self._has_begun = Event()
        self._started_at = time.monotonic()
        self._thread = Thread(target=self._watch, name="start-progress", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Something came, or nobody waits any more."""
        if not self._has_begun.is_set():
            self._has_begun.set()
            self._thread.join()  # what is shown is taken away before anything else is printed

    def _watch(self) -> None:
        if self._has_begun.wait(GRACE_S):
            return
        agent = self._starting_agent()
        if agent is None:
            return
        if not sys.stderr.isatty():
            typer.echo(f"starting {line(agent)} …", err=True)
            return
        from rich.console import Console
        from rich.text import Text

        terminal = Console(stderr=True, markup=False, highlight=False, emoji=False)
        with terminal.status(Text(f"starting {line(agent)} …")) as status:
            while not self._has_begun.wait(EVERY_S) and self._starting_agent():
                passed_s = time.monotonic() - self._started_at
                status.update(Text(f"starting {line(agent)} … {passed_s:.0f} s"))

    def _starting_agent(self) -> str | None:
        try:
            found = self._client.get(self._session)
        except DragomanError:
            return None  # who waits for the events is told
        return found.agent if found.status == "starting" else None
