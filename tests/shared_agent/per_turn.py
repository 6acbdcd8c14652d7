"""The perturn's dialect: the mock's, for one prompt a process."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dragoman.adapter import Spec
from dragoman.agents.mock.convert import MockConverter
from dragoman.facts import Exit
from dragoman.runtime.session.spec import update_of
from dragoman.schema.commands import Command, Configure, Prompt
from dragoman.steps import Delivered, EndInput, Send, Step, Update


class PerTurnConverter(MockConverter):
    """Says one thing, and that it was all; is told of each end."""

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self._ends = 0

    def command(self, command: Command) -> Iterator[Step]:
        """Send a prompt with how many processes have ended before it; nothing else is heard."""
        match command:
            case Prompt(message_id=message_id, text=text):
                yield Send(msgspec.json.encode({"text": text, "ends": self._ends}))
                yield EndInput()
                yield Delivered(message_id=message_id)
            case Configure():
                yield Update(body=update_of(command))
            case _:
                yield from super().command(command)

    def on_close(self, exit: Exit) -> Iterator[Step]:
        """Count it."""
        self._ends += 1
        return super().on_close(exit)
