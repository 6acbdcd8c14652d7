"""How far a message is, and what its sender can do."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Literal

import typer

from dragoman.cli.start_progress import StartProgress
from dragoman.errors import DragomanError, SessionNotFound

if TYPE_CHECKING:
    from dragoman.client import Client
    from dragoman.schema.events import Event

BREATH_S = 0.3
"""A person hardly notices it; a rule needs far less, but for a busy machine."""

Stage = Literal["unsent", "sent", "waiting"]


class Watch:
    """Goes with a message, and leaves a hint where the daemon cannot know it."""

    def __init__(self, client: Client, session: str, options: str) -> None:
        self.session = session
        self.options = options
        self._client = client
        self._stage: Stage = "unsent"
        self._message_id = ""
        self._starting: StartProgress | None = None

    def __enter__(self) -> Watch:
        """Begin to watch."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Say what can be done now."""
        self._stop_progress()
        if isinstance(error, SessionNotFound):
            error.add_note("add --agent NAME to make it; `dragoman agents` lists them")
        elif isinstance(error, KeyboardInterrupt):
            typer.echo(f"\n{self._hint()}", err=True)

    def over(self, turn: Iterator[Event]) -> Iterator[Event]:
        """The turn, watched."""
        from dragoman.schema.events import QueueUpdated

        self._stage = "sent"
        for event in turn:
            self._stop_progress()
            self._stage = "sent"
            if isinstance(event.data, QueueUpdated) and event.data.cancelled == self._message_id:
                typer.echo("the message was taken back; the agent never saw it", err=True)
            yield event

    def accepted(self, message_id: str) -> None:
        """The daemon has the message; say so where it has to wait."""
        self._message_id = message_id
        if self._has_to_wait(message_id):
            self._stage = "waiting"
            typer.echo(
                "waiting for the running turn to end (Ctrl-C leaves it in the queue; take it back "
                f"with: {self._cancel()})",
                err=True,
            )
        else:
            self._starting = StartProgress(self._client, self.session)

    def _stop_progress(self) -> None:
        if self._starting is not None:
            self._starting.stop()
            self._starting = None

    def asks(self, permission_id: str) -> bool:
        """Whether a permission waits for a person, and no rule answers it at once."""
        if self._is_open(permission_id):
            # A rule's answer is told right after the request, but not in the same breath.
            time.sleep(BREATH_S)
            return self._is_open(permission_id)
        return False

    def _is_open(self, permission_id: str) -> bool:
        try:
            waiting = self._client.pending(self.session).permissions
        except DragomanError:
            return True
        return any(asked.permission_id == permission_id for asked in waiting)

    def _has_to_wait(self, message_id: str) -> bool:
        try:
            # In this order: the turn that was running before the look at the queue, in which the
            # message still stands, is not its own.
            if self._client.get(self.session).status not in ("running", "waiting"):
                return False
            queue = self._client.pending(self.session).messages
        except DragomanError:
            return False
        return any(message.message_id == message_id for message in queue)

    def _hint(self) -> str:
        match self._stage:
            case "unsent":
                return "nothing was sent"
            case "waiting":
                return f"the message stays in the queue; take it back with: {self._cancel()}"
            case "sent":
                stop = f"dragoman interrupt {shlex.quote(self.session)}{self.options}"
                return f"the turn goes on; stop it with: {stop}"

    def _cancel(self) -> str:
        named = f"{shlex.quote(self.session)} {shlex.quote(self._message_id)}"
        return f"dragoman cancel {named}{self.options}"
