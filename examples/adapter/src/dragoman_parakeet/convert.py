"""The converter: Parakeet's lines to steps, and what people say to Parakeet's lines. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from dragoman.adapter import Spec
from dragoman.facts import Exit
from dragoman.schema.commands import Command, Interrupt, Prompt
from dragoman.schema.items import Text
from dragoman.steps import (
    CompleteItem,
    Delivered,
    Delta,
    EndTurn,
    Report,
    Send,
    StartItem,
    Step,
)
from dragoman_parakeet import native


class ParakeetConverter:
    """Speaks to one Parakeet. Its answers have no ids, so they are counted."""

    def __init__(self, spec: Spec) -> None:
        self._answers = 0

    @property
    def _key(self) -> str:
        return f"answer-{self._answers}"

    def command(self, command: Command) -> Iterator[Step]:
        """Translate what a person says."""
        match command:
            case Prompt(message_id=message_id, text=text):
                yield _send(type="prompt", text=text)
                yield Delivered(message_id=message_id)
            case Interrupt():
                yield _send(type="stop")
            case _:
                pass  # it asks for nothing, and nothing can be changed

    def receive(self, message: bytes) -> Iterator[Step]:
        """Translate what Parakeet says. Raise only msgspec errors, and only before a step."""
        match native.decode(message):
            case native.Start():
                self._answers += 1
                yield StartItem(
                    key=self._key, kind="message", role="assistant", content=(Text(text=""),)
                )
            case native.Word(text=text):
                yield Delta(self._key, text)
            case native.Done(error=str() as error):
                yield Report(message=error, code="parakeet_error")
                yield EndTurn(outcome="failed")
            case native.Done(stopped=stopped):
                if not stopped:
                    yield CompleteItem(key=self._key)
                yield EndTurn(outcome="interrupted" if stopped else "completed")

    def steers(self) -> bool:
        """Say no: it reads its next prompt when it is done with this one."""
        return False

    def on_open(self, spec: Spec) -> Iterator[Step]:
        """Say nothing: it needs no greeting."""
        return iter(())

    def on_close(self, exit: Exit) -> Iterator[Step]:
        """Forget nothing: keys are never used twice."""
        return iter(())


def _send(**message: Any) -> Send:
    return Send(msgspec.json.encode(message))
