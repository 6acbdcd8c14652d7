"""The busker's dialect: the mock's, for one prompt a process."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dragoman.adapter import Delivered, EndInput, Exit, Send, Spec, Step
from dragoman.agents.mock.convert import MockConverter
from dragoman.schema.commands import Command, Prompt


class BuskerConverter(MockConverter):
    """Says one thing, and that it was all; is told of each end."""

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self._ends = 0

    def command(self, command: Command) -> Iterator[Step]:
        """Send a prompt with how many processes have ended before it."""
        if isinstance(command, Prompt):
            yield Send(msgspec.json.encode({"text": command.text, "ends": self._ends}))
            yield EndInput()
            yield Delivered(message_id=command.message_id)
        else:
            yield from super().command(command)

    def closed(self, exit: Exit) -> Iterator[Step]:
        """Count it."""
        self._ends += 1
        return super().closed(exit)
