"""Commands: what people tell an agent."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from dragoman.schema.events import Approver

PermissionReply = Literal["once", "always", "reject"]
PermissionMode = Literal["default", "plan", "bypass", "acceptEdits"]
PERMISSION_MODES: tuple[PermissionMode, ...] = ("default", "plan", "bypass", "acceptEdits")


class Attachment(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file that goes with a message."""

    path: str
    mime: str | None = None
    filename: str | None = None


class Prompt(Struct, frozen=True, kw_only=True):
    """A person's message, accepted and stored before."""

    message_id: str
    text: str
    attachments: tuple[Attachment, ...] = ()
    images: dict[str, bytes] = {}
    """The bytes of the attached images, by their paths."""
    joins: bool = False
    """It asked to join a running turn, and may have, should it come again."""


class Interrupt(Struct, frozen=True):
    """Stop the turn, not the session."""


class AnswerPermission(Struct, frozen=True, kw_only=True):
    """Give or refuse a permission."""

    key: str
    reply: PermissionReply
    message: str | None = None
    updated_input: dict[str, Any] | None = None
    approver: Approver | None = None


class AnswerQuestion(Struct, frozen=True, kw_only=True):
    """Answer a question, one list for each; None rejects it."""

    key: str
    answers: tuple[tuple[str, ...], ...] | None
    approver: Approver | None = None


class Configure(Struct, frozen=True, kw_only=True):
    """Change how a running session works; None leaves as it is."""

    model: str | None = None
    variant: str | None = None
    mode: str | None = None
    permission_mode: PermissionMode | None = None


Command = Prompt | Interrupt | AnswerPermission | AnswerQuestion | Configure
