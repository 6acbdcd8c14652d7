"""The mock agent's dialect: its lines are our steps, and commands are lines of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, assert_never

import msgspec

from dragoman.adapter import Spec
from dragoman.agents.mock import native
from dragoman.facts import Exit
from dragoman.schema.commands import (
    AnswerPermission,
    AnswerQuestion,
    Command,
    Configure,
    Interrupt,
    PermissionReply,
    Prompt,
)
from dragoman.schema.events import SessionUpdated
from dragoman.steps import Delivered, Resolve, Send, Step, Update

DECISIONS: dict[PermissionReply, str] = {
    "once": "allow",
    "always": "allow_for_session",
    "reject": "deny",
}


class MockConverter:
    """Speaks to one mock agent."""

    def __init__(self, spec: Spec) -> None:
        """Keep nothing: each line of the agent says all there is to know."""

    def command(self, command: Command) -> Iterator[Step]:
        """Translate what a person says."""
        match command:
            case Prompt(message_id=key, text=text, attachments=attachments):
                yield _send("prompt", id=key, text=text, attachments=attachments)
                yield Delivered(message_id=key)
            case Interrupt():
                yield _send("interrupt")
            case AnswerPermission(key=key, reply=reply, message=message, updated_input=changed):
                yield _send(
                    "permission_answer",
                    id=key,
                    decision=DECISIONS[reply],
                    message=message,
                    updated_input=changed,
                )
                yield Resolve(command=command)
            case AnswerQuestion(key=key, answers=answers):
                yield _send("question_answer", id=key, answers=answers)
                yield Resolve(command=command)
            case Configure():
                fields = msgspec.structs.asdict(command)
                changes = {name: value for name, value in fields.items() if value is not None}
                yield _send("configure", **changes)
                yield Update(body=SessionUpdated(**changes))
            case _:
                assert_never(command)

    def receive(self, message: bytes) -> Iterator[Step]:
        """Give the step that a line is. Raise only msgspec errors, and only before a step."""
        yield native.decode(message)

    def steers(self) -> bool:
        """Say no: it reads its next prompt when it is done with this one."""
        return False

    def on_open(self, spec: Spec) -> Iterator[Step]:
        """Say nothing: the agent greets first."""
        return iter(())

    def on_close(self, exit: Exit) -> Iterator[Step]:
        """Say nothing: there is nothing to forget."""
        return iter(())


def _send(type: str, **fields: Any) -> Send:
    return Send(msgspec.json.encode({"type": type, **fields}))
