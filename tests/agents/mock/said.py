"""Which action of a person caused a line that went to the mock agent."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.agents.mock.convert import DECISIONS
from dragoman.schema.commands import (
    AnswerPermission,
    AnswerQuestion,
    Attachment,
    Command,
    Configure,
    Interrupt,
    PermissionReply,
    Prompt,
)
from dragoman.schema.events import Approver

REPLIES: dict[str, PermissionReply] = {word: reply for reply, word in DECISIONS.items()}
PERSON = Approver(token="default", scope="admin")


def command_of(line: bytes) -> Command | None:
    """The command that our converter turns into this line."""
    said: dict[str, Any] = msgspec.json.decode(line)
    match said.pop("type"):
        case "prompt":
            attachments = msgspec.convert(said["attachments"], tuple[Attachment, ...])
            return Prompt(message_id=said["id"], text=said["text"], attachments=attachments)
        case "interrupt":
            return Interrupt()
        case "permission_answer":
            return AnswerPermission(
                key=said["id"],
                reply=REPLIES[said["decision"]],
                message=said["message"],
                updated_input=said["updated_input"],
                approver=PERSON,
            )
        case "question_answer":
            answers = msgspec.convert(said["answers"], tuple[tuple[str, ...], ...] | None)
            return AnswerQuestion(key=said["id"], answers=answers, approver=PERSON)
        case "configure":
            return msgspec.convert(said, Configure)
        case _:
            return None
