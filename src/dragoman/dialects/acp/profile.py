"""What one ACP agent is beside the protocol: facts, and what it adds of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from msgspec import Struct

from dragoman.adapter import Spec
from dragoman.dialects.acp.native import (
    Envelope,
    PermissionParams,
    SessionModes,
    SessionResult,
    ToolUpdate,
)
from dragoman.schema.commands import PermissionMode
from dragoman.schema.events import Context, Outcome, Question, Usage
from dragoman.schema.items import ItemStatus
from dragoman.steps import Step


class OwnRequest(Struct, frozen=True, kw_only=True):
    """A request, by a method of the agent's own, that waits for answers."""

    call_id: str | None = None
    """The tool call that makes it."""
    answer: Callable[[tuple[tuple[str, ...], ...] | None], Any]
    """The result for these answers; None: a person refuses."""
    cancelled: Any
    """The result where nobody answers."""


class SessionAccess(Protocol):
    """What an extension can do in its session."""

    @property
    def is_open(self) -> bool:
        """Whether the session is open: what came before was a repetition."""

    def is_main(self, session_id: str) -> bool:
        """Whether a session is the agent's own, and no subagent's."""

    def status(
        self, label: str, detail: str | None, about: Any = None, status: ItemStatus = "completed"
    ) -> Iterator[Step]:
        """Show a status item."""

    @property
    def in_own_turn(self) -> bool:
        """Whether a turn runs that the agent has begun."""

    def ask(self, key: str, questions: tuple[Question, ...], request: OwnRequest) -> Iterator[Step]:
        """Ask questions."""

    def withdraw(self, call_id: str | None) -> Iterator[Step]:
        """A tool call waits for a person no longer."""

    def stream_call(self, session_id: str, call_id: str, name: str, piece: str) -> Iterator[Step]:
        """The model writes the arguments of a call."""

    def hear(self, session_id: str) -> Iterator[Step]:
        """The agent has the message that it was sent."""

    def retract(self, session_id: str) -> Iterator[Step]:
        """What the model has said of an answer is void: it is asked again."""

    def begin_subagent(
        self, session_id: str, call_id: str | None, title: str | None
    ) -> Iterator[Step]:
        """A subagent works, for a call, in a session of its own."""

    def end_subagent(
        self, session_id: str, status: ItemStatus, reason: str | None
    ) -> Iterator[Step]:
        """A subagent has stopped working."""

    def end_own_turn(
        self, outcome: Outcome, usage: Usage | None, stop_reason: str
    ) -> Iterator[Step]:
        """End the turn, if the agent has begun it."""


class Extension(Protocol):
    """What an agent adds to the protocol, for one session. Pure."""

    def opened(self, result: SessionResult) -> None:
        """The session is open."""

    def has_message(self, message_id: str) -> bool:
        """Whether the agent had a message before it, or the daemon, died."""

    def is_ready(self) -> bool:
        """Whether a session that is open takes messages; it may wait for MCP servers."""

    def permission(self, mode: PermissionMode, session_id: str) -> Iterator[Step]:
        """A session that is open gets another permission mode; where the agent knows none, it
        always asks, and the daemon answers."""

    def receive(self, message: Envelope, session: SessionAccess) -> Iterator[Step] | None:
        """A method of its own, notification or request; None: it is not known."""

    def refusal(self, reason: str) -> dict[str, Any]:
        """What the answer to a request for permission holds, beside the option that is chosen,
        where a person says why not."""

    def questions(self, params: PermissionParams) -> tuple[Question, ...]:
        """What a request for permission asks in truth; empty: for a permission."""

    def answers(self, answers: tuple[tuple[str, ...], ...]) -> dict[str, Any]:
        """What the answer to such a request holds, beside the option that is chosen."""

    def tool_name(self, meta: Any) -> str | None:
        """The name of a tool, from the `_meta` of its call; None: it is not there."""

    def tool(self, update: ToolUpdate) -> ToolUpdate:
        """What is told of a tool call, in the protocol's terms."""

    def is_replay(self, meta: Any) -> bool:
        """Whether an update, by its `_meta`, repeats what a session that is opened again holds."""

    def turn_id(self, meta: Any) -> str | None:
        """The turn that an update, by its `_meta`, belongs to; None: the agent begins none."""

    def usage(self, meta: Any) -> Usage | None:
        """What a turn has used, from the `_meta` of its result; None: the protocol's says it."""

    def context(self, meta: Any) -> Context | None:
        """How full the window is, from the `_meta` of a turn's result; None: as above."""

    def end_turn(self) -> None:
        """Forget what belonged to the turn."""

    def reset(self) -> None:
        """Forget what belonged to the process."""


class NoExtension:
    """An agent that adds nothing that we know."""

    def opened(self, result: SessionResult) -> None:
        """Have nothing to learn."""

    def has_message(self, message_id: str) -> bool:
        """Know none."""
        return False

    def is_ready(self) -> bool:
        """Wait for nothing."""
        return True

    def permission(self, mode: PermissionMode, session_id: str) -> Iterator[Step]:
        """Know none."""
        return iter(())

    def receive(self, message: Envelope, session: SessionAccess) -> Iterator[Step] | None:
        """Know none."""
        return None

    def refusal(self, reason: str) -> dict[str, Any]:
        """Have no place for it."""
        return {}

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

    def tool(self, update: ToolUpdate) -> ToolUpdate:
        """Take it as it is."""
        return update

    def is_replay(self, meta: Any) -> bool:
        """Say no: the protocol says when a session is being opened."""
        return False

    def turn_id(self, meta: Any) -> str | None:
        """Know none."""
        return None

    def usage(self, meta: Any) -> Usage | None:
        """Know none."""
        return None

    def context(self, meta: Any) -> Context | None:
        """Know none."""
        return None

    def end_turn(self) -> None:
        """Have nothing to forget."""

    def reset(self) -> None:
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
    modes: SessionModes | None = None
    """The modes that it has, and does not tell."""
    plan_mode: str | None = None
    """The mode by which it keeps to the permission mode `plan`."""
    tells_variant: bool = True
    """It tells the level that a session has; else, where none is chosen, just its first one."""
    subagent_sessions: bool = False
    """Its subagents work in sessions of their own, of which it tells in the same words."""
    takes_images: bool = False
    """It takes images in messages, although it does not say so."""
    message_meta: Callable[[str], dict[str, Any]] | None = None
    """What `_meta` of a message with this id holds. Then the agent says at once that it has it, and
    until then it is only on its way."""
    reads_history: bool = False
    """Sessions are opened again with `session/load`, for what is repeated then, although it has
    `session/resume`."""
    session_meta: Callable[[Spec], dict[str, Any]] = lambda spec: {}
    """What `_meta` of a session that is opened holds."""
    extension: Callable[[Spec], Extension] = lambda spec: NoExtension()
