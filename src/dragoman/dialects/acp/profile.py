"""What one ACP agent is beside the protocol: facts, and what it adds of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from msgspec import Struct

from dragoman.adapter import Spec
from dragoman.dialects.acp.native import Envelope, PermissionParams
from dragoman.schema.commands import AnswerPermission, AnswerQuestion
from dragoman.schema.events import Question, Usage
from dragoman.steps import Step


class Extension(Protocol):
    """What an agent adds to the protocol, for one session. Pure."""

    def receive(self, message: Envelope) -> Iterator[Step] | None:
        """A method of its own, notification or request; None: it is not known."""

    def answer(self, command: AnswerPermission | AnswerQuestion) -> Iterator[Step] | None:
        """Answer a request of its own; None: it is none of these."""

    def questions(self, params: PermissionParams) -> tuple[Question, ...]:
        """What a request for permission asks in truth; empty: for a permission."""

    def answers(self, answers: tuple[tuple[str, ...], ...]) -> dict[str, Any]:
        """What the answer to such a request holds, beside the option that is chosen."""

    def tool_name(self, meta: Any) -> str | None:
        """The name of a tool, from the `_meta` of its call; None: it is not there."""

    def is_replay(self, meta: Any) -> bool:
        """Whether an update, by its `_meta`, repeats what a session that is opened again holds."""

    def usage(self, meta: Any) -> Usage | None:
        """What a turn has used, from the `_meta` of its result; None: the protocol's says it."""

    def end_turn(self) -> None:
        """Forget what belonged to the turn."""


class NoExtension:
    """An agent that adds nothing that we know."""

    def receive(self, message: Envelope) -> Iterator[Step] | None:
        """Know none."""
        return None

    def answer(self, command: AnswerPermission | AnswerQuestion) -> Iterator[Step] | None:
        """Know none."""
        return None

    def questions(self, params: PermissionParams) -> tuple[Question, ...]:
        """Know none."""
        return ()

    def answers(self, answers: tuple[tuple[str, ...], ...]) -> dict[str, Any]:
        """Have nothing to add."""
        return {}

    def tool_name(self, meta: Any) -> str | None:
        """Find a member `toolName`, or one in what an agent wraps its own in."""
        if not isinstance(meta, dict):
            return None
        for each in (meta, *meta.values()):
            if isinstance(each, dict) and isinstance(name := each.get("toolName"), str) and name:
                return name
        return None

    def is_replay(self, meta: Any) -> bool:
        """Say no: the protocol says when a session is being opened."""
        return False

    def usage(self, meta: Any) -> Usage | None:
        """Know none."""
        return None

    def end_turn(self) -> None:
        """Have nothing to forget."""


class Profile(Struct, frozen=True, kw_only=True):
    """The facts about one agent that the dialect needs."""

    name: str
    auth_method: str | None = None
    """The way to log in where it wants us to; None: the first that needs no person."""
    reads_files: bool = False
    """It is offered `fs/*`: to read and write files through us."""
    uses_terminals: bool = False
    """It is offered `terminal/*`: to run commands through us."""
    session_meta: Callable[[Spec], dict[str, Any]] = lambda spec: {}
    """What `_meta` of a session that is opened holds."""
    extension: Callable[[Spec], Extension] = lambda spec: NoExtension()
