"""A session's row as the `Spec` that adapters take."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from dragoman.adapter import Spec
from dragoman.core.fold import SessionState
from dragoman.runtime.processes import linux
from dragoman.schema.commands import Configure
from dragoman.schema.events import QueuedMessage, QueueUpdated, SessionUpdated
from dragoman.store import MessageRow, SessionRow

SHOWN_CHARACTERS = 200
"""So much of a message that waits is told with each change of the queue."""


def spec_of(
    row: SessionRow,
    state: SessionState,
    agent_env: Mapping[str, str],
    skills: tuple[str, ...] = (),
    mark: str | None = None,
) -> Spec:
    """How the session was created, with what has changed since; `agent_env` is what the settings
    give its agent."""
    create = row.create
    return Spec(
        session_id=row.session_id,
        agent=create.agent,
        agent_mode=state.agent_mode,
        permission_mode=state.permission_mode,
        directory=row.directory,
        model=state.model,
        variant=state.variant,
        agent_version=create.agent_version,
        env={**agent_env, **(create.env or {})},
        mcp=_plain(create.mcp),
        skills=skills,
        marks={} if mark is None else {linux.MARK: mark},
        native_session_id=state.native_session_id,
        tentative_id=state.tentative_id,
        # Once the agent confirmed an id of its own, the fork has happened.
        fork=bool(create.resume and create.resume.fork and not state.confirmed),
        fresh_id=_fresh_id(row),
    )


def _fresh_id(row: SessionRow) -> str:
    """A UUID for this session; another one after a restart, if the agent never confirmed it."""
    seed = f"{row.session_id}:{row.created_at}:{row.event_count}"
    return str(uuid.UUID(bytes=hashlib.sha256(seed.encode()).digest()[:16], version=4))


def _plain(config: Any) -> Any:
    return {} if config is None else msgspec.to_builtins(config)


def update_of(wanted: Configure) -> SessionUpdated:
    """The event that a change makes while no agent runs."""
    changes = {name: value for name, value in msgspec.structs.asdict(wanted).items() if value}
    return SessionUpdated(**changes)


def queue_of(waiting: Iterable[MessageRow], cancelled: str | None = None) -> QueueUpdated:
    """The event that shows what waits, and what was taken back."""
    messages = tuple(
        QueuedMessage(
            message_id=m.message_id,
            # Each change tells of all that wait: whole texts would soon fill the log.
            message=m.text[:SHOWN_CHARACTERS],
            created_at=m.created_at,
            truncated=True if len(m.text) > SHOWN_CHARACTERS else UNSET,
        )
        for m in waiting
    )
    return QueueUpdated(messages=messages, cancelled=UNSET if cancelled is None else cancelled)
